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
	// warnsAfter is how long all ranks of a launch must have ended before its launcher is worth a warning, endsAfter before it
	// is ended: Open MPI 5.0.7 waits forever after one of some 60 short launches.
	warnsAfter = 20 * time.Second
	endsAfter  = time.Minute
	// idleWork is what orphans may do in that time without being at work, in the units of LaunchRemains.OrphanWork.
	idleWork = 100
)

// endedLaunch is a launch whose programs have all ended although its launcher waits.
type endedLaunch struct {
	// since is when it was seen first, of all looks without a break; work is what orphans had done at idleSince.
	since, idleSince time.Time
	work             uint64
	orphans          []string
}

// observePods takes in what is left of the launch in all pods. All reports whether each pod has answered.
func (l *endedLaunch) observePods(now time.Time, all bool, pods map[string]mpi.Progress) {
	programs, waits, started, work, orphans := 0, false, false, uint64(0), []string(nil)
	for _, host := range slices.Sorted(maps.Keys(pods)) {
		remains := cmp.Or(pods[host].Remains, &mpi.LaunchRemains{Programs: 1}) // an older agent says nothing
		programs, work = programs+remains.Programs, work+remains.OrphanWork
		waits, started = waits || remains.Waits, started || remains.Started
		for _, orphan := range remains.Orphans {
			orphans = append(orphans, fmt.Sprintf("`%s` (pid %d on %s)", orphan.Name, orphan.PID, host))
		}
	}
	switch {
	case !waits || !all || programs > 0 || !started:
		*l = endedLaunch{}
		return
	case l.since.IsZero():
		l.since = now
		fallthrough
	case work > l.work+idleWork || work < l.work:
		l.idleSince, l.work = now, work
	}
	l.orphans = orphans[:min(len(orphans), mpi.MaxOrphans)]
}

// warning returns what to tell users, nil for nothing.
func (l *endedLaunch) warning(now time.Time) *mpi.JobWarning {
	if l.since.IsZero() || now.Sub(l.since) < warnsAfter {
		return nil
	}
	return &mpi.JobWarning{Reason: mpi.ReasonLaunchStuck, Message: l.String()}
}

// isOver reports whether to end the launcher. Orphans at work may be what the user waits for.
func (l *endedLaunch) isOver(now time.Time) bool {
	return !l.since.IsZero() && now.Sub(l.since) >= endsAfter && now.Sub(l.idleSince) >= endsAfter
}

// String says what was seen.
func (l *endedLaunch) String() string {
	text := "all ranks of its launch have ended, and the launcher has not"
	if len(l.orphans) > 0 {
		text += ": it may wait for the output of what they left behind, " + strings.Join(l.orphans, ", ")
	}
	return text
}
