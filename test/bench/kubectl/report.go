package main

import (
	"errors"
	"fmt"
	"io"

	"lockstep.dev/lockstep/test/bench/series"
)

// The targets: seconds of wall time, and requests.
const (
	startTarget    = 0.060
	listTarget     = 1
	createTarget   = 5
	requestsTarget = 5
)

// Report is what was measured.
type Report struct {
	Machine series.Machine `json:"machine"`
	Jobs    int            `json:"jobs"`
	// Requests are those of one list.
	Requests int64 `json:"requests"`
	// Bytes is the size of the program.
	Bytes    int64     `json:"programBytes"`
	Commands []Command `json:"commands"`
}

// Command is one that was measured. Target is 0 for those of others.
type Command struct {
	Name   string       `json:"name"`
	Target float64      `json:"targetSeconds,omitempty"`
	Usage  series.Usage `json:"usage"`
}

// Print writes a table for people.
func (r Report) Print(out io.Writer) {
	_, _ = fmt.Fprintf(out, "%s\n%d jobs are listed in %d requests (target: at most %d). The program has %.1f MB.\n\n", r.Machine, r.Jobs, r.Requests, requestsTarget, float64(r.Bytes)/1e6)
	_, _ = fmt.Fprintln(out, "| command | target, ms | wall, ms: median (least to most) | CPU, ms | peak memory, MB |\n|---|---|---|---|---|")
	for _, c := range r.Commands {
		target := "–"
		if c.Target > 0 {
			target = fmt.Sprintf("≤ %.0f", c.Target*1000)
		}
		_, _ = fmt.Fprintf(out, "| `%s` | %s | %s | %s | %s |\n", c.Name, target, c.Usage.Wall.Times(1000), c.Usage.CPU.Times(1000), c.Usage.PeakRSS.Times(1e-6))
	}
}

// Verdict is an error for each command whose median misses its target, and for too many requests.
func (r Report) Verdict() error {
	var missed []error
	for _, c := range r.Commands {
		if c.Target > 0 && c.Usage.Wall.Median > c.Target {
			missed = append(missed, fmt.Errorf("`%s` takes %.0f ms, at most %.0f are wanted", c.Name, c.Usage.Wall.Median*1000, c.Target*1000))
		}
	}
	if r.Requests > requestsTarget {
		missed = append(missed, fmt.Errorf("a list asks %d times, at most %d are wanted", r.Requests, requestsTarget))
	}
	return errors.Join(missed...)
}
