package agent

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

var blockedTable = mpi.HostTable{Hosts: []mpi.HostAddress{
	{Name: "demo-launcher-0-0.demo", Address: "10.0.0.1"}, {Name: "demo-node-0-0.demo", Address: "10.0.0.2"}, {Name: "demo-node-0-1.demo", Address: "10.0.0.3"},
}}

func TestCalls(t *testing.T) {
	type look struct {
		after   time.Duration
		to      string
		retries int
	}
	const mpirun, rank = "10.0.0.1:36859", "10.0.0.2:1024"
	cases := map[string]struct {
		reason string
		works  bool
		looks  []look
		want   string
	}{
		"daemon calls back": {"nobody answers it", false, []look{{5 * time.Second, mpirun, 3}, {15 * time.Second, mpirun, 4}}, "check NetworkPolicies: Worker 1 (10.0.0.3) cannot reach Launcher (10.0.0.1) port 36859: no answer for more than 10s"},
		"from the start":    {"the time counts from the first retry", false, []look{{2 * time.Second, mpirun, 1}, {12 * time.Second, mpirun, 3}}, "no answer for more than 10s"},
		"a moment":          {"a network may need it", false, []look{{5 * time.Second, mpirun, 3}, {10 * time.Second, mpirun, 4}}, ""},
		"lost packets":      {"some get lost", false, []look{{5 * time.Second, mpirun, 2}, {15 * time.Second, mpirun, 2}}, ""},
		"answered between":  {"the next call is another", false, []look{{5 * time.Second, mpirun, 3}, {10 * time.Second, rank, 3}, {15 * time.Second, mpirun, 3}}, ""},
		"ranks, others":     {"where ranks work connections come and go: another one may just be new", true, []look{{0, rank, 1}, {time.Minute, rank, 3}}, ""},
		"ranks, busy":       {"a rank that computes may be slow to accept", true, []look{{0, rank, 3}, {59 * time.Second, rank, 6}}, ""},
		"ranks":             {"but not for a minute", true, []look{{0, rank, 3}, {time.Minute, rank, 6}}, "cannot reach Worker 0 (10.0.0.2) port 1024"},
		"not of this job":   {"what a program asks of others is its own business", true, []look{{0, "192.0.2.2:443", 3}, {time.Hour, "192.0.2.2:443", 6}}, ""},
		"nobody asks":       {"", false, nil, ""},
	}
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			open := calls{}
			var got *obstacle
			for _, l := range c.looks {
				pods := map[string]mpi.Progress{"demo-node-0-1": {Unanswered: []mpi.Unanswered{{To: l.to, Retries: l.retries}}}}
				got = open.look(begin.Add(l.after), blockedTable, pods, c.works)
			}
			switch {
			case (got != nil) != (c.want != ""):
				t.Errorf("%s: %+v", c.reason, got)
			case got != nil && (got.reason != diagnose.MPIPortsBlocked || got.host != "demo-node-0-1.demo" || !strings.Contains(got.message, c.want)):
				t.Errorf("%s: %+v", c.reason, got)
			}
		})
	}
}

