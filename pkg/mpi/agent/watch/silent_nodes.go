package watch

import (
	"fmt"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// Silence is a record of a remote shell: the agent of its node does not answer, or does again. Remote shells leave
// them in a file of the launcher's pod.
type Silence struct {
	Host    string `json:"host"`
	Address string `json:"address,omitempty"`
	// PID is the process of the remote shell.
	PID int `json:"pid"`
	// Over is true once the agent answers again.
	Over bool `json:"over,omitempty"`
}

// ObserveSilences takes in the records of remote shells, in the order of time, and returns the warning about the
// first of the nodes that do not answer, or nil. Runs reports whether a remote shell still runs: one that was killed
// leaves no last record.
func (w *StallWatch) ObserveSilences(records []Silence, runs func(pid int) bool) *mpi.JobWarning {
	last := map[int]Silence{}
	for _, record := range records {
		last[record.PID] = record
	}
	var first *Silence
	silent := map[string]bool{}
	for _, record := range records {
		if last[record.PID] == record && !record.Over && runs(record.PID) {
			silent[record.Host] = true
			if first == nil {
				first = &record
			}
		}
	}
	if first == nil {
		return nil
	}
	others := ""
	if len(silent) > 1 {
		others = fmt.Sprintf(" and %d more", len(silent)-1)
	}
	warning := &mpi.JobWarning{Reason: mpi.ReasonWorkerSilent, Message: fmt.Sprintf(
		"%s does not answer, although its machine takes what it is sent: "+
			"frozen, or without processor time (%s%s)",
		diagnose.WorkerName(first.Host), hosts.DescribeHost(first.Host, first.Address), others)}
	w.logOnce(*warning)
	return warning
}
