package launch

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
	"lockstep.dev/lockstep/pkg/mpi/agent/state"
)

// Under stock Kubeflow Trainer a user's command replaces ours, so the gate runs in an init container. Where the user
// gives arguments only, our command runs too, and must not wait a second time: the gate leaves its result in the state
// folder, which both containers mount, and a hosts file there, which the second container may mount at /etc/hosts.

// initGate is a gate that an init container has passed.
type initGate struct {
	Started time.Time      `json:"started"`
	Result  mpi.GateResult `json:"result"`
	table   mpi.HostTable
}

func (l Launcher) saveInitGate(result mpi.GateResult, started time.Time, table mpi.HostTable) error {
	text, err := json.Marshal(initGate{Started: started, Result: result})
	if err == nil {
		err = state.ReplaceFile(l.Settings.GatePath(), text, 0o644)
	}
	if err == nil {
		err = state.ReplaceFile(l.Settings.HostsPath(), []byte(state.ReplaceHostsPart("", table)), 0o644)
	}
	if err != nil {
		return fmt.Errorf("leave the result of the gate: %w", err)
	}
	return nil
}

// consumeInitGate returns what an init container has left. It is there for one run only: when the container is started again
// the nodes may be others.
func (l Launcher) consumeInitGate() (initGate, bool) {
	var gate initGate
	text, err := os.ReadFile(l.Settings.GatePath())
	if err != nil || os.Remove(l.Settings.GatePath()) != nil {
		return gate, false
	}
	if json.Unmarshal(text, &gate) != nil || !gate.Result.Passed {
		return gate, false
	}
	gate.table, err = state.ReadHostTable(l.Settings.HostTablePath())
	if err != nil || hosts.ValidateTable(gate.table, l.otherHosts()) != nil {
		return gate, false
	}
	l.Log.Printf("an init container has passed the gate after %.2f s", gate.Result.Seconds)
	return gate, true
}
