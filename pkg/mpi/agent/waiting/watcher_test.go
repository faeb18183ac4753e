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
		{"one look says nothing", look(60, 50, 0, 50, 50), ""},
		{"what was before counts no more", look(120, 60, 5, 65, 95),
			"rank 1 (demo-node-0-0) keeps the others waiting: it was inside of MPI for 8 % of the last 60 s, the median of 4 ranks for 25 %; it has more to do than they have, or is slower at it"},
		{"and is said once", look(180, 110, 5, 115, 145), ""},
		{"of each", look(240, 110, 55, 165, 195),
			"rank 0 (demo-node-0-0) keeps the others waiting: it was inside of MPI for 0 % of the last 60 s, the median of 4 ranks for 83 %; it has more to do than they have, or is slower at it"},
		{"too short a time", look(245, 110, 60, 170, 200), ""},
		{"another launch begins anew", look(70, 60, 0, 60, 60), ""},
	} {
		if got := w.Observe(tc.launch); got != tc.want {
			t.Errorf("%s: %q", tc.reason, got)
		}
	}
}

// A deadlock looks so: nobody is outside.
func TestWatcherTellsOfRanksThatAllWait(t *testing.T) {
	var w Watcher
	w.Observe(look(60, 0, 0, 0, 0))
	deadlock := look(120, 60, 60, 60, 60)
	deadlock[2].Inside = "messages"
	want := "all 4 ranks were inside of MPI for the whole of the last 60 s, at last 3 in collectives, rank 2 in messages: they wait for each other"
	if got := w.Observe(deadlock); !strings.HasPrefix(got, want) {
		t.Errorf("%q", got)
	}
	if got := w.Observe(look(180, 120, 120, 120, 120)); got != "" {
		t.Errorf("again: %q", got)
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
