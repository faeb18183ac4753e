// Package jobtemplate reads templates: TrainJobs that users begin with. The platform keeps them in templates/, one a
// file, which gives the template its name. A template is compiled for each tenant that can use its
// runtime (docs/decisions/2026-11-30-templates.md). Wrong ones are reported and left out.
package jobtemplate

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/source"
	"lockstep.dev/lockstep/pkg/jobs/validate"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// MaxBytes bounds all templates together: each namespace of each tenant has a copy.
const MaxBytes = 512 << 10

// Template is a TrainJob to begin with.
type Template struct {
	Name string
	File *source.File
	read validate.Document
}

// Load reads files that source.FindTemplates returned.
func Load(root fs.FS, files []*source.File, list *diag.List) []*Template {
	var templates []*Template
	bytes := 0
	for _, file := range files {
		file.Load(root)
		if !isReadable(file, list) {
			continue
		}
		if bytes += len(file.Data); bytes > MaxBytes {
			list.Errorf(diag.BadTemplate, source.WholeFile(file), "all templates have more than %d KiB", MaxBytes>>10).
				Helpf("put data and programs on a claim or into an image")
			break
		}
		if t := read(file, list); t != nil {
			templates = append(templates, t)
		}
	}
	return templates
}

func isReadable(file *source.File, list *diag.List) bool {
	if file.Err == source.ErrIgnored { //nolint:errorlint // source sets the value itself
		list.Warnf(diag.NothingRead, source.WholeFile(file), "this is not read: templates are files of `templates/`").
			Helpf("write a TrainJob in YAML to `templates/NAME.yaml`")
		return false
	}
	return decode.IsReadable(file, list)
}

// read returns the template of a file, or nil if it reported a mistake.
func read(file *source.File, list *diag.List) *Template {
	t := &Template{Name: strings.TrimSuffix(path.Base(file.Path), ".yaml"), File: file}
	found := validate.File(file.Path, file.Data)
	switch {
	case len(validation.IsDNS1123Label(t.Name)) > 0:
		list.Errorf(diag.BadTemplate, source.WholeFile(file), "`%s` cannot be the name of a template", t.Name).
			Helpf("use lower-case letters, digits and `-`")
		return nil
	case len(found.Findings) > 0:
		t.Report(found.Findings, list)
		return nil
	case len(found.Jobs) != 1:
		list.Errorf(diag.BadTemplate, source.WholeFile(file), "the file has %d TrainJobs, and a template is one",
			len(found.Jobs)).Helpf("give each a file")
		return nil
	}
	t.read = found.Jobs[0]
	if namespace := t.read.Job.Namespace; namespace != "" {
		t.Report([]validate.Finding{t.read.PlaceMessage("metadata.namespace is `" + namespace +
			"`: a template has none, users choose it")}, list)
		return nil
	}
	return t
}

// Runtime returns the name of the runtime.
func (t *Template) Runtime() string { return t.read.Job.Spec.RuntimeRef.Name }

// OfTenant reports whether the runtime is in the namespace of the job, as variants of tenants are.
func (t *Template) OfTenant() bool {
	kind := t.read.Job.Spec.RuntimeRef.Kind
	return kind != nil && *kind == trainer.TrainingRuntimeKind
}

// RuntimeSpan returns the place of the runtime's name.
func (t *Template) RuntimeSpan() source.Span {
	found := t.read.PlaceMessage("spec.runtimeRef.name")
	return t.File.Token(found.Line, found.Column, len(t.Runtime()))
}

// Span returns the place of the template as a whole.
func (t *Template) Span() source.Span { return t.File.Token(1, 1, 1) }

// Check reports what the runtime does not take.
func (t *Template) Check(runtime job.Runtime, list *diag.List) {
	found := slices.DeleteFunc(t.read.CheckAgainst(runtime), func(f validate.Finding) bool { return f.Warning })
	t.Report(found, list)
}

// Report adds findings of package validate.
func (t *Template) Report(found []validate.Finding, list *diag.List) {
	for _, f := range found {
		d := list.Errorf(diag.BadTemplate, t.File.Token(f.Line, f.Column, 1), "%s", f.Message)
		if f.Help != "" {
			d.Helpf("%s", f.Help)
		}
	}
}
