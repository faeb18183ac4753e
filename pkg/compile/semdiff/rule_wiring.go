package semdiff

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/mpi"
)

var wiringRule = &Rule{
	Name: "wiring", Title: "How the pods of a runtime are put together",
	Doc: "Everything else of a runtime: MPI implementation and version, commands, volumes, scheduling, probes, policies of its JobSet. Jobs that " +
		"are created afterwards get it, because Trainer takes a snapshot of the runtime when a job is created (since 2.3). Another MPI " +
		"implementation or major version is a warning: images must have it too. So is a toleration of every taint: jobs may start on machines that are kept for others.",
	Says: []Consequence{NewJobsOnly},
	claims: func(c *Change) bool {
		if !isRuntime(c) || c.Whole() {
			return false
		}
		return c.Path[0] == "spec" || c.Path[0] == "apiVersion" || len(c.Path) == 3 && slices.Contains([]string{
			mpi.ImplementationLabel, mpi.VersionLabel, "lockstep.dev/profile", mpi.FrameworkLabel, mpi.GangTimeoutAnnotation,
		}, c.Path[2])
	},
	unit: func(s *scope, changes []*Change) []Effect {
		effects := s.tolerated(changes)
		changes = slices.DeleteFunc(slices.Clone(changes), tolerates)
		for _, part := range parts(changes) {
			severity, title, rest := Notice, "new jobs are put together in another way", "new jobs in another way"
			if slices.ContainsFunc(part, func(c *Change) bool {
				return c.Path.Last() == mpi.ImplementationLabel || c.Path.Last() == mpi.VersionLabel
			}) {
				severity, title, rest = Warning, "new jobs run with another MPI: their images must have it", "new jobs with another MPI"
			}
			effects = append(effects, s.effect(part, NewJobsOnly, severity, title, shownAll(part)).with("start", rest))
		}
		return effects
	},
}

func tolerates(c *Change) bool { return c.Path.Has("tolerations") }

// tolerated says what becomes of the taints that jobs of a runtime tolerate, as one effect for each runtime: one taint goes and another
// one comes where a spec words it otherwise.
func (s *scope) tolerated(changes []*Change) []Effect {
	var effects []Effect
	mine := slices.DeleteFunc(slices.Clone(changes), func(c *Change) bool { return !tolerates(c) })
	for _, part := range byObject(mine) {
		slices.SortStableFunc(part, func(a, b *Change) int { return tolerance(b) - tolerance(a) })
		severity, title, rest := Notice, "new jobs tolerate other taints: they may start on other machines", "new jobs that tolerate other taints"
		switch tolerance(part[0]) {
		case everyTaint:
			severity, title, rest = Warning, "new jobs tolerate every taint: they may start on any machine, those of the control plane and those kept for others too", "new jobs on any machine, whatever its taints"
		case taintGone:
			title, rest = "new jobs tolerate fewer taints: they start on fewer machines", "new jobs that tolerate fewer taints"
		}
		effects = append(effects, s.effect(part, NewJobsOnly, severity, title, shownAll(part)).with("start", rest))
	}
	return effects
}

// What becomes of a toleration, from the least to the most that jobs may do by it.
const (
	taintGone = iota
	otherTaint
	everyTaint
)

// tolerance is what a change of tolerations lets jobs do. One without a key is for every taint, or for all with its effect
// (https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/).
func tolerance(c *Change) int {
	items := []*object.Node{c.New}
	if c.New != nil && c.New.Kind == object.ListNode {
		items = nil
		for i := range c.New.Children {
			items = append(items, &c.New.Children[i])
		}
	}
	switch {
	case c.New == nil:
		return taintGone
	case slices.ContainsFunc(items, func(n *object.Node) bool {
		return n.Kind == object.MapNode && n.Scalar("key") == "" && n.Scalar("operator") == "Exists"
	}):
		return everyTaint
	}
	return otherTaint
}
