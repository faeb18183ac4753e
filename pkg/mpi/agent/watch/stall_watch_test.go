package watch

import (
	"log"
	"strings"
	"testing"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// blockedPod has a connection to 10.0.0.2 that nobody answers.
func blockedPod() mpi.Progress {
	age := 3600.0
	return mpi.Progress{Processes: 1, RankAge: &age, Unanswered: []mpi.UnansweredConnection{{To: "10.0.0.2:4000", Retries: 9}}}
}

// A job is not ended for what may pass; one that fails by itself meanwhile has its cause.
func TestStallsArePostedAsLongAsTheyLastAndLoggedOnce(t *testing.T) {
	var logged strings.Builder
	w := NewStallWatch(log.New(&logged, "", 0))
	begin := time.Unix(1000, 0)
	look := LaunchLook{
		Works: true, Nodes: []mpi.Host{{Name: "a.j"}, {Name: "b.j"}},
		Table: mpi.HostTable{Hosts: []mpi.HostAddress{{Name: "a.j", Address: "10.0.0.1"}, {Name: "b.j", Address: "10.0.0.2"}}},
	}
	var found []mpi.JobWarning
	for i, pod := range []mpi.Progress{blockedPod(), blockedPod(), blockedPod(), {Processes: 1}} {
		look.At, look.Pods = begin.Add(time.Duration(i)*time.Minute), map[string]mpi.Progress{"a": pod, "b": {}}
		found = w.Observe(look)
		if want := i == 1 || i == 2; (len(found) == 1) != want || (w.Blocked != nil) != want {
			t.Errorf("look %d: %v, %v", i, found, w.Blocked)
		}
		if len(found) == 1 && (found[0].Reason != diagnose.MPIPortsBlocked || !strings.Contains(found[0].Message, "port 4000")) {
			t.Errorf("look %d: %v", i, found)
		}
	}
	if lines := strings.Split(strings.TrimSpace(logged.String()), "\n"); len(lines) != 1 || !strings.HasPrefix(lines[0], "the job goes on, and may wait forever: MPI communication failure") {
		t.Errorf("%q", lines)
	}
}

func TestLooksAreRareInALongRun(t *testing.T) {
	ran := 1.0
	for name, c := range map[string]struct {
		timings mpi.LaunchTimings
		age     time.Duration
		nodes   int
		doubts  bool
		want    time.Duration
	}{
		"a launch":          {mpi.LaunchTimings{}, time.Second, 2, false, firstLaunchPoll},
		"a script":          {mpi.LaunchTimings{}, time.Minute, 2, false, launchPoll},
		"ranks at work":     {mpi.LaunchTimings{RankSeconds: &ran}, time.Second, 2, false, workPoll},
		"ranks for hours":   {mpi.LaunchTimings{RankSeconds: &ran}, time.Hour, 2, false, workPoll},
		"many nodes":        {mpi.LaunchTimings{RankSeconds: &ran}, time.Hour, 64, false, 16 * time.Second},
		"a great many":      {mpi.LaunchTimings{RankSeconds: &ran}, time.Hour, 5000, false, time.Minute},
		"in doubt":          {mpi.LaunchTimings{RankSeconds: &ran}, time.Hour, 2, true, firstLaunchPoll},
		"in doubt, of many": {mpi.LaunchTimings{RankSeconds: &ran}, time.Hour, 1000, true, 50 * time.Second},
	} {
		if got := PollInterval(c.timings, c.age, c.nodes, c.doubts); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
