package watch

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
)

func TestALaunchIsOverWhenAllItsRanksHaveEnded(t *testing.T) {
	waits, another := mpi.LaunchRemains{Launcher: 5}, mpi.LaunchRemains{Launcher: 6}
	ended, works := mpi.LaunchRemains{Started: true}, mpi.LaunchRemains{Started: true, Programs: 1}
	orphan := func(work uint64) mpi.LaunchRemains {
		return mpi.LaunchRemains{Started: true, OrphanWork: work, Orphans: []mpi.StuckProcess{{Name: "sleep", PID: 7}}}
	}
	type look struct {
		after          time.Duration
		launcher, node mpi.LaunchRemains
		silent         bool
	}
	cases := map[string]struct {
		reason      string
		looks       []look
		warns, over bool
	}{
		"ended":           {"nothing will come any more", []look{{0, waits, ended, false}, {idleLimit, waits, ended, false}}, true, true},
		"ended, young":    {"mpirun takes a moment to end", []look{{0, waits, ended, false}, {10 * time.Second, waits, ended, false}}, false, false},
		"ended, half":     {"users hear of it before", []look{{0, waits, ended, false}, {30 * time.Second, waits, ended, false}}, true, false},
		"works":           {"a rank runs", []look{{0, waits, works, false}, {time.Hour, waits, works, false}}, false, false},
		"never started":   {"ranks may still come, or the launcher waits for its daemons", []look{{0, waits, mpi.LaunchRemains{}, false}, {time.Hour, waits, mpi.LaunchRemains{}, false}}, true, false},
		"starting":        {"daemons come up one after the other", []look{{0, waits, mpi.LaunchRemains{}, false}, {50 * time.Second, waits, mpi.LaunchRemains{}, false}}, false, false},
		"many launches":   {"each look sees another one", []look{{0, waits, ended, false}, {30 * time.Second, another, ended, false}, {idleLimit, waits, ended, false}}, false, false},
		"a second launch": {"the first one ended, the next one runs", []look{{0, waits, ended, false}, {30 * time.Second, waits, works, false}, {idleLimit, waits, ended, false}}, false, false},
		"a silent node":   {"it may be at work", []look{{0, waits, ended, false}, {30 * time.Second, waits, ended, true}, {idleLimit, waits, ended, false}}, false, false},
		"no launcher":     {"the script does something else", []look{{0, mpi.LaunchRemains{}, ended, false}, {time.Hour, mpi.LaunchRemains{}, ended, false}}, false, false},
		"left behind":     {"a child holds the output", []look{{0, waits, orphan(5), false}, {idleLimit, waits, orphan(6), false}}, true, true},
		"left, at work":   {"what was left behind may be what the user waits for", []look{{0, waits, orphan(5), false}, {40 * time.Second, waits, orphan(900), false}, {idleLimit, waits, orphan(2000), false}}, true, false},
	}
	begin := time.Unix(1000, 0)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var l idleLaunch
			var now time.Time
			for _, look := range tc.looks {
				now = begin.Add(look.after)
				l.observePods(now, !look.silent, map[string]mpi.Progress{"a": {Remains: &look.launcher}, "b": {Remains: &look.node}})
			}
			if warning := l.warning(now); (warning != nil) != tc.warns || l.isOver(now) != tc.over {
				t.Errorf("%s: %v, over %v", tc.reason, warning, l.isOver(now))
			}
			if strings.HasPrefix(name, "left") && !strings.Contains(l.warning(now).Message, "`sleep` (pid 7 on b)") {
				t.Errorf("does not name what is left: %s", l.warning(now).Message)
			}
		})
	}
	var l idleLaunch
	for _, after := range []time.Duration{0, time.Hour} {
		l.observePods(begin.Add(after), true, map[string]mpi.Progress{"a": {Remains: &ended}, "b": {}})
	}
	if l.warning(begin.Add(time.Hour)) != nil {
		t.Error("an agent that says nothing of it may have ranks")
	}
}

func TestTrackerTellsWhatIsLeftOfALaunch(t *testing.T) {
	const zombie, reaped = "Z", "5"
	type process struct {
		pid, parent        int
		name, state, reaps string
	}
	cases := map[string]struct {
		processes []process
		want      mpi.LaunchRemains
	}{
		"a node at work": {
			[]process{{2, 1, "sh", "S", "0"}, {3, 2, "orted", "S", "0"}, {4, 3, "train", "R", "0"}},
			mpi.LaunchRemains{Programs: 1, Started: true},
		},
		"a shell as a rank":   {[]process{{2, 1, "orted", "S", "0"}, {4, 2, "bash", "S", "0"}}, mpi.LaunchRemains{Programs: 1, Started: true}},
		"a node before ranks": {[]process{{2, 1, "sh", "S", "0"}, {3, 2, "orted", "S", "0"}}, mpi.LaunchRemains{}},
		"a node after ranks":  {[]process{{2, 1, "orted", "S", reaped}, {4, 2, "train", zombie, "0"}}, mpi.LaunchRemains{Started: true}},
		"a node with an orphan": {
			[]process{{2, 1, "orted", "S", reaped}, {9, 1, "sleep", "S", "0"}},
			mpi.LaunchRemains{Started: true, OrphanWork: 100, Orphans: []mpi.StuckProcess{{Rank: -1, PID: 9, Name: "sleep", State: "sleeping"}}},
		},
		"a nested launcher": {
			[]process{{2, 1, "orted", "S", "0"}, {4, 2, "bash", "S", "0"}, {5, 4, "mpirun", "S", "0"}},
			mpi.LaunchRemains{Programs: 1, Started: true},
		},
		"the launcher": {
			[]process{{2, 1, "bash", "S", "0"}, {3, 2, "tee", "S", "0"}, {4, 2, "mpirun", "S", "0"}, {5, 4, "rsh", "S", "0"}},
			mpi.LaunchRemains{Launcher: 4},
		},
		"the launcher with ranks": {
			[]process{{4, 1, "mpiexec", "S", "0"}, {5, 4, "hydra_pmi_proxy", "S", "0"}, {6, 5, "train", "R", "0"}},
			mpi.LaunchRemains{Launcher: 4, Programs: 1, Started: true},
		},
		"prun": {[]process{{4, 1, "prte", "S", reaped}, {5, 4, "train", "R", "0"}, {6, 1, "prun", "S", "0"}}, mpi.LaunchRemains{Programs: 1, Started: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			root := fstest.MapFS{}
			for _, p := range tc.processes {
				root[fmt.Sprintf("%d/stat", p.pid)] = &fstest.MapFile{Data: fmt.Appendf(nil, "%d (%s) %s %d 1 1 0 -1 1 1 %s 1 0 100 0 0 0 20 0 1 0 1 0 0", p.pid, p.name, p.state, p.parent, p.reaps)}
			}
			tracker := &ProcessTracker{agent: 1, root: root, now: time.Now, started: func(pid int) bool { return pid < 9 }}
			if diff := cmp.Diff(&tc.want, tracker.Progress(mpi.ProgressRequest{Remains: true}).Remains); diff != "" {
				t.Error(diff)
			}
			if tracker.Progress(mpi.ProgressRequest{}).Remains != nil {
				t.Error("nobody asked")
			}
		})
	}
}
