package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Report is what was seen.
type Report struct {
	Date  string `json:"date"`
	Cores int    `json:"cores"`
	// LoadBefore is the load average of the last minute: more than nothing means that others used the machine too.
	LoadBefore float64  `json:"loadBefore"`
	Minutes    float64  `json:"minutes"`
	Seed       uint64   `json:"seed"`
	Jobs       int      `json:"jobs"`
	Complete   int      `json:"complete"`
	Failed     []string `json:"failed,omitempty"`
	// WaitSeconds is how long jobs waited for machines that were guaranteed to their tenant, sorted.
	WaitSeconds []float64 `json:"waitSeconds"`
	// Borrowed is the most that each tenant had beyond its own.
	Borrowed   map[string]int `json:"borrowed"`
	Violations []string       `json:"violations,omitempty"`
	// Alerts are the names of those that fired.
	Alerts []string `json:"alerts,omitempty"`
}

func (r *Report) take(j *judge) {
	r.Violations, r.Borrowed = j.violations, j.borrowed
	for _, wait := range slices.Sorted(slices.Values(j.waits)) {
		r.WaitSeconds = append(r.WaitSeconds, wait.Round(100*time.Millisecond).Seconds())
	}
}

// Print writes what was seen for people.
func (r Report) Print(out io.Writer) {
	_, _ = fmt.Fprintf(out, "%s, %d cores, load %.1f before. %d jobs in %.0f min (seed %d): %d Complete, %d Failed.\n", r.Date, r.Cores, r.LoadBefore, r.Jobs, r.Minutes, r.Seed, r.Complete, len(r.Failed))
	if n := len(r.WaitSeconds); n > 0 {
		_, _ = fmt.Fprintf(out, "%d jobs waited for machines that were guaranteed to their tenant: median %.1f s, worst %.1f s (target: at most %.0f s)\n",
			n, r.WaitSeconds[n/2], r.WaitSeconds[n-1], guaranteedWithin.Seconds())
	}
	var borrowed []string
	for _, tenant := range slices.Sorted(maps.Keys(r.Borrowed)) {
		borrowed = append(borrowed, fmt.Sprintf("%s %d", tenant, r.Borrowed[tenant]))
	}
	_, _ = fmt.Fprintf(out, "the most machines beyond their own: %s\n%d times the plan was broken, %d alerts fired\n", strings.Join(borrowed, ", "), len(r.Violations), len(r.Alerts))
	for _, text := range slices.Concat(r.Violations, r.Failed, r.Alerts) {
		_, _ = fmt.Fprintln(out, "  "+text)
	}
}

// Verdict is an error where the plan was broken or a job did not complete.
func (r Report) Verdict() error {
	switch {
	case len(r.Violations) > 0:
		return fmt.Errorf("the plan was broken %d times", len(r.Violations))
	case len(r.Alerts) > 0:
		return fmt.Errorf("alerts fired for honest jobs: %s", strings.Join(r.Alerts, ", "))
	case r.Complete < r.Jobs:
		return fmt.Errorf("%d of %d jobs did not complete", r.Jobs-r.Complete, r.Jobs)
	case r.Jobs == 0:
		return errors.New("no job was created")
	}
	return nil
}
