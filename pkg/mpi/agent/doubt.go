package agent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// doubt says why a command that exited 0 did not do the job, if so.
func (f facts) doubt(verdict *mpi.Verdict, ended string) {
	if lost := cmp.Or(f.lostNode(), f.silentNode()); lost != nil && len(f.losses) > 0 {
		verdict.Reason, verdict.Host, verdict.Lost = lost.reason, lost.host, lost.lost
		verdict.Message = lost.headline() + ended + evidence(f)
		return
	}
	if rank := f.hiddenRank(); rank != nil {
		f.output = diagnose.Output(f.lines)
		b := failedRank(f.output, rank)
		verdict.Reason, verdict.Host, verdict.Rank = b.reason, b.host, b.rank
		verdict.Message = b.headline() + ended + ", because Hydra loses how ranks end that do not call MPI_Abort (pmodels/mpich#7057)"
		verdict.Lines = f.lastLines(*b)
		return
	}
	if b := cmp.Or(f.daemonBehind(), f.daemonSaidLost()); b != nil {
		verdict.Reason, verdict.Host, verdict.Lost = b.reason, b.host, b.lost
		verdict.Message = b.headline() + ended + f.severalPrograms() + evidence(f)
		return
	}
	if f.unfinished != "" && f.stopped == 0 {
		verdict.Reason = diagnose.LaunchAbandoned
		verdict.Message = fmt.Sprintf("%s while its launch `%s` still ran, which ended with it (%s=true allows that)", ended, f.unfinished, AllowUnfinishedVariable)
		return
	}
	if why := doubts(f); why != "" {
		verdict.Reason, verdict.Message = mpi.ReasonWorldIncomplete, ended+", but "+why
		return
	}
	verdict.Message = joined(f.passedOver(), f.leftOut())
}

// joined joins what is told beside a success.
func joined(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(text string) bool { return text == "" }), "; ")
}

// daemonBehind blames a launch daemon of the newest launch that was killed although the command exited 0, as Open MPI 5 does, or nil.
// Of nodes that do not answer nobody knows that much. What a launcher admitted, the command passed over, and a launcher that was
// asked to go on without its daemons did so.
func (f facts) daemonBehind() *blame {
	if f.silentNode() != nil || f.launched.recovers() || f.admitted.After(f.newestLaunch()) {
		return nil
	}
	for _, l := range f.losses {
		if l.ofDaemon() && !f.admittedSince(f.now.Sub(l.At).Seconds()) {
			f.losses = []loss{l}
			return f.daemonEnded()
		}
	}
	var first *mpi.NodeReport // a launcher that has lost one daemon leaves the others, which may die of that
	for i, r := range f.reports {
		if f.daemonDied(r) && !f.admittedSince(r.DaemonAgo) && (first == nil || r.DaemonAgo > first.DaemonAgo) {
			first = &f.reports[i]
		}
	}
	if first == nil {
		return nil
	}
	return &blame{reason: diagnose.LaunchDaemonLost, host: first.Name, summary: daemonEnd(first.LastExitCode)}
}

// daemonDied says whether a launch daemon died under its launch. After a signal it did. With a code of its own prted also ends by
// design, once its launcher is gone or cannot be reached (errmgr_prted.c of PRRTE), as those of a `prte` that is killed when its
// work is done: such a code counts when its launcher ran on after it.
func (f facts) daemonDied(r mpi.NodeReport) bool {
	return r.DaemonAgo > 0 && (r.LastExitCode > 128 || f.launched.ranAfter(r.DaemonAgo, f.now))
}

