package watch

import (
	"log"
	"strings"
	"testing"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/verdict"
)

// A job is not ended for what may pass; one that fails by itself meanwhile has its cause.
func TestStallsAreToldOnce(t *testing.T) {
	blocked := &verdict.BlockedConnection{From: mpi.HostAddress{Name: "demo-node-0-1.demo"}}
	var told strings.Builder
	l := StallLogger{Log: log.New(&told, "", 0)}
	l.logFindings(blocked, true, 2)
	l.logFindings(blocked, true, 2)
	lines := strings.Split(strings.TrimSpace(told.String()), "\n")
	if len(lines) != 2 || lines[0] != "the job goes on, and may wait forever: "+blocked.String() ||
		!strings.HasPrefix(lines[1], "the job goes on, and may wait forever: no rank started within 1m0s although the launch daemons run on all 2 nodes") {
		t.Errorf("%q", lines)
	}
	if l.Blocked != blocked {
		t.Error("nobody has answered")
	}
	if l.logFindings(nil, false, 2); l.Blocked != nil {
		t.Error("it was answered meanwhile")
	}
}

func TestLooksAreRareInALongRun(t *testing.T) {
	ran := 1.0
	for name, c := range map[string]struct {
		timings mpi.LaunchTimings
		age     time.Duration
		want    time.Duration
	}{
		"a launch":        {mpi.LaunchTimings{}, time.Second, firstLaunchPoll},
		"a script":        {mpi.LaunchTimings{}, time.Minute, launchPoll},
		"ranks at work":   {mpi.LaunchTimings{RankSeconds: &ran}, time.Second, workPoll},
		"ranks for hours": {mpi.LaunchTimings{RankSeconds: &ran}, time.Hour, workPoll},
	} {
		if got := PollInterval(c.timings, c.age); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
