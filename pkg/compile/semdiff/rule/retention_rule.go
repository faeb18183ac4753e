package rule

import (
	"cmp"
	"time"

	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
	"lockstep.dev/lockstep/pkg/mpi"
)

var retentionRule = &Rule{
	Name: "retention", Title: "How long finished jobs stay",
	Doc: "The time after which mpi-controller deletes the finished TrainJobs of a namespace, with their pods and logs. A shorter one is also for the jobs that are finished " +
		"already: those that are older go within a minute.",
	Says: []Consequence{DeletesData, RestartsNothing},
	claims: func(c *match.Change) bool {
		return c.Kind() == "Namespace" && c.Path.Is("metadata", "annotations", mpi.FinishedJobsAnnotation)
	},
	judge: judgeByCause((*Cluster).retentionEffect),
}

func (c *Cluster) retentionEffect(part []*match.Change) Effect {
	before, after := part[0].Old.Scalar(), part[0].New.Scalar()
	detail := cmp.Or(before, "forever") + " → " + cmp.Or(after, "forever")
	if deletesSooner(before, after) {
		return c.effect(part, DeletesData, Warning, "finished jobs and their logs are deleted sooner").withDetail(detail).withClause("lose", "finished jobs and their logs after "+after).
			withHelp("save what somebody still needs before this is merged: those that are older go at once")
	}
	return c.effect(part, RestartsNothing, Notice, "finished jobs and their logs stay longer").withDetail(detail).withClause("keep", "finished jobs and their logs longer")
}

// deletesSooner reports whether jobs are deleted after less time than before. What is not time deletes nothing, as for the controller.
func deletesSooner(before, after string) bool {
	old, _ := time.ParseDuration(before)
	keep, _ := time.ParseDuration(after)
	return keep > 0 && (old <= 0 || keep < old)
}
