package semdiff

import "strings"

var imageRule = &Rule{
	Name: "image", Title: "Images of runtimes",
	Doc: "The image that pods of a runtime start with, and the one that brings the agent. Jobs that are created afterwards get it; running " +
		"ones keep theirs. It is a warning where the digest is lost, because then somebody else decides what the tag means, and where the " +
		"image comes from another registry.",
	Says: []Consequence{NewJobsOnly},
	claims: func(c *Change) bool {
		return isRuntime(c) && (c.Path.Last() == "image" || len(c.Path) > 2 && c.Path[len(c.Path)-2] == "image" || c.Path.Last() == "imagePullPolicy")
	},
	unit: func(s *scope, changes []*Change) []Effect {
		var effects []Effect
		for _, part := range parts(changes) {
			severity, title := Notice, "new jobs start with another image"
			switch was, is := scalar(part[0].Old), scalar(part[0].New); {
			case strings.Contains(was, "@sha256:") && !strings.Contains(is, "@sha256:"):
				severity, title = Warning, "new jobs start with an image without digest: whoever can push the tag decides what runs"
			case was != "" && is != "" && registry(was) != registry(is):
				severity, title = Warning, "new jobs start with an image from another registry: "+registry(is)
			}
			effects = append(effects, s.effect(part, NewJobsOnly, severity, title, shownAll(part)).with("start", "new jobs with another image"))
		}
		return effects
	},
}

func registry(image string) string {
	host, _, _ := strings.Cut(image, "/")
	return host
}
