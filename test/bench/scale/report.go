package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"lockstep.dev/lockstep/test/platform"
)

// Report is both sides. Nodes are simulated.
type Report struct {
	Lockstep Side `json:"lockstep"`
	Stock    Side `json:"stock"`
}

// Side is what one controller did.
type Side struct {
	Jobs        int `json:"jobs"`
	NodesPerJob int `json:"nodesPerJob"`
	Complete    int `json:"complete"`
	// CreateSeconds is how long the TrainJobs took to create; the other times count from the same start.
	CreateSeconds     float64 `json:"createSeconds"`
	AllJobSetsSeconds float64 `json:"allJobSetsSeconds"`
	CompleteSeconds   float64 `json:"completeSeconds"`
	// WritesPerJob are requests of the controller that change something, leases included. EventsPerJob are apart: requests
	// for events, which the API server keeps for an hour.
	WritesPerJob  float64 `json:"writesPerJob"`
	EventsPerJob  float64 `json:"eventsPerJob"`
	PeakMegabytes float64 `json:"peakMegabytes"`
	// ReconcileP99 is the upper bound of the bucket that holds the 99th percentile, in seconds.
	ReconcileP99 float64 `json:"reconcileP99Seconds"`
	Reconciles   float64 `json:"reconciles"`
	Errors       float64 `json:"reconcileErrors"`
}

func (s *Side) finish(before, after platform.Metrics, events int) {
	s.EventsPerJob = float64(events) / float64(s.Jobs)
	s.WritesPerJob = (after.Writes()-before.Writes())/float64(s.Jobs) - s.EventsPerJob
	s.Reconciles = after.Sum("controller_runtime_reconcile_total") - before.Sum("controller_runtime_reconcile_total")
	s.Errors = after.Sum("controller_runtime_reconcile_errors_total") - before.Sum("controller_runtime_reconcile_errors_total")
	s.ReconcileP99 = after.Quantile(0.99, before, "controller_runtime_reconcile_time_seconds")
}

// Verdict judges nothing: jobs that failed have ended the program before.
func (Report) Verdict() error { return nil }

// Print writes a table for people.
func (r Report) Print(out io.Writer) {
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "\n(simulated nodes)\tJOBS\tALL JOBSETS\tALL COMPLETE\tWRITES/JOB\tEVENTS/JOB\tPEAK MB\tRECONCILE p99\tRECONCILES\tERRORS")
	for _, row := range []struct {
		name string
		Side
	}{{"lockstep", r.Lockstep}, {"stock", r.Stock}} {
		if row.Jobs > 0 {
			_, _ = fmt.Fprintf(table, "%s\t%d × %d\t%.1f s\t%.1f s\t%.1f\t%.1f\t%.0f\t≤ %g s\t%.0f\t%.0f\n", row.name, row.Jobs, row.NodesPerJob,
				row.AllJobSetsSeconds, row.CompleteSeconds, row.WritesPerJob, row.EventsPerJob, row.PeakMegabytes, row.ReconcileP99, row.Reconciles, row.Errors)
		}
	}
	_ = table.Flush()
}
