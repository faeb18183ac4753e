package rule

import (
	"cmp"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
	"lockstep.dev/lockstep/pkg/mpi"
)

var lifecycleKeys = []string{
	"trainer.kubeflow.org/support", "lockstep.dev/successor", "lockstep.dev/retire-on", "lockstep.dev/deprecation-reason",
	"lockstep.dev/default", mpi.RestartsAnnotation,
}

var lifecycleRule = &Rule{
	Name: "lifecycle", Title: "Runtimes that come, age and go",
	Doc: "A runtime that is added, deprecated, retired or removed, that becomes the default or stops being it, and how often its jobs are " +
		"restarted after a failure of the infrastructure. The entry of a new runtime names its image; one that an overlay or a chart brings is a warning, and one from a registry that nothing on the cluster " +
		"has its image from is a warning in any case. Running jobs keep the snapshot of their runtime; new jobs that name a runtime which is " +
		"gone are refused.",
	Says: []Consequence{AddsObjects, AdmitsLess, NewJobsOnly, RestartsNothing},
	claims: func(c *match.Change) bool {
		return isRuntime(c) && (c.Whole() || len(c.Path) == 3 && c.Path[0] == "metadata" && slices.Contains(lifecycleKeys, c.Path[2]))
	},
	judge: func(c *Cluster, changes []*match.Change) []Effect {
		effects := judgeByCauseAnd(lastKey, (*Cluster).lifecycleEffect)(c, changes)
		for _, change := range c.added {
			// Others are told by the rule.
			if isRuntime(change) && change.Disposal.WithTenant && c.newRegistry(imagesOf(change.New)) != "" {
				effects = append(effects, c.newRuntimeEffect([]*match.Change{change}))
			}
		}
		return effects
	},
}

func (c *Cluster) lifecycleEffect(changes []*match.Change) Effect {
	change := changes[0]
	switch key := change.Path.Last(); {
	case change.Whole() && change.Added():
		return c.newRuntimeEffect(changes)
	case change.Whole() && change.Before.ID.Namespace != "" && c.is.runtimes[change.Before.ID.Name]:
		return c.effect(changes, AdmitsLess, Warning, "a runtime is gone from a namespace: new jobs there that name it are refused, suspended ones cannot start again").
			withClause("are", "gone from namespace "+change.Before.ID.Namespace)
	case change.Whole():
		return c.effect(changes, AdmitsLess, Warning, "a runtime is gone: new jobs that name it are refused, suspended ones cannot start again").
			withClause("are", "gone").withHelp("deprecate it first, with a successor and a date")
	case key == lifecycleKeys[0] && !change.Removed():
		return c.effect(changes, RestartsNothing, Notice, "a runtime is deprecated").withClause("are", "deprecated")
	case key == lifecycleKeys[0]:
		return c.effect(changes, RestartsNothing, Info, "a runtime is no longer deprecated").withClause("are", "no longer deprecated")
	case key == "lockstep.dev/default":
		return c.effect(changes, NewJobsOnly, Notice, "another runtime is the default of new jobs").withClause("become", "another default for new jobs")
	case key == mpi.RestartsAnnotation:
		was, is := cmp.Or(change.Old.Scalar(), "0"), cmp.Or(change.New.Scalar(), "0")
		severity, how := Notice, "more often"
		if trendOf(textNode(was), textNode(is)) != more {
			severity, how = Warning, "less often"
		}
		return c.effect(changes, NewJobsOnly, severity, "jobs are restarted "+how+" after a failure of the infrastructure: "+was+" → "+is).
			withClause("restart", "jobs "+how+", "+is+" times at most").withJobs(JobsIncluded)
	}
	return c.effect(changes, RestartsNothing, Info, "what is said about the end of a runtime changes").withClause("announce", "another end")
}

// newRuntimeEffect says which images a new runtime brings. Where another one goes, it may stand in its place.
func (c *Cluster) newRuntimeEffect(part []*match.Change) Effect {
	id, brought := part[0].After.ID, imagesOf(part[0].New)
	detail := id.String() + " with " + strings.Join(imagesIn(part[0].New, "containers"), ", ")
	if host := c.newRegistry(brought); host != "" {
		return c.effect(part, AddsObjects, Warning, "a runtime is new, with an image from another registry: "+host).withDetail(detail).withClause("are", "new, with an image from "+host)
	}
	severity := Info
	if slices.ContainsFunc(c.removed, isRuntime) {
		severity = Notice
	}
	if isForeignObject(part[0].After) {
		return c.effect(part, AddsObjects, Warning, "a runtime is new that no spec has: nothing is proven of it").withDetail(detail).withClause("are", "new, with the image "+severalText(imagesIn(part[0].New, "containers"))+", and no spec has it")
	}
	return c.effect(part, AddsObjects, severity, "a runtime is new").withDetail(detail).withClause("are", "new, with the image "+severalText(imagesIn(part[0].New, "containers")))
}
