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
			open := unansweredConnections{}
			var got *verdict.BlockedConnection
			for _, l := range c.looks {
				pods := map[string]mpi.Progress{"demo-node-0-1": {Unanswered: []mpi.UnansweredConnection{{To: l.to, Retries: l.retries}}}}
				got = open.observePods(begin.Add(l.after), blockedTable, pods, c.works)
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
