package plan

import (
	"cmp"
	"slices"
	"strings"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/origin"
)

// ImageRewrites change references to images: a digest pins one, then a mirror replaces its beginning.
type ImageRewrites struct {
	// Mirrors are sorted so that the longest beginning comes first.
	Mirrors []Mirror
	// Digests are by reference.
	Digests []Named[string]
}

// Mirror is a place with the same images.
type Mirror struct {
	From, To Value[string]
}

// Image is a reference as the cluster pulls it.
type Image struct {
	Value[string]
	// Spec is the reference as a spec has it.
	Spec Value[string]
}

// Digest returns what pins a reference, or nil. A reference with a digest is pinned already.
func (i *ImageRewrites) Digest(reference string) *Named[string] {
	at := slices.IndexFunc(i.Digests, func(d Named[string]) bool { return d.Name == reference })
	if at < 0 || strings.Contains(reference, "@") {
		return nil
	}
	return &i.Digests[at]
}

// Mirror returns the mirror with the longest beginning of a reference, or nil.
func (i *ImageRewrites) Mirror(reference string) *Mirror {
	at := slices.IndexFunc(i.Mirrors, func(m Mirror) bool { return strings.HasPrefix(reference, m.From.V+"/") })
	if at < 0 {
		return nil
	}
	return &i.Mirrors[at]
}

// pulledImageOf returns the reference that the cluster pulls for one of a spec.
func (i *ImageRewrites) pulledImageOf(spec Value[string]) Image {
	image := Image{Value: spec, Spec: spec}
	if pin := i.Digest(spec.V); pin != nil {
		image.Value = pulledImage(spec.V+"@"+pin.V, "the cluster pins the image to a digest", &pin.Origin, spec)
	}
	if m := i.Mirror(image.V); m != nil {
		image.Value = pulledImage(m.To.V+strings.TrimPrefix(image.V, m.From.V), "the cluster pulls the image from a mirror", &m.To.Origin, image.Value)
	}
	return image
}

func pulledImage(reference, why string, by *origin.Origin, instead Value[string]) Value[string] {
	from := origin.Origin{At: by.At, Kind: origin.Derived, Why: why}
	return Value[string]{V: reference, Origin: from.Overriding(instead.V, &instead.Origin)}
}

func images(d *decode.Document, spec *v1alpha1.ImageSources) ImageRewrites {
	result := ImageRewrites{Digests: namedEntries(d, &spec.Digests)}
	for i := range spec.Mirrors {
		result.Mirrors = append(result.Mirrors, Mirror{From: writtenValue(d, &spec.Mirrors[i].From), To: writtenValue(d, &spec.Mirrors[i].To)})
	}
	slices.SortStableFunc(result.Mirrors, func(a, b Mirror) int {
		return cmp.Or(cmp.Compare(len(b.From.V), len(a.From.V)), cmp.Compare(a.From.V, b.From.V))
	})
	return result
}
