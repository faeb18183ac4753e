package launch

import (
	"testing"

	"lockstep.dev/lockstep/pkg/mpi"
)

func TestDescribeWorldCountsAllSlots(t *testing.T) {
	for want, world := range map[string]mpi.World{
		"8 slots on 4 nodes":  {Nodes: 4, SlotsPerNode: 2},
		"12 slots on 3 nodes": {Nodes: 3, SlotsPerNode: 4, LauncherRunsRanks: true},
		"1 slot on 1 node":    {Nodes: 1, SlotsPerNode: 1},
	} {
		if got := describeWorld(mpi.HostsOf("demo", world)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
