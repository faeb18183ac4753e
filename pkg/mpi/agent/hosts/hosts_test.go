package hosts

import (
	"testing"

	"lockstep.dev/lockstep/pkg/mpi"
)

func TestFindHost(t *testing.T) {
	table := mpi.HostTable{Hosts: []mpi.HostAddress{
		{Name: "demo-node-0-1.demo", Address: "10.0.0.1"}, {Name: "demo-node-0-10.demo", Address: "10.0.0.10"},
	}}
	for name, want := range map[string]string{
		"demo-node-0-1.demo":                       "10.0.0.1",
		"demo-node-0-1":                            "10.0.0.1",
		"demo-node-0-10.demo.ns.svc.cluster.local": "10.0.0.10",
		"demo-node-0":                              "",
		"demo-node-0-2":                            "",
		"":                                         "",
	} {
		if got, found := FindHost(table, name); got.Address != want || found != (want != "") {
			t.Errorf("%q: got %+v, %v", name, got, found)
		}
	}
}
