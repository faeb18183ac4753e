package reviewer

import (
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// followed is where the GitOps engine of a cluster looks.
type followed struct{ revision, path string }

// followedBy finds it among compiled objects: in the source of Flux, or in an application of Argo CD.
func followedBy(objects []object.Object) (followed, bool) {
	var f followed
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

// unfollowed says which engines do not look where a tree is published, and which of them find an older tree, which lies elsewhere.
func unfollowed(w io.Writer, all map[string]followed, branch, folder string, elsewhere []string) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f := all[name]
		if f.revision != branch {
			fmt.Fprintf(w, "note: `%s` follows `%s`, not `%s`: spec.gitops.revision of the cluster says so\n", name, f.revision, branch)
		}
		if !below(f.path, path.Join(folder, name)) {
			fmt.Fprintf(w, "note: `%s` follows `%s`, not --path `%s`: spec.gitops.path of the cluster says so%s\n", name, f.path, folder, older(f.path, name, elsewhere))
		}
	}
}

// below says whether a path of the branch is a folder or in it.
func below(name, folder string) bool {
	return strings.HasPrefix(path.Clean(name)+"/", folder+"/")
}

// older says whether there is a tree of another publication where an engine looks.
func older(followed, cluster string, elsewhere []string) string {
	for _, folder := range elsewhere {
		if below(followed, path.Join(folder, cluster)) {
			return fmt.Sprintf(". What another publication left in `%s` stays there, and is what it gets", folder)
		}
	}
	return ""
}
