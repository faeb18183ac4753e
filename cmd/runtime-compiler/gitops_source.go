package main

import (
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// gitopsSource is where the GitOps engine of a cluster looks.
type gitopsSource struct{ revision, path string }

// gitopsSourceOf finds it among compiled objects: in the source of Flux, or in an application of Argo CD.
func gitopsSourceOf(objects []object.Object) (gitopsSource, bool) {
	var f gitopsSource
	for i := range objects {
		o := &objects[i]
		switch o.ID.Group + "/" + o.ID.Kind {
		case "source.toolkit.fluxcd.io/GitRepository":
			f.revision = textAt(o, "spec", "ref", "branch")
		case "kustomize.toolkit.fluxcd.io/Kustomization":
			f.path = textAt(o, "spec", "path")
		case "argoproj.io/Application":
			f.revision, f.path = textAt(o, "spec", "source", "targetRevision"), textAt(o, "spec", "source", "path")
		}
	}
	return f, f.revision != ""
}

func textAt(o *object.Object, path ...string) string {
	if found := o.Root.At(path...); found != nil {
		return found.Text
	}
	return ""
}

// warnUnfollowed says which engines do not look where a tree is published, and which of them find an older tree, which lies elsewhere.
func warnUnfollowed(w io.Writer, all map[string]gitopsSource, branch, folder string, elsewhere []string) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f := all[name]
		if f.revision != branch {
			fmt.Fprintf(w, "note: `%s` follows `%s`, not `%s`: spec.gitops.revision of the cluster says so\n", name, f.revision, branch)
		}
		if !inFolder(f.path, path.Join(folder, name)) {
			fmt.Fprintf(w, "note: `%s` follows `%s`, not --path `%s`: spec.gitops.path of the cluster says so%s\n", name, f.path, folder, olderTreeNote(f.path, name, elsewhere))
		}
	}
}

// inFolder reports whether a path of the branch is a folder or in it.
func inFolder(name, folder string) bool {
	return strings.HasPrefix(path.Clean(name)+"/", folder+"/")
}

// olderTreeNote says that there is a tree of another publication where an engine looks, nothing where there is none.
func olderTreeNote(followed, cluster string, elsewhere []string) string {
	for _, folder := range elsewhere {
		if inFolder(followed, path.Join(folder, cluster)) {
			return fmt.Sprintf(". What another publication left in `%s` stays there, and is what it gets", folder)
		}
	}
	return ""
}
