package watch

import (
	"strings"
	"testing"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/verdict"
)

var blockedTable = mpi.HostTable{Hosts: []mpi.HostAddress{
	{Name: "demo-launcher-0-0.demo", Address: "10.0.0.1"}, {Name: "demo-node-0-0.demo", Address: "10.0.0.2"}, {Name: "demo-node-0-1.demo", Address: "10.0.0.3"},
}}

func TestUnansweredCalls(t *testing.T) {
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
		// mute says that the other pod does not answer, busy that its program accepts nothing.
		mute, busy bool
		want       string
	}{
		"daemon calls back": {reason: "nobody answers it", looks: []look{{5 * time.Second, mpirun, 3}, {15 * time.Second, mpirun, 4}}, want: "check NetworkPolicies: Worker 1 (10.0.0.3) cannot reach Launcher (10.0.0.1) port 36859: no answer for more than 10s"},
		"from the start":    {reason: "the time counts from the first retry", looks: []look{{2 * time.Second, mpirun, 1}, {12 * time.Second, mpirun, 3}}, want: "no answer for more than 10s"},
		"a moment":          {reason: "a network may need it", looks: []look{{5 * time.Second, mpirun, 3}, {10 * time.Second, mpirun, 4}}},
		"lost packets":      {reason: "some get lost", looks: []look{{5 * time.Second, mpirun, 2}, {15 * time.Second, mpirun, 2}}},
		"answered between":  {reason: "the next call is another", looks: []look{{5 * time.Second, mpirun, 3}, {10 * time.Second, rank, 3}, {15 * time.Second, mpirun, 3}}},
		"ranks":             {reason: "its kernel would answer", works: true, looks: []look{{0, rank, 3}, {2 * time.Second, rank, 4}, {6 * time.Second, rank, 5}}, want: "cannot reach Worker 0 (10.0.0.2) port 1024"},
		"ranks, at once":    {reason: "a link may be down for a moment", works: true, looks: []look{{0, rank, 3}, {4 * time.Second, rank, 5}}},
		"ranks, no retry":   {reason: "the answer to the next retry may be on its way", works: true, looks: []look{{0, rank, 5}, {12 * time.Second, rank, 5}}},
		"ranks, busy":       {reason: "a rank that computes may be slow to accept, and the kernel drops calls for it", works: true, busy: true, looks: []look{{0, rank, 3}, {time.Minute, rank, 6}, {2 * time.Minute, rank, 6}}},
		"ranks, mute":       {reason: "a machine that is gone is not blocked", works: true, mute: true, looks: []look{{0, rank, 3}, {59 * time.Second, rank, 6}}},
		"ranks, long mute":  {reason: "but not for a minute", works: true, mute: true, looks: []look{{0, rank, 3}, {time.Minute, rank, 6}}, want: "cannot reach Worker 0 (10.0.0.2) port 1024"},
		"not of this job":   {reason: "what a program asks of others is its own business", works: true, looks: []look{{0, "192.0.2.2:443", 3}, {time.Hour, "192.0.2.2:443", 6}}},
		"nobody asks":       {},
	}
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			open := unansweredConnections{}
			var got *verdict.BlockedConnection
			for i, l := range c.looks {
				pods := map[string]mpi.Progress{"demo-node-0-1": {Unanswered: []mpi.UnansweredConnection{{To: l.to, Retries: l.retries}}}}
				if !c.mute {
					pods["demo-node-0-0"] = mpi.Progress{}
				}
				if c.busy {
					pods["demo-node-0-0"] = mpi.Progress{Unaccepted: []uint16{1024}}
				}
				got = open.observePods(LaunchLook{At: begin.Add(l.after), Table: blockedTable, Pods: pods, Works: c.works, Unaccepted: i > 0})
			}
			switch {
			case (got != nil) != (c.want != ""):
				t.Errorf("%s: %+v", c.reason, got)
			case got != nil && (got.From.Name != "demo-node-0-1.demo" || !strings.Contains(got.String(), c.want)):
				t.Errorf("%s: %+v", c.reason, got)
			}
		})
	}
}
