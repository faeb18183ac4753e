package semdiff

import (
	"slices"
	"strings"
)

var imageRule = &Rule{
	Name: "image", Title: "Images of runtimes",
	Doc: "The image that pods of a runtime start with, and the one that brings the agent. Jobs that are created afterwards get it; running " +
		"ones keep theirs. It is a warning where the digest is lost, because then somebody else decides what the tag means, and where the " +
		"image comes from another registry, also where it comes with a container or a volume that was not there.",
	Says: []Consequence{NewJobsOnly},
	claims: func(c *Change) bool {
		return isRuntime(c) && (c.Path.Last() == "image" || len(c.Path) > 2 && c.Path[len(c.Path)-2] == "image" || c.Path.Last() == "imagePullPolicy" || len(newImages(c)) > 0)
	},
	unit: func(s *scope, changes []*Change) []Effect {
		var effects []Effect
		for _, part := range parts(changes) {
			severity, title, rest := Notice, "new jobs start with another image", "new jobs with another image"
			for _, c := range part {
				for _, host := range missing(registries(newImages(c)), registries(imagesBefore(c))) {
					severity, title, rest = Warning, "new jobs start with an image from another registry: "+host, "new jobs with an image from "+host
				}
				was, is := c.Old.Scalar(), c.New.Scalar()
				switch {
				case was != "" && is != "" && namesImage(c.Path) && registry(was) != registry(is):
					severity, title, rest = Warning, "new jobs start with an image from another registry: "+registry(is), "new jobs with an image from "+registry(is)
				case severity < Warning && strings.Contains(was, "@sha256:") && !strings.Contains(is, "@sha256:"):
					severity, title, rest = Warning, "new jobs start with an image without digest: whoever can push the tag decides what runs", "new jobs with an image without digest"
				}
			}
			effects = append(effects, s.effect(part, NewJobsOnly, severity, title, shownAll(part)).with("start", rest))
		}
		return effects
	},
}

// namesImage says whether a value is the name of an image: that of a container, or of a volume.
func namesImage(p Path) bool {
	return p.Last() == "image" || len(p) > 1 && p.Last() == "reference" && p[len(p)-2] == "image"
}

// newImages are the images in a part of a pod that comes as a whole: a container, or a volume.
func newImages(c *Change) []string {
	if c.Whole() || c.Old != nil || c.New == nil || c.New.Leaf() || !slices.ContainsFunc([]string{"containers", "initContainers", "ephemeralContainers", "volumes"}, c.Path.Has) {
		return nil
	}
	d := differ{path: slices.Clone(c.Path), after: c.After}
	d.leaves(c.New)
	var found []string
	for _, leaf := range d.found {
		if namesImage(leaf.Path) {
			found = append(found, leaf.New.Scalar())
		}
	}
	return distinct(found)
}

func imagesBefore(c *Change) []string {
	if c.Before == nil {
		return nil
	}
	return images(&c.Before.Root)
}

func registries(images []string) []string {
	var hosts []string
	for _, image := range images {
		hosts = append(hosts, registry(image))
	}
	return distinct(hosts)
}
