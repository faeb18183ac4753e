package semdiff

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/mpi"
)

var lifecycleKeys = []string{
	"trainer.kubeflow.org/support", "lockstep.dev/successor", "lockstep.dev/retire-on", "lockstep.dev/deprecation-reason",
	"lockstep.dev/default", mpi.RestartsAnnotation,
}

var lifecycleRule = &Rule{
	Name: "lifecycle", Title: "Runtimes that come, age and go",
	Doc: "A runtime that is added, deprecated, retired or removed, that becomes the default or stops being it, and how often its jobs are " +
		"restarted after a failure of the infrastructure. A new runtime is told with its image; one from a registry that nothing on the cluster " +
		"has its image from is a warning, whoever brings it. Running jobs keep the snapshot of their runtime; new jobs that name a runtime which is " +
		"gone are refused.",
	Says: []Consequence{AddsObjects, AdmitsLess, NewJobsOnly, RestartsNothing},
	claims: func(c *Change) bool {
		return isRuntime(c) && (c.Whole() || len(c.Path) == 3 && c.Path[0] == "metadata" && slices.Contains(lifecycleKeys, c.Path[2]))
	},
	unit: func(s *scope, changes []*Change) []Effect {
		var effects []Effect
		for _, part := range parts(changes) {
			for _, group := range partedBy(part, lastKey) {
				effects = append(effects, s.lifecycle(group))
			}
		}
		return effects
	},
	cluster: func(c *cluster, _ []*Change) []Effect {
		var effects []Effect
		for _, change := range c.added {
			// Others are told by the rule.
			if isRuntime(change) && change.withTenant && c.foreign(images(change.New)) != "" {
				effects = append(effects, c.newRuntime([]*Change{change}))
			}
		}
		return effects
	},
}

func (s *scope) lifecycle(changes []*Change) Effect {
	c := changes[0]
	detail := shownAll(changes)
	if c.Whole() {
		detail = c.Object().ID.String()
	}
	switch key := c.Path.Last(); {
	case c.Whole() && c.Added():
		return s.newRuntime(changes)
	case c.Whole():
		return s.effect(changes, AdmitsLess, Warning, "a runtime is gone: new jobs that name it are refused, suspended ones cannot start again", detail).
			with("are", "gone").helped("deprecate it first, with a successor and a date")
	case key == lifecycleKeys[0] && !c.Removed():
		return s.effect(changes, RestartsNothing, Notice, "a runtime is deprecated", detail).with("are", "deprecated")
	case key == lifecycleKeys[0]:
		return s.effect(changes, RestartsNothing, Info, "a runtime is no longer deprecated", detail).with("are", "no longer deprecated")
	case key == "lockstep.dev/default":
		return s.effect(changes, NewJobsOnly, Notice, "another runtime is the default of new jobs", detail).with("become", "another default for new jobs")
	case key == mpi.RestartsAnnotation:
		return s.effect(changes, NewJobsOnly, Notice, "jobs are restarted another number of times after a failure of the infrastructure", detail).
			with("restart", "jobs another number of times").to(Included)
	}
	return s.effect(changes, RestartsNothing, Info, "what is said about the end of a runtime changes", detail).with("announce", "another end")
}

// newRuntime says which images a new runtime brings. Where another one goes, it may stand in its place.
func (c *cluster) newRuntime(part []*Change) Effect {
	id, brought := part[0].After.ID, images(part[0].New)
	detail := id.String() + " with " + strings.Join(imagesIn(part[0].New, "containers"), ", ")
	if host := c.foreign(brought); host != "" {
		return c.effect(part, AddsObjects, Warning, "a runtime is new, with an image from another registry: "+host, detail).with("are", "new, with an image from "+host)
	}
	severity := Info
	if slices.ContainsFunc(c.removed, isRuntime) {
		severity = Notice
	}
	return c.effect(part, AddsObjects, severity, "a runtime is new", detail).with("are", "new, with the image "+several(imagesIn(part[0].New, "containers")))
}
