package check

import (
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// imagesHaveDigests holds where the cluster demands it: a tag may name another image tomorrow, a digest may not. What counts is what
// the cluster pulls.
func imagesHaveDigests(c *plan.Cluster, list *diag.List) {
	if !c.RequireDigests {
		return
	}
	for _, image := range images(c) {
		if !strings.Contains(image.V, "@sha256:") {
			list.Errorf(diag.ImageWithoutDigest, image.Spec.At, "the image `%s` has no digest, and the cluster `%s` requires digests", image.Spec.V, c.Name.V).
				Helpf("append `@sha256:…`, or add the image to `images.digests` of the cluster")
		}
	}
}

// images are those of a cluster that the compiler names itself; those of components are in their charts.
func images(c *plan.Cluster) []plan.Image {
	all := []plan.Image{c.AgentImage}
	for _, r := range c.Runtimes {
		all = append(all, r.Image)
	}
	for _, t := range c.Tenants {
		for _, v := range t.Variants {
			all = append(all, v.Runtime.Image)
		}
	}
	return all
}
