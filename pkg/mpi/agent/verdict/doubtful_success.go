package verdict

import (
	"cmp"
	"fmt"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// The environment variables that allow what is doubted otherwise, for jobs whose runtime fixes the flags.
const (
	// AllowIdleVariable accepts nodes on which no rank ran.
	AllowIdleVariable = "LOCKSTEP_ALLOW_IDLE_NODES"
	// AllowUnfinishedVariable accepts launches that outlast the command.
	AllowUnfinishedVariable = "LOCKSTEP_ALLOW_UNFINISHED"
)

// successDoubt finds why a command that exited 0 did not do the job, if so.
func (e Evidence) successDoubt() Cause {
	if lost := cmp.Or(e.lostNodeCause(), e.silentNodeCause()); lost != nil && len(e.Losses) > 0 {
		return *lost
	}
	if rank := e.unreportedFailure(); rank != nil {
		output := diagnose.FindInOutput(e.Lines)
		c := failedRankCause(output, rank)
		c.output = output
		return *c
	}
	if c := cmp.Or(e.failedDaemonCause(), e.reportedLostDaemonCause()); c != nil {
		return *c
	}
	switch short := e.worldShortfall(); {
	case e.Unfinished != "" && e.Stopped == 0:
		return Cause{Reason: diagnose.LaunchAbandoned}
	case short != nil:
		return short.cause(e.Runtime)
	case e.whyIncomplete() != "":
		return Cause{Reason: mpi.ReasonWorldIncomplete}
	}
	return Cause{}
}

// launcherFailedSince reports whether a launcher ended with an error after something that was so many seconds ago.
func (e Evidence) launcherFailedSince(ago float64) bool {
	return !e.Admitted.IsZero() && e.Now.Sub(e.Admitted).Seconds() <= ago+simultaneous
}

// whyIncomplete says why nobody can know that the work was done, or nothing: a node cannot say what ran there, or the launcher has used none
// of its nodes, as one does that ignores its hostfile and runs alone.
func (e Evidence) whyIncomplete() string {
	used := e.Own.Seen > 0
	for _, r := range e.Reports {
		used = used || r.Daemons+r.Commands > 0
	}
	silent := e.silentNodes()
	switch {
	case len(silent) > 0:
		return "no report could be had from " + hosts.ListNames(silent) + ", so nobody knows what ran there"
	case len(e.Reports) > 0 && !used && !e.AllowIdle:
		return fmt.Sprintf("nothing ever ran on any of the %d other nodes; check that the command starts ranks with mpirun on "+
			"all hosts of the hostfile, ask for one node if it needs no others, and check that the runtime names the right "+
			"MPI implementation and version (%s=true allows it)", len(e.Reports), AllowIdleVariable)
	}
	return ""
}

// silentNodes names the nodes that do not answer, and why.
func (e Evidence) silentNodes() (names []string) {
	for _, r := range e.Reports {
		if r.Error != "" {
			names = append(names, hosts.FirstLabel(r.Name)+" ("+r.Error+")")
		}
	}
	return names
}

// idleNodes names the nodes without a rank, or nothing. A world that is smaller than the job may be meant so.
func (e Evidence) idleNodes() string {
	var idle []string
	for _, r := range e.Reports {
		if r.Daemons+r.Commands == 0 || r.Commands == 0 && r.Seen == 0 && e.sawWholeWorld() {
			idle = append(idle, hosts.FirstLabel(r.Name))
		}
	}
	if len(idle) == 0 || e.AllowIdle || e.Stopped != 0 {
		return ""
	}
	return fmt.Sprintf("no rank ever ran on %s (%s=true if that is meant; else start as many ranks as there are slots)", hosts.ListNames(idle), AllowIdleVariable)
}

// sawWholeWorld reports whether all ranks of the one world that there was were seen, so that a node where none was seen had
// none: Open MPI starts daemons on all hosts, whether they get ranks or not.
func (e Evidence) sawWholeWorld() bool {
	seen, world := 0, 0
	for _, r := range e.podReports() {
		if r.World != 0 && world != 0 && r.World != world {
			return false
		}
		seen, world = seen+r.Seen, cmp.Or(r.World, world)
	}
	return world > 0 && seen >= world
}
