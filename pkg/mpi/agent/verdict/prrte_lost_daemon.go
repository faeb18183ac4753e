package verdict

import (
	"slices"
	"strings"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
	"lockstep.dev/lockstep/pkg/mpi/agent/program"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// failedDaemonCause blames a launch daemon of the newest launch that was killed although the command exited 0, as Open MPI 5 does, or nil.
// Of nodes that do not answer nobody knows that much. What a launcher admitted, the command passed over, and a launcher that was
// asked to go on without its daemons did so.
func (e Evidence) failedDaemonCause() *Cause {
	if e.silentNodeCause() != nil || e.Launched.toleratesLostDaemons() || e.Admitted.After(e.newestLaunchTime()) {
		return nil
	}
	for _, l := range e.Losses {
		if l.IsDaemonOnly() && !e.launcherFailedSince(e.Now.Sub(l.At).Seconds()) {
			return daemonEndCause(l)
		}
	}
	var first *mpi.NodeReport // a launcher that has lost one daemon leaves the others, which may die of that
	for i, r := range e.Reports {
		if e.daemonDied(r) && !e.launcherFailedSince(r.DaemonAgo) && (first == nil || r.DaemonAgo > first.DaemonAgo) {
			first = &e.Reports[i]
		}
	}
	if first == nil {
		return nil
	}
	return &Cause{Reason: diagnose.LaunchDaemonLost, Host: first.Name, ofDaemon: true, daemon: first.LastExitCode}
}

// daemonDied reports whether a launch daemon died under its launch. After a signal it did. With a code of its own prted also ends by
// design, once its launcher is gone or cannot be reached (errmgr_prted.c of PRRTE), as those of a `prte` that is killed when its
// work is done: such a code counts when its launcher ran on after it.
func (e Evidence) daemonDied(r mpi.NodeReport) bool {
	return r.DaemonAgo > 0 && (r.LastExitCode > 128 || e.Launched.outlivedDaemon(r.DaemonAgo, e.Now))
}

// reportedLostDaemonCause blames the launch daemon of which the newest launcher said that it lost it and ends the job for it, although
// the command exited 0, or nil. prted may be gone before its agent knows how it ended, because the launcher lets go first.
func (e Evidence) reportedLostDaemonCause() *Cause {
	host, found := diagnose.FindLostDaemon(e.Lines)
	if !found || e.Stopped != 0 || e.SaidLost.IsZero() || e.SaidLost.Before(e.Launched.After) ||
		e.Admitted.After(e.newestLaunchTime()) || e.launcherFailedSince(e.Now.Sub(e.SaidLost).Seconds()) {
		return nil
	}
	for _, r := range e.Reports {
		switch {
		case hosts.FirstLabel(r.Name) != hosts.FirstLabel(host):
		case r.Error != "": // the node is gone, and its daemon with it
			return &Cause{Reason: diagnose.WorkerLost, Host: r.Name, Lost: true, ofDaemon: true}
		default:
			return &Cause{Reason: diagnose.LaunchDaemonLost, Host: r.Name, ofDaemon: true}
		}
	}
	return nil
}

// mpmdHint says what else may have ended a launch daemon of `mpirun A : B`, or nothing. PRRTE 3.0.8 as Debian 13 builds it
// crashes then (open-mpi/ompi#13303).
func (e Evidence) mpmdHint() string {
	if !strings.Contains(strings.Join(e.Argv, " "), " : ") {
		return ""
	}
	return "; several programs in one launch (`A : B`) crash the launch daemons of some builds of Open MPI 5"
}

// outlivedDaemon reports whether the launcher started daemons of its own and ran on after something that was so long before a moment.
// Those of prun belong to a prte, and orted and Hydra's proxies tell how their ranks ended.
func (l Launch) outlivedDaemon(ago float64, now time.Time) bool {
	return program.IsMPILauncherName(l.Program) && l.Program != "prun" && now.Sub(l.Ended).Seconds() <= ago
}

// recoveryOptions make Open MPI 5 go on without a daemon, or a rank, that it lost.
var recoveryOptions = []string{"with-ft", "enable-recovery", "continuous", "recoverable", "max-restarts", "mpi_ft_enable", "prte_enable_ft"}

// toleratesLostDaemons reports whether the launcher was asked to go on without daemons that it loses. Who gives such an option to their own program only
// is taken at the same word.
func (l Launch) toleratesLostDaemons() bool {
	words := strings.FieldsFunc(l.Line, func(c rune) bool { return strings.ContainsRune(" \t\n=,:", c) })
	return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(recoveryOptions, strings.TrimLeft(word, "-")) })
}
