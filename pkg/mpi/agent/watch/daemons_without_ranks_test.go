package watch

import (
	"testing"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
)

func TestDaemonsWithoutRanks(t *testing.T) {
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
		"prte, prun":     {"it has only just come", []look{{0, alone(20), false}, {2 * time.Minute, alone(140), false}, {2*time.Minute + launchPoll, alone(145), true}, {2*time.Minute + 2*launchPoll, alone(150), true}}, false},
		"prun hangs":     {"", []look{{2 * time.Minute, alone(140), false}, {3 * time.Minute, alone(200), true}, {4 * time.Minute, alone(260), true}}, true},
		"a program":      {"a launcher that is no MPI runs something that has no rank in its environment", []look{{0, mpi.Progress{Processes: 3, Daemons: 2, LaunchAge: age(20)}, true}, {time.Minute, mpi.Progress{Processes: 3, Daemons: 2, LaunchAge: age(80)}, true}}, false},
		"no daemon":      {"the command may do something else first", []look{{0, mpi.Progress{}, true}, {time.Minute, mpi.Progress{}, true}}, false},
		"over":           {"the launch has ended there", []look{{0, mpi.Progress{LaunchAge: age(20)}, true}, {time.Minute, mpi.Progress{LaunchAge: age(80)}, true}}, false},
	}
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var launch daemonsWithoutRanks
			var got bool
			for _, l := range c.looks {
				got = launch.observePods(begin.Add(l.after), l.launching, nodes, map[string]mpi.Progress{"demo-node-0-0": alone(3600), "demo-node-0-1": l.second})
			}
			if got != c.want {
				t.Errorf("%s: %v", c.reason, got)
			}
		})
	}
	var launch daemonsWithoutRanks
	for _, after := range []time.Duration{0, time.Hour} {
		if launch.observePods(begin.Add(after), true, nil, nil) {
			t.Error("a job without nodes has no daemon to wait for")
		}
	}
}
