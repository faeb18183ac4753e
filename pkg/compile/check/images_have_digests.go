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
	for _, image := range compiledImages(c) {
		if !strings.Contains(image.V, "@sha256:") {
			list.Errorf(diag.ImageWithoutDigest, image.Spec.At, "the image `%s` has no digest, and the cluster `%s` requires digests", image.Spec.V, c.Name.V).
				Helpf("append `@sha256:…`, or add the image to `images.digests` of the cluster")
		}
	}
}

// compiledImages are those of a cluster that the compiler names itself; those of components are in their charts.
func compiledImages(c *plan.Cluster) []plan.Image {
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

// imageTagsDoNotMove warns of images that are others tomorrow, where the cluster does not demand digests: machines pull them at different times, and
// the nodes of one job may run different programs.
func imageTagsDoNotMove(c *plan.Cluster, list *diag.List) {
	if c.RequireDigests {
		return
	}
	for _, image := range compiledImages(c) {
		name := image.V[strings.LastIndexByte(image.V, '/')+1:]
		_, tag, tagged := strings.Cut(name, ":")
		switch {
		case image.V == "" || strings.Contains(image.V, "@"):
		case !tagged:
			list.Warnf(diag.ImageMoves, image.Spec.At, "the image `%s` has no tag, which means `latest`: nodes of one job may run different ones", image.Spec.V).
				Helpf("append a tag that is not pushed again, or `@sha256:…`")
		case tag == "latest":
			list.Warnf(diag.ImageMoves, image.Spec.At, "the image `%s` is another one whenever somebody pushes: nodes of one job may run different ones", image.Spec.V).
				Helpf("write a tag that is not pushed again, or append `@sha256:…`")
		}
	}
}
