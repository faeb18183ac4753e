package mpi

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// TrainingSubsystem passes a TrainingProgress, which a program has posted on a node, to the agent of the launcher. The
// answer is empty.
const TrainingSubsystem = "lockstep-training"

// TrainingPort is the port on the loopback interface on which each agent takes posts. All pods have the same, because
// Hydra gives ranks on other nodes the environment of the launcher.
const TrainingPort = 2223

// TrainingMarker begins a line that reports progress, such as `lockstep: progress 40% remaining=120s loss=0.31`.
const TrainingMarker = "lockstep: progress"

// The bounds of a report.
const (
	MaxTrainingMetrics = 16
	maxMetricName      = 64
)

// TrainingProgress is how far a program reports to be. Fields that it has not reported are nil or empty.
type TrainingProgress struct {
	// Percent is from 0 to 100, RemainingSeconds at least 0.
	Percent          *int32 `json:"percent,omitempty"`
	RemainingSeconds *int32 `json:"remainingSeconds,omitempty"`
	// Metrics are at most MaxTrainingMetrics, sorted by name.
	Metrics []TrainingMetric `json:"metrics,omitempty"`
	// Updated is the time of the last change, in milliseconds since 1970 by the clock of the launcher's machine.
	Updated int64 `json:"updated,omitempty"`
}

// TrainingMetric is a number that a program has reported. Texts are not taken, so that no secret gets into a status.
type TrainingMetric struct {
	// Name has at most 64 letters, digits and `_./-`, and begins with a letter or `_`.
	Name string `json:"name"`
	// Value is finite.
	Value float64 `json:"value"`
}

// IsEmpty reports whether no field was reported.
func (p TrainingProgress) IsEmpty() bool {
	return p.Percent == nil && p.RemainingSeconds == nil && len(p.Metrics) == 0
}

// With returns the progress after a newer report: fields that it leaves out stay, except for the remaining time of an
// earlier percentage.
func (p TrainingProgress) With(newer TrainingProgress) TrainingProgress {
	if newer.Percent != nil {
		p.Percent, p.RemainingSeconds = newer.Percent, nil
	}
	if newer.RemainingSeconds != nil {
		p.RemainingSeconds = newer.RemainingSeconds
	}
	// Of two metrics with one name the first counts, and new names are the first to go.
	known := slices.Clone(p.Metrics)
	for i, m := range known {
		if at := newer.find(m.Name); at >= 0 {
			known[i] = newer.Metrics[at]
		}
	}
	p.Metrics, p.Updated = slices.Concat(known, newer.Metrics), newer.Updated
	return p.WithinBounds()
}

// find returns the index of a metric, -1 if there is none.
func (p TrainingProgress) find(name string) int {
	return slices.IndexFunc(p.Metrics, func(m TrainingMetric) bool { return m.Name == name })
}

// WithinBounds returns the part that the API of TrainJobs can hold. Any program may have made the report.
func (p TrainingProgress) WithinBounds() TrainingProgress {
	if p.Percent != nil && (*p.Percent < 0 || *p.Percent > 100) {
		p.Percent = nil
	}
	if p.RemainingSeconds != nil && *p.RemainingSeconds < 0 {
		p.RemainingSeconds = nil
	}
	all := p.Metrics
	p.Metrics, p.Updated = nil, max(p.Updated, 0)
	for _, m := range all {
		finite := !math.IsInf(m.Value, 0) && !math.IsNaN(m.Value)
		if len(p.Metrics) < MaxTrainingMetrics && finite && IsMetricName(m.Name) && p.find(m.Name) < 0 {
			p.Metrics = append(p.Metrics, m)
		}
	}
	slices.SortFunc(p.Metrics, func(a, b TrainingMetric) int { return cmp.Compare(a.Name, b.Name) })
	return p
}

// IsMetricName reports whether a text may name a number.
func IsMetricName(name string) bool {
	if name == "" || len(name) > maxMetricName || strings.ContainsAny(name[:1], "0123456789./-") {
		return false
	}
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-") == ""
}
