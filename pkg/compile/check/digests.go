package check

import (
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// imagesHaveDigests holds where the cluster demands it: a tag may name another image tomorrow, a digest may not.
func imagesHaveDigests(c *plan.Cluster, list *diag.List) {
	if !c.RequireDigests {
		return
	}
	images := []plan.Value[string]{c.AgentImage}
	for _, r := range c.Runtimes {
		images = append(images, r.Image)
	}
	for _, image := range images {
		if !strings.Contains(image.V, "@sha256:") {
			list.Errorf(diag.ImageWithoutDigest, image.At, "the image `%s` has no digest, and the cluster `%s` requires digests", image.V, c.Name.V).
				Helpf("append `@sha256:…`")
		}
	}
}
