package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
)

// Under stock Kubeflow Trainer a user's command replaces ours, so the gate runs in an init container. Where the user
// gives arguments only, our command runs too, and must not wait a second time: the gate leaves its result in the state
// folder, which both containers mount, and a hosts file there, which the second container may mount at /etc/hosts.

// earlierGate is a gate that an init container has passed.
type earlierGate struct {
	Started time.Time      `json:"started"`
	Result  mpi.GateResult `json:"result"`
	table   mpi.HostTable
}

func (l Launcher) leavePassed(result mpi.GateResult, started time.Time, table mpi.HostTable) error {
	text, err := json.Marshal(earlierGate{Started: started, Result: result})
	if err == nil {
		err = replaceFile(l.Settings.gatePath(), text, 0o644)
	}
	if err == nil {
		err = replaceFile(l.Settings.hostsPath(), []byte(withHosts("", table)), 0o644)
	}
	if err != nil {
		return fmt.Errorf("leave the result of the gate: %w", err)
	}
	return nil
}

// takePassed returns what an init container has left. It is there for one run only: when the container is started again
// the nodes may be others.
func (l Launcher) takePassed() (earlierGate, bool) {
	var gate earlierGate
	text, err := os.ReadFile(l.Settings.gatePath())
	if err != nil || os.Remove(l.Settings.gatePath()) != nil {
		return gate, false
	}
	if json.Unmarshal(text, &gate) != nil || !gate.Result.Passed {
		return gate, false
	}
	gate.table, err = readTable(l.Settings.hostTablePath())
	if err != nil || validateTable(gate.table, l.gate().nodes()) != nil {
		return gate, false
	}
	l.Log.Printf("an init container has passed the gate after %.2f s", gate.Result.Seconds)
	return gate, true
}
