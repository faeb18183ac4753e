package agent

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
)

func TestCommandEnvironment(t *testing.T) {
	pod := []string{"HOSTNAME=demo-launcher-0-0", "JOB_COMPLETION_INDEX=0", "DATA=/d", StateDirVariable + "=/old"}
	settings := []string{KeyDirVariable + "=/k", StateDirVariable + "=/s", PortVariable + "=2222"}
	for dialect, want := range map[mpi.Dialect][]string{
		mpi.ORTE:       {"HOSTNAME=demo-launcher-0-0", "JOB_COMPLETION_INDEX=0", "DATA=/d"},
		mpi.PRRTE:      {"HOSTNAME=demo-launcher-0-0", "JOB_COMPLETION_INDEX=0", "DATA=/d"},
		mpi.Hydra:      {"DATA=/d"},
		mpi.IntelHydra: {"DATA=/d"},
	} {
		var wiring []string
		for _, v := range mpi.Environment(dialect, mpi.Network{Fabric: mpi.Ethernet, Interface: "eth0"}) {
			wiring = append(wiring, v.Name+"="+v.Value)
		}
		got := commandEnvironment(append(wiring, pod...), Settings{KeyDir: "/k", StateDir: "/s", Port: 2222})
		if diff := cmp.Diff(append(append(append([]string{}, settings...), wiring...), want...), got); diff != "" {
			t.Errorf("%s: %s", dialect, diff)
		}
	}
}
