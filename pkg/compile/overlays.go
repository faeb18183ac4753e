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
	"lockstep.dev/lockstep/pkg/compile/source"
)

// overlays are the overlays of clusters, by their names.
type overlays map[string]*overlay.Overlay

// endAll gives back what they needed.
func (o overlays) endAll() {
	for _, own := range o {
		own.End()
	}
}

// readOverlays reads the kustomizations beside the specs of clusters, by the clusters' names; there is none for most.
func readOverlays(root fs.FS, bundle *resolve.Bundle, options Options, list *diag.List) overlays {
	found := overlays{}
	for _, d := range bundle.Clusters.All() {
		if (options.Cluster == "" || d.Name == options.Cluster) && clusterHasFolder(d.File) {
			if o := overlay.Read(root, path.Dir(d.File.Path), options.Jsonnet, list); o != nil {
				found[d.Name] = o
			}
		}
	}
	return found
}

// clusterHasFolder reports whether the folder of a cluster's file is the cluster's own. One that is defined elsewhere, with others, has none.
func clusterHasFolder(file *source.File) bool {
	return strings.HasPrefix(path.Base(file.Path), "cluster.")
}

// planWithPatches makes the plans of clusters whose overlays patch specs. A mistake that the patch does not touch is found again, and shown
// once. A cluster that its own patch breaks is planned as if there were none.
func planWithPatches(plans []*plan.Cluster, bundle *resolve.Bundle, documents []*decode.Document, patches overlays, list *diag.List) {
	for i, p := range plans {
		own := patches[p.Name.V]
		if !own.PatchesSpecs() {
			continue
		}
		specs := resolve.IndexDocuments(own.Specs(documents, list), list)
		specs.Templates = bundle.Templates
		plan.RequireCluster(specs, p.Name.V, list)
		patched := plan.Clusters(specs, p.Name.V)
		if len(patched) != 1 {
			patched = plan.Clusters(bundle, p.Name.V)
		}
		plans[i] = patched[0]
	}
}

// isPatchedFunc returns what reports whether a value of a plan comes from a patch: from a file that holds no spec.
func isPatchedFunc(documents []*decode.Document) func(source.Span) bool {
	specs := make(map[string]bool, len(documents))
	for _, d := range documents {
		specs[d.File.Path] = true
	}
	return func(at source.Span) bool { return !at.IsZero() && !specs[at.Path()] }
}
