package cluster

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/test/cluster/internal/api"
	"lockstep.dev/lockstep/test/cluster/internal/supervise"
)

func TestOpenNamesTheNodesThatWait(t *testing.T) {
	ready := api.Node{Name: "node0", Ready: true, Open: true}
	cases := map[string]struct {
		reason string
		nodes  []api.Node
		want   string
	}{
		"all":     {reason: "nothing to wait for", nodes: []api.Node{ready, {Name: "node1", Ready: true, Open: true}}},
		"missing": {reason: "a node has not registered", nodes: []api.Node{ready}, want: "1 of 2"},
		"unready": {reason: "kubelet says why", nodes: []api.Node{ready, {Name: "node1", Why: "no network"}}, want: "node1: no network"},
		"tainted": {reason: "pods would not be scheduled", nodes: []api.Node{ready, {Name: "node1", Ready: true}}, want: "node1 is ready but still tainted"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := open(tc.nodes, 2)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	node := func(alive, ready bool, pid int) NodeStatus {
		return NodeStatus{Name: "node0", Alive: alive, Ready: ready, Components: []supervise.Status{{Name: "kubelet", PID: pid, LastExit: "ended with exit code 1"}}}
	}
	type want struct {
		State    string
		Problems int
	}
	cases := map[string]struct {
		reason string
		in     Status
		want   want
	}{
		"well":           {reason: "no problem, no news", in: Status{State: "running", Nodes: []NodeStatus{node(true, true, 7)}}, want: want{State: "running"}},
		"dead node":      {reason: "its components are no news then", in: Status{State: "running", Nodes: []NodeStatus{node(false, true, 0)}}, want: want{State: "broken", Problems: 1}},
		"dead component": {reason: "it is named", in: Status{State: "running", Nodes: []NodeStatus{node(true, true, 0)}}, want: want{State: "broken", Problems: 1}},
		"starting":       {reason: "not ready yet is not broken", in: Status{State: "starting", Nodes: []NodeStatus{node(true, false, 7)}}, want: want{State: "starting", Problems: 1}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.in.judge()
			if diff := cmp.Diff(tc.want, want{State: tc.in.State, Problems: len(tc.in.Problems)}); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}
