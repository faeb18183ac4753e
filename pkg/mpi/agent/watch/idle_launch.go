package watch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
)

const (
	// warnsAfter is how long all ranks of a launch must have ended before its launcher is worth a warning, idleLimit before it
	// is ended: Open MPI 5.0.7 waits forever after one of some 60 short launches. A launch that never had a rank is worth a
	// warning after idleLimit: launchers and daemons that wait for each other do so forever, and ranks may still come.
	warnsAfter = 20 * time.Second
	idleLimit  = time.Minute
	// idleWork is what orphans may do in that time without being at work, in the units of LaunchRemains.OrphanWork.
	idleWork = 100
)

// idleLaunch is a launch without a program that runs, although its launcher waits.
type idleLaunch struct {
	launcher int
	// since is when it was seen first, of all looks without a break; work is what orphans had done at idleSince.
	since, idleSince time.Time
	work             uint64
	// started reports whether it had programs.
	started bool
	orphans []string
}

// observePods takes in what is left of the launch in all pods. All reports whether each pod has answered.
func (l *idleLaunch) observePods(now time.Time, all bool, pods map[string]mpi.Progress) {
	seen, programs, work := idleLaunch{since: now, idleSince: now}, 0, uint64(0)
	for _, host := range slices.Sorted(maps.Keys(pods)) {
		remains := cmp.Or(pods[host].Remains, &mpi.LaunchRemains{Programs: 1}) // an older agent says nothing
		programs, work = programs+remains.Programs, work+remains.OrphanWork
		seen.launcher, seen.started = max(seen.launcher, remains.Launcher), seen.started || remains.Started
		for _, orphan := range remains.Orphans {
			seen.orphans = append(seen.orphans, fmt.Sprintf("`%s` (pid %d on %s)", orphan.Name, orphan.PID, host))
		}
	}
	seen.work, seen.orphans = work, seen.orphans[:min(len(seen.orphans), mpi.MaxOrphans)]
	switch {
	case seen.launcher == 0 || !all || programs > 0:
		seen = idleLaunch{}
	case l.launcher != seen.launcher || l.started != seen.started:
	case work > l.work+idleWork || work < l.work:
		seen.since = l.since
	default:
		seen.since, seen.idleSince, seen.work = l.since, l.idleSince, l.work
	}
	*l = seen
}

// warning returns what to tell users, nil for nothing.
func (l *idleLaunch) warning(now time.Time) *mpi.JobWarning {
	limit := idleLimit
	if l.started {
		limit = warnsAfter
	}
	if l.launcher == 0 || now.Sub(l.since) < limit {
		return nil
	}
	return &mpi.JobWarning{Reason: mpi.ReasonLaunchStuck, Message: l.String()}
}

// isOver reports whether to end the launcher. Orphans at work may be what the user waits for.
func (l *idleLaunch) isOver(now time.Time) bool {
	return l.started && now.Sub(l.since) >= idleLimit && now.Sub(l.idleSince) >= idleLimit
}

// String says what was seen.
func (l *idleLaunch) String() string {
	if !l.started {
		return fmt.Sprintf("no rank started within %v: the MPI launcher and its daemons wait for each other", idleLimit)
	}
	text := "all ranks of its launch have ended, and the launcher has not"
	if len(l.orphans) > 0 {
		text += ": it may wait for the output of what they left behind, " + strings.Join(l.orphans, ", ")
	}
	return text
}
