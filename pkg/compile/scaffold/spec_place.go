package scaffold

import (
	"fmt"
	"io/fs"
	"slices"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/jsonschema"
)

// SpecPath returns where the spec of a kind with a name is, relative to the root of the repository.
func SpecPath(kind jsonschema.Kind, name string) string {
	switch kind.Name {
	case v1alpha1.HardwareProfileKind:
		return "catalog/profiles/" + name + ".yaml"
	case v1alpha1.MPIRuntimeKind:
		return "catalog/runtimes/" + name + ".yaml"
	case v1alpha1.TenantKind:
		return "tenants/" + name + ".yaml"
	}
	return "overlays/" + name + "/cluster.yaml"
}

// checkNameFree reports whether a name can be taken: it has the form of names, no spec of the kind has it, and nothing is where its file goes.
func checkNameFree(root fs.FS, kind jsonschema.Kind, name string, known *Existing) error {
	if !decode.HasFormat("dns-label", name) {
		return fmt.Errorf("`%s` cannot be a name: at most 63 of a-z, 0-9 and `-`, beginning and ending with a letter or digit", name)
	}
	if slices.Contains(known.Names(kind.Name), name) {
		return fmt.Errorf("the %s `%s` exists already: choose another name", kind.Name, name)
	}
	file := SpecPath(kind, name)
	if _, err := fs.Lstat(root, file); err == nil {
		return fmt.Errorf("`%s` is there already: move it away, or choose another name", file)
	}
	return nil
}

// FindingsWith compiles a repository with new files, and returns what is wrong because of it: findings that are not there without it.
func FindingsWith(root fs.FS, files []File, options compile.Options) *diag.List {
	_, before := compile.Compile(root, options)
	after := compileWith(root, files, options)
	known := map[string]bool{}
	for _, d := range before.Sorted() {
		known[findingKey(d)] = true
	}
	caused := &diag.List{}
	for _, d := range after.Sorted() {
		if known[findingKey(d)] {
			continue
		}
		add := caused.Errorf
		if d.Severity == diag.Warning {
			add = caused.Warnf
		}
		*add(d.Code, d.Span, "") = *d
	}
	return caused
}

func findingKey(d *diag.Diagnostic) string { return fmt.Sprint(d.Span, d.Code, d.Message) }

func compileWith(root fs.FS, files []File, options compile.Options) *diag.List {
	for _, file := range files {
		root = overlayFS{base: root, file: file}
	}
	_, list := compile.Compile(root, options)
	return list
}
