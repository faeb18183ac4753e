package compile

import (
	"io/fs"
	"path"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/patch/overlay"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/resolve"
)

// overlays are the overlays of clusters, by their names.
type overlays map[string]*overlay.Overlay

// end gives back what they needed.
func (o overlays) end() {
	for _, own := range o {
		own.End()
	}
}

// readOverlays reads the kustomizations beside the specs of clusters, by the clusters' names; there is none for most.
func readOverlays(root fs.FS, bundle *resolve.Bundle, options Options, list *diag.List) overlays {
	found := overlays{}
	for _, d := range bundle.Clusters.All() {
		// A cluster that is defined elsewhere, with others, has no folder of its own.
		if file := d.File.Path; (options.Cluster == "" || d.Name == options.Cluster) && strings.HasPrefix(path.Base(file), "cluster.") {
			if o := overlay.Read(root, path.Dir(file), options.Jsonnet, list); o != nil {
				found[d.Name] = o
			}
		}
	}
	return found
}

// replan replaces the plans of clusters whose overlays patch specs. A mistake that the patch does not touch is found again, and shown
// once.
func replan(plans []*plan.Cluster, documents []*decode.Document, patches overlays, list *diag.List) {
	for i, p := range plans {
		own := patches[p.Name.V]
		if !own.PatchesSpecs() {
			continue
		}
		bundle := resolve.Names(own.Specs(documents, list), list)
		if patched := plan.Clusters(bundle, p.Name.V, list); len(patched) == 1 {
			plans[i] = patched[0]
		}
	}
}
