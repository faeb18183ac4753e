package rule

import "lockstep.dev/lockstep/pkg/compile/semdiff/match"

var boundaryRule = &Rule{
	Name: "boundary", Title: "Objects that another stage applies",
	Doc: "An object that is written to another folder of the output is applied by another stage of the GitOps engine. The stage that had it no " +
		"longer finds it and, if it prunes, deletes it; the new one makes it again. For a moment it may not be there, and with a namespace or a " +
		"volume goes what is in it, running jobs too.",
	Says:   []Consequence{ChangesSync},
	claims: func(c *match.Change) bool { return c.Path.Is(match.Folder) },
	judge: judgeByCause(func(c *Cluster, part []*match.Change) Effect {
		change := part[0]
		switch {
		case c.keepsAfterEngine():
			return c.effect(part, ChangesSync, Notice, "an object is written to another folder, and no stage of a GitOps engine is compiled any more that applies it").
				withClause("are", "applied by no compiled stage of a GitOps engine any more")
		case c.was.engine.stageOfFolder(c.Name, change.Before.Folder) == nil:
			return c.effect(part, ChangesSync, Info, "an object is written to another folder, which no GitOps engine of the specs looks at").
				withClause("are", "applied by another stage")
		}
		severity := Warning
		switch kind := change.Kind(); {
		case kind == "Namespace" && !c.staysOnCluster(change.Before):
			return c.effect(part, ChangesSync, Critical, "another stage of the GitOps engine applies a namespace: the former one may delete it first, with everything in it, running jobs too").
				withClause("may", "lose everything in a namespace that another stage applies").withJobs(JobsStopped).withHelp(handoverSteps)
		case (kind == "Namespace" || kind == "PersistentVolumeClaim") && !isKeptByEngine(change.Before):
			severity = Critical
		}
		return c.effect(part, ChangesSync, severity, "another stage of the GitOps engine applies the object: the former one may delete it first").
			withClause("are", "applied by another stage").withJobs(JobsHampered).withHelp(handoverSteps)
	}),
}

const handoverSteps = "sync the new stage first, with pruning of the former one paused"
