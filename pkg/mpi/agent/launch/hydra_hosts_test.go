package launch

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
)

func TestHydraKnowsItsOwnHostByTheNameOfTheKernel(t *testing.T) {
	l := Launcher{Gate: Gate{Hostname: "demo-launcher-0-0", Hosts: mpi.HostsOf("demo", mpi.World{Nodes: 2, SlotsPerNode: 4, LauncherRunsRanks: true})}}
	want := []mpi.Host{{Name: "demo-launcher-0-0", Slots: 4}, {Name: "demo-node-0-0.demo", Slots: 4}}
	if diff := cmp.Diff(want, l.hydraHosts()); diff != "" {
		t.Error(diff)
	}
	if l.Hosts[0].Name != "demo-launcher-0-0.demo" {
		t.Errorf("the table of hosts has changed: %v", l.Hosts)
	}
}
