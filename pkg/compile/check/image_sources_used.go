package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// imageSourcesUsed warns of mirrors and digests that change no image: a typing mistake there goes unnoticed until a pull fails, or an
// image moves.
func imageSourcesUsed(c *plan.Cluster, list *diag.List) {
	if c.Partial {
		return
	}
	mirrors, digests := map[string]bool{}, map[string]bool{}
	for _, image := range compiledImages(c) {
		if pin := c.Images.Digest(image.Spec.V); pin != nil {
			digests[pin.Name] = true
		}
		if m := c.Images.Mirror(image.Spec.V); m != nil {
			mirrors[m.From.V] = true
		}
	}
	for _, m := range c.Images.Mirrors {
		if m.From.V == m.To.V {
			list.Warnf(diag.SettingInVain, m.To.At, "the mirror of `%s` is itself", m.From.V).Also(m.From.At, "the original").Helpf("write where the copies are, or remove the mirror")
			continue
		}
		if !mirrors[m.From.V] {
			list.Warnf(diag.ImageSourceUnused, m.From.At, "no image that is compiled for the cluster begins with `%s/`", m.From.V).
				Helpf("correct or remove the mirror; images of charts are set by their values")
		}
	}
	for _, pin := range c.Images.Digests {
		if !digests[pin.Name] {
			list.Warnf(diag.ImageSourceUnused, pin.At, "no image that is compiled for the cluster is `%s`", pin.Name).
				Helpf("correct or remove the digest; a reference must be there exactly as a spec writes it, without a digest of its own")
		}
	}
}
