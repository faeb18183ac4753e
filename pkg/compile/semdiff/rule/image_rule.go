package rule

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
)

var imageRule = &Rule{
	Name: "image", Title: "Images of runtimes",
	Doc: "The image that pods of a runtime start with, and the one that brings the agent. Jobs that are created afterwards get it; running " +
		"ones keep theirs. Kueue stops running jobs of queues for this, as for each change of the containers of a runtime, and " +
		"they begin again with the runtime that they were made from. It is a warning where the digest is lost, because then somebody else decides what the tag means, and where the " +
		"image comes from another registry, also where it comes with a container or a volume that was not there.",
	Says: []Consequence{NewJobsOnly},
	claims: func(c *match.Change) bool {
		return isRuntime(c) && (c.Path.Last() == "image" || len(c.Path) > 2 && c.Path[len(c.Path)-2] == "image" || c.Path.Last() == "imagePullPolicy" || len(newImages(c)) > 0)
	},
	judge: judgeByCause(func(c *Cluster, part []*match.Change) Effect {
		severity, title, rest := Notice, "new jobs start with another image", "new jobs with another image"
		if brought := broughtImages(part); len(brought) > 0 {
			title, rest = "pods of new jobs get a container or a volume more, with the image "+severalText(brought), "new jobs with a container or a volume more"
		}
		for _, change := range part {
			for _, host := range missingFrom(registriesOf(newImages(change)), registriesOf(imagesBefore(change))) {
				severity, title, rest = Warning, "new jobs start with an image from another registry: "+host, "new jobs with an image from "+host
			}
			was, is := change.Old.Scalar(), change.New.Scalar()
			switch {
			case was != "" && is != "" && namesImage(change.Path) && registryOf(was) != registryOf(is):
				severity, title, rest = Warning, "new jobs start with an image from another registry: "+registryOf(is), "new jobs with an image from "+registryOf(is)
			case severity < Warning && strings.Contains(was, "@sha256:") && !strings.Contains(is, "@sha256:"):
				severity, title, rest = Warning, "new jobs start with an image without digest: all who can push the tag decide what runs", "new jobs with an image without digest"
			}
		}
		if !slices.ContainsFunc(part, func(change *match.Change) bool { return change.Path.Last() != "imagePullPolicy" }) {
			title, rest = "new jobs pull their image at other times", "new jobs that pull their image at other times"
			if slices.ContainsFunc(part, neverPulls) {
				severity, title, rest = Warning, "new jobs never pull their image: where a machine does not have it they do not start", "new jobs that never pull their image"
			}
		}
		if found := risksOf(part); len(found) > 0 {
			severity, title, rest = max(severity, found[0].severity()), title+", which "+found[0].description, rest+", which "+found[0].description
		}
		return c.effect(part, NewJobsOnly, severity, title).withClause("start", rest)
	}),
}

// broughtImages are the images of containers and volumes that come, where no image of another one changes.
func broughtImages(part []*match.Change) []string {
	var found []string
	for _, change := range part {
		brought := newImages(change)
		if len(brought) == 0 {
			return nil
		}
		found = append(found, brought...)
	}
	return sortedDistinct(found)
}

// neverPulls reports whether pods start with what a machine has under the name of their image, or not at all.
func neverPulls(c *match.Change) bool {
	return c.Path.Last() == "imagePullPolicy" && c.New.Scalar() == "Never"
}
