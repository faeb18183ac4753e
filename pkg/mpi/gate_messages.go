package mpi

import (
	"slices"
	"strings"
	"time"
)

// The names of the SSH subsystems by which the controller and the agents talk. They are subsystems and not commands, so
// that no command of a user can be mistaken for one.
const (
	// HostTableSubsystem: the controller writes a HostTable as JSON and closes its side; the launcher's agent answers
	// with a GateResult as JSON when the gate has passed or failed. It may be asked any number of times and always
	// gives the same answer, but for a GateResult that says Waiting: with failures only where the table says Up, and without
	// any after GateHolds.
	HostTableSubsystem = "lockstep-rendezvous"
	// HelloSubsystem: the gate tells a node's agent the HostTable, so that daemons on nodes can start others by name, and
	// the agent answers with a Hello.
	HelloSubsystem = "lockstep-hello"
	// ReportSubsystem: the launcher's agent asks a node's agent what ran there; it answers with a NodeReport.
	ReportSubsystem = "lockstep-report"
)

// Hello is what a node's agent says of itself.
type Hello struct {
	// Hostname is the host name of the pod.
	Hostname string `json:"hostname"`
	// Unreachable names the pods of the table that this node tried and could not reach. The launcher reaching a node
	// does not mean that ranks reach each other: network policies take effect pod by pod.
	Unreachable []NodeFailure `json:"unreachable,omitempty"`
}

// GateResult is how the launcher's wait for its nodes ended.
type GateResult struct {
	// Passed is true when every node answered and both sides proved that they hold the key.
	Passed bool `json:"passed"`
	// Waiting is true while the gate has not ended, but something seems to be in the way: Failures says what.
	Waiting bool `json:"waiting,omitempty"`
	// Seconds is how long the gate took from its start.
	Seconds float64 `json:"seconds"`
	// TableSeconds is when, after its start, the gate had all addresses, TableFrom who told them. Both are empty when
	// nobody did, or when there is no node to wait for.
	TableSeconds float64     `json:"tableSeconds,omitempty"`
	TableFrom    TableSource `json:"tableFrom,omitempty"`
	// Connect is how long it took to connect to a node and to authenticate, nil without nodes.
	Connect *Spread `json:"connect,omitempty"`
	// Failures names the first nodes that did not answer, each with its last error, and More is how many others there are. Both are
	// empty when Passed.
	Failures []NodeFailure `json:"failures,omitempty"`
	More     int           `json:"more,omitempty"`
}

// GateHolds is how long a launcher lets whoever pushes a table wait for the end of the gate before it says that it still waits: who pushes
// knows then that it is there.
const GateHolds = 20 * time.Second

// What a GateResult may have, so that the answers of a thousand launchers fit into a controller, whoever wrote them: the number of failures,
// and bytes of a text in them.
const (
	maxFailures    = 16
	maxFailureText = 512
)

// WithinBounds returns the result with no more failures, and no longer texts, than anybody reads.
func (r GateResult) WithinBounds() GateResult {
	if more := len(r.Failures) - maxFailures; more > 0 {
		r.More += more
	}
	r.Failures = slices.Clone(r.Failures[:min(len(r.Failures), maxFailures)])
	for i, f := range r.Failures {
		r.Failures[i] = NodeFailure{clipText(f.Name, maxFailureText), clipText(f.Address, maxFailureText), clipText(f.Error, maxFailureText)}
	}
	return r
}

// clipText clones, so that nothing keeps the long text in memory, and leaves out a character that it would cut.
func clipText(text string, most int) string {
	return strings.Clone(strings.ToValidUTF8(text[:min(len(text), most)], ""))
}

// NodeFailure is a node that did not pass the gate.
type NodeFailure struct {
	Name    string `json:"name"`
	Address string `json:"address,omitempty"`
	// Error is the last error in plain words, for example `connection refused` or `authentication failed`.
	Error string `json:"error"`
}