func TestLonely(t *testing.T) {
	nodes := []mpi.Host{{Name: "demo-node-0-0.demo"}, {Name: "demo-node-0-1.demo"}}
	age := func(seconds float64) *float64 { return &seconds }
	alone := func(seconds float64) mpi.Progress {
		return mpi.Progress{Processes: 2, Daemons: 2, DaemonAge: age(1000), LaunchAge: age(seconds)}
	}
	// look is what is seen after some seconds, of the second node and of the launcher.
	type look struct {
		after     time.Duration
		second    mpi.Progress
		launching bool
	}
	cases := map[string]struct {
		reason string
		looks  []look
		want   bool
	}{
		"only daemons":   {"nothing will come any more", []look{{0, alone(20), true}, {time.Minute, alone(80), true}}, true},
		"too early":      {"daemons come up one after the other", []look{{0, alone(20), true}, {59 * time.Second, alone(79), true}}, false},
		"one look":       {"a launch may be between its daemons and its ranks", []look{{time.Hour, alone(3600), true}}, false},
		"second launch":  {"it is young, however long ago the first daemon of all was", []look{{0, alone(20), true}, {time.Minute, alone(1), true}}, false},
		"many launches":  {"each look sees another one", []look{{0, alone(3), true}, {30 * time.Second, alone(3), true}, {time.Minute, alone(3), true}, {90 * time.Second, alone(3), true}}, false},
		"break":          {"it goes on", []look{{0, alone(20), true}, {30 * time.Second, mpi.Progress{Processes: 3, Daemons: 2, LaunchAge: age(50)}, true}, {time.Minute, alone(80), true}}, false},
		"silent between": {"who does not answer may do something", []look{{0, alone(20), true}, {30 * time.Second, mpi.Progress{}, true}, {time.Minute, alone(80), true}}, false},
		"prte, prepare":  {"the daemons of prte wait for prun", []look{{0, alone(20), false}, {2 * time.Minute, alone(140), false}}, false},
		"prte, prun":     {"it has only just come", []look{{0, alone(20), false}, {2 * time.Minute, alone(140), false}, {2*time.Minute + launchLook, alone(145), true}, {2*time.Minute + 2*launchLook, alone(150), true}}, false},
		"prun hangs":     {"", []look{{2 * time.Minute, alone(140), false}, {3 * time.Minute, alone(200), true}, {4 * time.Minute, alone(260), true}}, true},
		"a program":      {"a launcher that is no MPI runs something that has no rank in its environment", []look{{0, mpi.Progress{Processes: 3, Daemons: 2, LaunchAge: age(20)}, true}, {time.Minute, mpi.Progress{Processes: 3, Daemons: 2, LaunchAge: age(80)}, true}}, false},
		"no daemon":      {"the command may do something else first", []look{{0, mpi.Progress{}, true}, {time.Minute, mpi.Progress{}, true}}, false},
		"over":           {"the launch has ended there", []look{{0, mpi.Progress{LaunchAge: age(20)}, true}, {time.Minute, mpi.Progress{LaunchAge: age(80)}, true}}, false},
	}
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var launch lonely
			var got *obstacle
			for _, l := range c.looks {
				got = launch.look(begin.Add(l.after), l.launching, nodes, map[string]mpi.Progress{"demo-node-0-0": alone(3600), "demo-node-0-1": l.second})
			}
			if (got != nil) != c.want || got != nil && got.reason != diagnose.Hang {
				t.Errorf("%s: %+v", c.reason, got)
			}
		})
	}
	var launch lonely
	for _, after := range []time.Duration{0, time.Hour} {
		if launch.look(begin.Add(after), true, nil, nil) != nil {
			t.Error("a job without nodes has no daemon to wait for")
		}
	}
}

// A job is not ended for what may pass; one that fails by itself meanwhile has its cause.
func TestNoticesAreToldOnce(t *testing.T) {
	blocked := &obstacle{diagnose.MPIPortsBlocked, "demo-node-0-1.demo", "nobody answers"}
	var told []string
	n := notices{told: map[mpi.Reason]bool{}}
	stands := func(found *obstacle) {
		n.stands(found, &obstacle{reason: diagnose.Hang, message: "no rank"}, func(format string, values ...any) { told = append(told, fmt.Sprintf(format, values...)) })
	}
	failed := func(reason mpi.Reason) mpi.Reason { return n.explain(mpi.Verdict{Reason: reason}).Reason }
	stands(blocked)
	stands(blocked)
	if diff := cmp.Diff([]string{"the job goes on, and may wait for ever: nobody answers", "the job goes on, and may wait for ever: no rank"}, told); diff != "" {
		t.Error(diff)
	}
	if failed(mpi.ReasonCommandFailed) != diagnose.MPIPortsBlocked || failed(diagnose.RankFailed) != diagnose.RankFailed || failed("") != "" {
		t.Error("a cause that is known stays, and a success")
	}
	if stands(nil); failed(mpi.ReasonCommandFailed) != mpi.ReasonCommandFailed {
		t.Error("it was answered meanwhile")
	}
}

func TestAnObstacleIsTheCause(t *testing.T) {
	got := obstructed(mpi.Verdict{Reason: diagnose.WorkerLost, Lost: "demo-node-0-0.demo", Message: "exited with code 255", ExitCode: 255},
		obstacle{diagnose.MPIPortsBlocked, "demo-node-0-1.demo", "blocked"})
	if got.Reason != diagnose.MPIPortsBlocked || got.Lost != "" || got.Host != "demo-node-0-1.demo" || got.Message != "blocked" || got.ExitCode != 255 {
		t.Errorf("%+v", got)
	}
}

func TestLooksAreRareInALongRun(t *testing.T) {
	ran := 1.0
	for name, c := range map[string]struct {
		phases mpi.Phases
		age    time.Duration
		want   time.Duration
	}{
		"a launch":        {mpi.Phases{}, time.Second, firstLaunchLook},
		"a script":        {mpi.Phases{}, time.Minute, launchLook},
		"ranks at work":   {mpi.Phases{RankSeconds: &ran}, time.Second, workLook},
		"ranks for hours": {mpi.Phases{RankSeconds: &ran}, time.Hour, workLook},
	} {
		if got := lookAfter(c.phases, c.age); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
