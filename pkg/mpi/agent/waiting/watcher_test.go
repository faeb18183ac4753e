package waiting

import (
	"strings"
	"testing"

	"lockstep.dev/lockstep/pkg/mpi"
)

// look is what is seen of four ranks after some seconds, of which each has waited for some.
func look(seconds float64, waited ...float64) Launch {
	pod := HostPod{Host: "demo-node-0-0"}
	for number, w := range waited {
		r := mpi.RankWaiting{Rank: number, Age: seconds, Seconds: seconds, Inside: "collectives"}
		r.Kinds[mpi.MPICollective] = mpi.CallKind{Calls: 9, Seconds: w}
		pod.Ranks = append(pod.Ranks, r)
	}
	return LaunchOf([]HostPod{pod}, 1e6)
}

func TestWatcherNamesAStragglerOnce(t *testing.T) {
	var w Watcher
	for _, tc := range []struct {
		reason string
		launch Launch
		want   string
	}{
		{"nobody has waited much", look(60, 0, 5, 3, 1), ""},
		{"what was before counts no more", look(120, 10, 6, 18, 46),
			"rank 1 (demo-node-0-0) keeps the others waiting: it was inside of MPI for 2 % of the last 60 s, the median of 4 ranks for 25 %; it has more to do than they have, or is slower at it"},
		{"and is said once", look(180, 60, 6, 68, 96), ""},
		{"of each", look(240, 60, 56, 118, 146),
			"rank 0 (demo-node-0-0) keeps the others waiting: it was inside of MPI for 0 % of the last 60 s, the median of 4 ranks for 83 %; it has more to do than they have, or is slower at it"},
		{"too short a time", look(245, 60, 61, 123, 151), ""},
		{"another launch begins anew", look(70, 60, 60, 1, 60),
			"rank 2 (demo-node-0-0) keeps the others waiting: it was inside of MPI for 1 % of the last 70 s, the median of 4 ranks for 86 %; it has more to do than they have, or is slower at it"},
	} {
		if got := w.Observe(tc.launch); got != tc.want {
			t.Errorf("%s: %q", tc.reason, got)
		}
	}
}

// A deadlock looks so: nobody is outside.
func TestWatcherTellsOfRanksThatAllWait(t *testing.T) {
	var w Watcher
	w.Observe(look(60, 1, 1, 1, 1))
	deadlock := look(120, 61, 61, 61, 61)
	deadlock[2].Inside = "messages"
	want := "all 4 ranks were inside of MPI for the whole of the last 60 s, at last 3 in collectives, rank 2 in messages: they wait for each other"
	if got := w.Observe(deadlock); !strings.HasPrefix(got, want) {
		t.Errorf("%q", got)
	}
	if got := w.Observe(look(180, 121, 121, 121, 121)); got != "" {
		t.Errorf("again: %q", got)
	}
}

// A pod that did not answer for a while is compared with what it said before, and until it does nobody knows whether its ranks wait.
func TestWatcherKnowsOfPodsThatDoNotAnswer(t *testing.T) {
	of := func(host string, first int, launch Launch) HostPod {
		pod := HostPod{Host: host}
		for i, r := range launch {
			r.Rank = first + i
			pod.Ranks = append(pod.Ranks, r.RankWaiting)
		}
		return pod
	}
	var w Watcher
	for _, tc := range []struct {
		reason string
		pods   []HostPod
		want   string
	}{
		{"in the first minutes nobody waits", []HostPod{of("a", 0, look(600, 0, 0)), of("b", 2, look(600, 0, 0))}, ""},
		{"those who answer wait for ranks that are not seen", []HostPod{of("a", 0, look(660, 60, 60))}, ""},
		{"and these have waited as long", []HostPod{of("a", 0, look(720, 120, 120)), of("b", 2, look(720, 119, 119))}, "all 4 ranks were inside of MPI for the whole of the last 120 s"},
	} {
		if got := w.Observe(LaunchOf(tc.pods, 1e6)); !strings.HasPrefix(got, tc.want) || (got == "") != (tc.want == "") {
			t.Errorf("%s: %q", tc.reason, got)
		}
	}
}

// A log is no place for the names of all ranks of a job.
func TestWatcherNamesFew(t *testing.T) {
	var w Watcher
	lines, waited := 0, make([]float64, 40)
	for second := 60.0; second < 40*60; second += 60 {
		for i := range waited {
			if i != int(second)/60 {
				waited[i] += 50
			}
		}
		if w.Observe(look(second, waited...)) != "" {
			lines++
		}
	}
	if lines != maxNamed {
		t.Errorf("%d lines", lines)
	}
}
