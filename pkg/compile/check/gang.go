package check

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// gangLevelExists asks that `within` names a level of the profile.
func gangLevelExists(c *plan.Cluster, list *diag.List) {
	for _, r := range c.Runtimes {
		within := r.Gang.Within
		if within.V == "" || r.Profile.Level(within.V) != nil {
			continue
		}
		names := make([]string, len(r.Profile.Topology))
		for i := range r.Profile.Topology {
			names[i] = r.Profile.Topology[i].Name.V
		}
		report := list.Errorf(diag.UnknownLevel, within.At, "the profile `%s` has no topology level `%s`", r.Profile.Name, within.V).
			Also(r.Profile.At, "defined here")
		if report.Suggest(within.V, names); len(report.Help) == 0 {
			report.Helpf("%s", choicesText("levels are", names, "add `topology` to the profile, or remove `within`"))
		}
	}
}

// gangFitsMachine asks that a job whose nodes shall all be on one machine fits there.
func gangFitsMachine(c *plan.Cluster, list *diag.List) {
	for r := range c.Compiled() {
		level := r.Profile.Level(r.Gang.Within.V)
		if level == nil || level.NodeLabel.V != corev1.LabelHostname || r.DefaultNodes.V < 2 {
			continue
		}
		cpu, memory := r.CPU.V.DeepCopy(), r.Memory.V.DeepCopy()
		cpu.Mul(int64(r.DefaultNodes.V))
		memory.Mul(int64(r.DefaultNodes.V))
		if cpu.Cmp(r.Profile.CPU.V) > 0 || memory.Cmp(r.Profile.Memory.V) > 0 {
			list.Errorf(diag.NodeDoesNotFit, r.Gang.Within.At, "the %d nodes of a job must be on one machine and take %s cpu and %s memory; a machine of `%s` offers %s and %s", r.DefaultNodes.V, cpu.String(), memory.String(), r.Profile.Name, r.Profile.CPU.V.String(), r.Profile.Memory.V.String()).
				Also(level.NodeLabel.At, "the level is the machine").Helpf("name a wider level, or lower `resourcesPerNode`")
		}
	}
}

// gangHasScheduler asks for the scheduler that a gang needs: Kueue for whole jobs and for their placement, the others where the
// cluster lists them.
func gangHasScheduler(c *plan.Cluster, list *diag.List) {
	for _, r := range c.Runtimes {
		g := &r.Gang
		if c.Queueing == nil {
			reportQueueingMissing(g.Scheduler.V == plan.GangKueue, "Kueue", g.Scheduler.Origin, c, list)
			reportQueueingMissing(g.Within.V != "", "`within`", g.Within.Origin, c, list)
		}
		other := g.Scheduler.V == plan.GangCoscheduling || g.Scheduler.V == plan.GangVolcano
		offered := slices.ContainsFunc(c.Schedulers, func(s plan.Value[string]) bool { return s.V == g.Scheduler.V })
		if other && !offered {
			list.Errorf(diag.SchedulerMissing, g.Scheduler.At, "the cluster `%s` has no scheduler `%s`", c.Name.V, g.Scheduler.V).
				Also(c.Name.At, "defined here").Notef("pods with a scheduler that does not exist wait forever").
				Helpf("add it to `schedulers` of the cluster, or choose another scheduler")
		}
	}
}

func reportQueueingMissing(is bool, what string, from origin.Origin, c *plan.Cluster, list *diag.List) {
	if is {
		list.Errorf(diag.QueueingMissing, from.At, "%s needs a cluster that queues jobs, and `%s` does not", what, c.Name.V).
			Also(c.Name.At, "defined here").Helpf("add `queueing` to the cluster, or take the profile of the runtime off its `capacity`")
	}
}

// The bounds of a gang's timeout: less than a second never lets an image be pulled, more than an hour blocks machines for others.
const (
	leastGangTimeout = time.Second
	maxGangTimeout   = time.Hour
)

// gangTimeoutHasEffect warns of a time within which a gang must be complete where nothing makes one.
func gangTimeoutHasEffect(c *plan.Cluster, list *diag.List) {
	for _, r := range c.Runtimes {
		if t := r.Gang.Timeout; t.Kind == origin.Written && t.V >= leastGangTimeout && t.V <= maxGangTimeout && r.Gang.Scheduler.V == plan.GangNone {
			list.Warnf(diag.SettingInVain, t.At, "`timeout` means nothing without a gang scheduler: the pods of a job of `%s` start as they fit", r.Name.V).
				Helpf("remove it, or write `scheduler`")
		}
	}
}

func gangTimeoutInRange(c *plan.Cluster, list *diag.List) {
	for _, r := range c.Runtimes {
		if t := r.Gang.Timeout; t.V < leastGangTimeout || t.V > maxGangTimeout {
			list.Errorf(diag.GangTimeout, t.At, "a gang of the runtime `%s` waits %s: at least 1s and at most 1h are possible", r.Name.V, t.V).
				Helpf("write a time from 1s to 1h; images of some GB take minutes to be pulled")
		}
	}
}
