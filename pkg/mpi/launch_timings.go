package mpi

import (
	"math"
	"slices"
	"time"
)

// LaunchTimings say when the parts of a launch happened, measured where they happen. All times but Started are seconds after
// Started; a pointer that is nil means that it has not happened.
type LaunchTimings struct {
	// Started is when the launcher's agent began, in an init container where that has the gate, by the clock of its machine.
	Started time.Time `json:"started"`
	// TableSeconds is when the addresses of all pods were known, TableFrom who told them.
	TableSeconds *float64    `json:"tableSeconds,omitempty"`
	TableFrom    TableSource `json:"tableFrom,omitempty"`
	// GateSeconds is when all nodes had answered and reached each other.
	GateSeconds *float64 `json:"gateSeconds,omitempty"`
	// CommandSeconds is when the user's command, usually mpirun, was started.
	CommandSeconds *float64 `json:"commandSeconds,omitempty"`
	// DaemonSeconds is when the first launch daemon was started on a node.
	DaemonSeconds *float64 `json:"daemonSeconds,omitempty"`
	// RankSeconds is when the first rank was seen on a node or in the launcher's pod. It is found by looking, every
	// 10 ms while a launch daemon is young.
	RankSeconds *float64 `json:"rankSeconds,omitempty"`
	// Connect is how long the launcher took to connect to a node and to authenticate, the attempt that succeeded.
	Connect *Spread `json:"connect,omitempty"`
}

// TableSource is who told the addresses of the pods.
type TableSource string

// The sources.
const (
	TableFromController TableSource = "controller"
	TableFromDNS        TableSource = "dns"
)

// Spread describes a set of durations in seconds.
type Spread struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

// SpreadOf returns nil for an empty set.
func SpreadOf(values []float64) *Spread {
	if len(values) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	return &Spread{Min: RoundSeconds(sorted[0]), Median: RoundSeconds(sorted[len(sorted)/2]), Max: RoundSeconds(sorted[len(sorted)-1])}
}

// RoundSeconds rounds a time in seconds to 0.1 ms: more digits say nothing and take the place of words in a verdict.
func RoundSeconds(value float64) float64 { return math.Round(value*1e4) / 1e4 }
