package mpi

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWorld(t *testing.T) {
	type want struct {
		ranks, nodePods, pods int32
		hosts                 []string
	}
	cases := map[string]struct {
		reason string
		world  World
		want   want
	}{
		"LauncherWithoutRanks": {
			reason: "the launcher is one more pod, and no line of the hostfile",
			world:  World{Nodes: 2, SlotsPerNode: 2},
			want:   want{4, 2, 3, []string{"job-node-0-0.job", "job-node-0-1.job"}},
		},
		"LauncherRunsRanks": {
			reason: "the launcher is the first node",
			world:  World{Nodes: 2, SlotsPerNode: 8, LauncherRunsRanks: true},
			want:   want{16, 1, 2, []string{"job-launcher-0-0.job", "job-node-0-0.job"}},
		},
		"OneNode": {
			reason: "one node that is the launcher is one pod; upstream makes two (kubeflow/trainer#3954)",
			world:  World{Nodes: 1, SlotsPerNode: 4, LauncherRunsRanks: true},
			want:   want{4, 0, 1, []string{"job-launcher-0-0.job"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := want{tc.world.Ranks(), tc.world.NodePods(), tc.world.Pods(), tc.world.HostNames("job")}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWorldValidate(t *testing.T) {
	cases := map[string]struct {
		world World
		valid bool
	}{
		"Smallest": {World{Nodes: 1, SlotsPerNode: 1}, true},
		"NoNode":   {World{Nodes: 0, SlotsPerNode: 1}, false},
		"NoSlot":   {World{Nodes: 1, SlotsPerNode: 0}, false},
		"Negative": {World{Nodes: -1, SlotsPerNode: 1}, false},
		"Largest":  {World{Nodes: MaxNodes, SlotsPerNode: MaxSlotsPerNode}, true},
		"TooWide":  {World{Nodes: MaxNodes + 1, SlotsPerNode: 1}, false},
		"TooDeep":  {World{Nodes: 1, SlotsPerNode: MaxSlotsPerNode + 1}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if err := tc.world.Validate(); (err == nil) != tc.valid {
				t.Errorf("Validate() = %v, want valid = %t", err, tc.valid)
			}
		})
	}
}
