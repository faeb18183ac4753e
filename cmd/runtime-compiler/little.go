package main

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/emit"
	"lockstep.dev/lockstep/pkg/compile/emit/disk"
	"lockstep.dev/lockstep/pkg/compile/incremental"
)

// fewTenants is how many changed specs of tenants are compiled on their own.
const fewTenants = 20

// little builds what changed since the last build. There is no list if everything must be compiled.
func (b *builder) little(last *incremental.Memory, began int64) ([]clusterSummary, *diag.List, error) {
	changed, reread := last.Changed(b.memory)
	if len(changed) > fewTenants || slices.ContainsFunc(changed, notTenant) || disk.Interrupted(b.reports.out) {
		return nil, nil, nil
	}
	intact, compared := last.Intact(made(b.reports.out))
	list := found(last)
	if !intact || b.reports.verdict(list) != nil && len(changed) > 0 {
		return nil, nil, nil
	}
	if len(changed) > 0 {
		return b.tenants(last, changed, list, began)
	}
	if reread || compared {
		last.Began, last.Ended = began, began
		b.memory.save(last, b.options)
	}
	return b.summaries(last, nil, list), list, nil
}

func notTenant(input *incremental.Input) bool {
	return input.Kind != incremental.File || !strings.HasPrefix(input.Path, compile.TenantFolder) || filepath.Ext(input.Path) == ".jsonnet"
}

// found returns what the last build has found: warnings.
func found(last *incremental.Memory) *diag.List {
	list := &diag.List{}
	for _, d := range last.Findings {
		*list.Warnf(d.Code, d.Span, "") = *d
	}
	return list
}

// summaries counts what there is of the last build, and the files that were written.
func (b *builder) summaries(last *incremental.Memory, written []string, list *diag.List) []clusterSummary {
	var summaries []clusterSummary
	for _, c := range last.Clusters {
		s := clusterSummary{Name: c.Name, Objects: c.Objects}
		if b.reports.verdict(list) == nil {
			for _, name := range written {
				if strings.HasPrefix(name, c.Name+"/") {
					s.Written++
				}
			}
			s.Unchanged = c.Files - s.Written
		}
		summaries = append(summaries, s)
	}
	return summaries
}

// tenants compiles changed tenants without the others, if that is possible.
func (b *builder) tenants(last *incremental.Memory, changed []*incremental.Input, list *diag.List, began int64) ([]clusterSummary, *diag.List, error) {
	if about(last.Findings, changed) {
		return nil, nil, nil
	}
	before, after := map[string]string{}, map[string]string{}
	now := make([]incremental.Input, len(changed))
	for i, input := range changed {
		var err error
		if now[i], err = b.memory.read(input.Path); err != nil {
			return nil, nil, nil //nolint:nilerr // compiling everything reports it
		}
		before[input.Path], after[input.Path] = input.Content, now[i].Content
	}
	units, alone := compile.NewAgain(b.root.FS(), b.options).Tenants(before, after, last.Made)
	if !alone {
		return nil, nil, nil
	}
	written, err := b.replace(last, units)
	if err != nil {
		return nil, nil, err
	}
	for i, input := range changed {
		*input = now[i]
	}
	last.Began = began
	b.memory.save(last, b.options)
	return b.summaries(last, written, list), list, nil
}

// about says whether a finding is about one of the files.
func about(findings []*diag.Diagnostic, files []*incremental.Input) bool {
	in := func(path string) bool {
		return slices.ContainsFunc(files, func(f *incremental.Input) bool { return f.Path == path })
	}
	return slices.ContainsFunc(findings, func(d *diag.Diagnostic) bool {
		return in(d.Span.Path()) || slices.ContainsFunc(d.Related, func(r diag.Related) bool { return in(r.Span.Path()) })
	})
}

// replace brings units into the output folder, whose other files are right, and remembers them.
func (b *builder) replace(last *incremental.Memory, units []compile.Unit) ([]string, error) {
	var files []emit.File
	for _, u := range units {
		files = append(files, slices.DeleteFunc(u.Files, last.Made)...)
	}
	if len(files) == 0 {
		return nil, nil
	}
	dir, err := disk.Open(b.reports.out)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	var written []string
	for _, file := range files {
		if err := dir.Stage(file.Path, file.Data); err != nil {
			return nil, err
		}
		written = append(written, file.Path)
		last.Output(file.Path).Sum = incremental.Sum(file.Data)
	}
	if err := dir.Commit(nil, len(last.Outputs)-len(files)); err != nil {
		return nil, err
	}
	last.Ended = time.Now().UnixNano()
	restamp := written
	if dir.Replaced() {
		restamp = nil
		for i := range last.Outputs {
			restamp = append(restamp, last.Outputs[i].Path)
		}
	}
	for _, name := range restamp {
		if last.Output(name).Stamp, err = made(b.reports.out).Stamp(name); err != nil {
			return nil, err
		}
	}
	return written, nil
}