// daemonSaidLost blames the launch daemon of which the newest launcher said that it lost it and ends the job for it, although
// the command exited 0, or nil. prted may be gone before its agent knows how it ended, because the launcher lets go first.
func (f facts) daemonSaidLost() *blame {
	host, found := diagnose.LostDaemon(f.lines)
	if !found || f.stopped != 0 || f.saidLost.IsZero() || f.saidLost.Before(f.launched.after) ||
		f.admitted.After(f.newestLaunch()) || f.admittedSince(f.now.Sub(f.saidLost).Seconds()) {
		return nil
	}
	for _, r := range f.reports {
		switch {
		case firstLabel(r.Name) != firstLabel(host):
		case r.Error != "": // the node is gone, and its daemon with it
			return &blame{reason: diagnose.WorkerLost, host: r.Name, lost: r.Name}
		default:
			return &blame{reason: diagnose.LaunchDaemonLost, host: r.Name, summary: "the launcher lost its launch daemon, and ended the ranks"}
		}
	}
	return nil
}

// admittedSince says whether a launcher ended with an error after something that was so many seconds ago.
func (f facts) admittedSince(ago float64) bool {
	return !f.admitted.IsZero() && f.now.Sub(f.admitted).Seconds() <= ago+simultaneous
}

// severalPrograms says what else may have ended a launch daemon of `mpirun A : B`, or nothing. PRRTE 3.0.8 as Debian 13 builds it
// crashes then (open-mpi/ompi#13303).
func (f facts) severalPrograms() string {
	if !strings.Contains(strings.Join(f.argv, " "), " : ") {
		return ""
	}
	return "; several programs in one launch (`A : B`) crash the launch daemons of some builds of Open MPI 5"
}

// hiddenRank returns a rank of the newest launch that failed although Hydra says that all is well, or nil. A script may pass
// over the failure of its mpiexec, and then it was admitted.
func (f facts) hiddenRank() *mpi.RankEnd {
	if f.admitted.After(f.newestLaunch()) || f.stopped != 0 {
		return nil
	}
	var hidden []mpi.NodeReport
	for _, report := range f.allReports() {
		for _, end := range report.Ranks {
			if end.Hydra {
				hidden = append(hidden, mpi.NodeReport{Name: report.Name, Ranks: []mpi.RankEnd{end}})
			}
		}
	}
	return firstFailed(hidden)
}

// doubts says why nobody can know that the work was done, or nothing: a node cannot say what ran there, or the launcher has used none
// of its nodes, as one does that ignores its hostfile and runs alone.
func doubts(f facts) string {
	var silent []string
	used := f.seen > 0
	for _, r := range f.reports {
		if r.Error != "" {
			silent = append(silent, firstLabel(r.Name)+" ("+r.Error+")")
		}
		used = used || r.Daemons+r.Commands > 0
	}
	switch {
	case len(silent) > 0:
		return "no report could be had from " + enumerate(silent) + ", so nobody knows what ran there"
	case len(f.reports) > 0 && !used && !f.allowIdle:
		return fmt.Sprintf("nothing ever ran on any of the %d nodes; check that the command starts ranks with mpirun on all hosts of the hostfile, and that the runtime names the right MPI implementation and version (%s=true allows it)",
			len(f.reports), AllowIdleVariable)
	}
	return ""
}

// leftOut names the nodes without a rank, or nothing. A world that is smaller than the job may be meant so.
func (f facts) leftOut() string {
	var idle []string
	for _, r := range f.reports {
		if r.Daemons+r.Commands == 0 || r.Commands == 0 && r.Seen == 0 && f.sawWholeWorld() {
			idle = append(idle, firstLabel(r.Name))
		}
	}
	if len(idle) == 0 || f.allowIdle || f.stopped != 0 {
		return ""
	}
	return fmt.Sprintf("no rank ever ran on %d of %d nodes: %s (%s=true if that is meant; else start as many ranks as there are slots)", len(idle), len(f.reports), enumerate(idle), AllowIdleVariable)
}

// sawWholeWorld says whether all ranks of the one world that there was were seen, so that a node where none was seen had
// none: Open MPI starts daemons on all hosts, whether they get ranks or not.
func (f facts) sawWholeWorld() bool {
	seen, world := 0, 0
	for _, r := range f.allReports() {
		if r.World != 0 && world != 0 && r.World != world {
			return false
		}
		seen, world = seen+r.Seen, cmp.Or(r.World, world)
	}
	return world > 0 && seen >= world
}
