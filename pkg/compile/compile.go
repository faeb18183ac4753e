// Package compile turns the specs of a repository into the files that a cluster needs.
//
// The flow is source → decode → resolve → plan → check → lower → patch → emit. Stages collect diagnostics and go on; where one
// found an error there is no output, and the diagnostics hold all mistakes of the run. The same input gives the same bytes,
// whatever the order in which a file system lists it.
//
// The package and all below it are pure: they read an fs.FS and return values. Only emit/disk writes.
package compile

import (
	"io/fs"

	"lockstep.dev/lockstep/pkg/compile/check"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/emit"
	"lockstep.dev/lockstep/pkg/compile/lower"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/patch"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/resolve"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Options say what to compile.
type Options struct {
	// Cluster is the name of the only cluster to compile; empty means all.
	Cluster string
}

// Cluster is what was compiled for one cluster.
type Cluster struct {
	Name    string
	Objects *object.Set
	// Files are its output, paths beginning with its name.
	Files []emit.File
}

// Compile compiles the repository below root. The clusters are sorted by name; there are none if the list holds an error.
func Compile(root fs.FS, options Options) ([]Cluster, *diag.List) {
	list := &diag.List{}

	// Bytes, then typed values: from here on nobody sees YAML.
	documents := decode.Files(source.Read(root), list)
	// References are followed before anything is judged, so that each mistake is reported once, where it was made.
	bundle := resolve.Names(documents, list)
	// A plan leaves out specs with mistakes, so checks can go on with the sound ones.
	plans := plan.Clusters(bundle, options.Cluster, list)
	for _, p := range plans {
		check.Cluster(p, list)
	}
	if list.Errors() > 0 {
		return nil, list
	}

	var clusters []Cluster
	components := patch.NewComponents(root)
	for _, p := range plans {
		objects := lower.Cluster(p, list)
		// Components come after our own objects, so that a collision is the component's mistake.
		components.AddTo(objects, p, list)
		clusters = append(clusters, Cluster{Name: p.Name.V, Objects: objects, Files: emit.Files(p.Name.V, objects)})
	}
	if list.Errors() > 0 {
		return nil, list
	}
	return clusters, list
}
