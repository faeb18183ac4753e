package node

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
)

func TestNeighbours(t *testing.T) {
	tableOf := func(n int) (table mpi.HostTable) {
		table.Hosts = append(table.Hosts, mpi.HostAddress{Name: "demo-launcher-0-0.demo"})
		for i := range int32(n) {
			table.Hosts = append(table.Hosts, mpi.HostAddress{Name: mpi.HostName("demo", mpi.NodeJob, i)})
		}
		return table
	}
	cases := map[string]struct {
		reason   string
		nodes    int
		hostname string
		want     []string
	}{
		"Small": {"all others", 3, "demo-node-0-1", []string{"demo-launcher-0-0", "demo-node-0-0", "demo-node-0-2"}},
		"Large": {"the launcher and the next", 100, "demo-node-0-41", []string{"demo-launcher-0-0", "demo-node-0-42"}},
		"Last":  {"the next of the last is the launcher", 100, "demo-node-0-99", []string{"demo-launcher-0-0"}},
		"Alone": {"nobody else", 0, "demo-launcher-0-0", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, host := range requiredNeighbours(tableOf(tc.nodes), tc.hostname) {
				got = append(got, hosts.FirstLabel(host.Name))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
