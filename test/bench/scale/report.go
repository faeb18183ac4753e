package main

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/test/bench"
	"lockstep.dev/lockstep/test/platform"
)

// Report is both sides. Nodes are simulated.
type Report struct {
	Lockstep Side `json:"lockstep"`
	Stock    Side `json:"stock"`
}

// Side is what one controller did. No policy engine ran.
type Side struct {
	// Error is why the side is not complete; what it had done by then is here all the same.
	Error string `json:"error,omitempty"`
	bench.Tally
	NodesPerJob int `json:"nodesPerJob"`
	JobSets     int `json:"jobSets"`
	// Seconds is for how long it was measured.
	Seconds float64 `json:"seconds"`
	// CreateSeconds is how long the TrainJobs took to create; the other times count from the same start, and are 0 when it was
	// not reached.
	CreateSeconds     float64 `json:"createSeconds"`
	AllJobSetsSeconds float64 `json:"allJobSetsSeconds"`
	CompleteSeconds   float64 `json:"completeSeconds"`
	// WritesPerJob are requests of the controller that change something, leases included, for each job that was created: too
	// few when not all have ended. EventsPerJob are apart: requests for events, which the API server keeps for an hour.
	WritesPerJob  float64 `json:"writesPerJob"`
	EventsPerJob  float64 `json:"eventsPerJob"`
	PeakMegabytes float64 `json:"peakMegabytes"`
	// ReconcileP99 is the upper bound of the bucket that holds the 99th percentile, in seconds; 0 when there is none.
	ReconcileP99 float64 `json:"reconcileP99Seconds"`
	Reconciles   float64 `json:"reconciles"`
	Errors       float64 `json:"reconcileErrors"`
}

func (s *Side) setError(err error) {
	if err != nil {
		s.Error = err.Error()
	}
}

// count is told of all jobs there are.
func (s *Side) count(jobs []trainer.TrainJob) {
	s.Tally = bench.Tally{Jobs: s.Jobs, Created: s.Created}
	for _, job := range jobs {
		if meta.IsStatusConditionTrue(job.Status.Conditions, trainer.TrainJobComplete) {
			s.Complete++
		}
		if end := meta.FindStatusCondition(job.Status.Conditions, trainer.TrainJobFailed); end != nil && end.Status == metav1.ConditionTrue {
			s.RecordFailure(bench.Failure{Job: job.Name, Reason: end.Reason, Message: end.Message})
		}
	}
}

func (s *Side) settle(before, after platform.Metrics, events int) {
	jobs := float64(max(s.Created, 1))
	s.EventsPerJob = float64(events) / jobs
	s.WritesPerJob = (after.Writes()-before.Writes())/jobs - s.EventsPerJob
	s.Reconciles = after.Sum("controller_runtime_reconcile_total") - before.Sum("controller_runtime_reconcile_total")
	s.Errors = after.Sum("controller_runtime_reconcile_errors_total") - before.Sum("controller_runtime_reconcile_errors_total")
	// JSON has no word for what is not a number.
	if p99 := after.Quantile(0.99, before, "controller_runtime_reconcile_time_seconds"); !math.IsNaN(p99) && !math.IsInf(p99, 0) {
		s.ReconcileP99 = p99
	}
}

// Verdict judges nothing: a side whose jobs failed is not complete.
func (Report) Verdict() error { return nil }

// reached is a time, or that it did not come while it was measured.
func (s Side) reached(seconds float64) string {
	if seconds == 0 {
		return fmt.Sprintf("not in %.1f s", s.Seconds)
	}
	return fmt.Sprintf("%.1f s", seconds)
}

// Print writes a table for people.
func (r Report) Print(out io.Writer) {
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "\n(simulated nodes, no policy engine)\tJOBS\tCOMPLETE\tALL JOBSETS\tALL COMPLETE\tWRITES/JOB\tEVENTS/JOB\tPEAK MB\tRECONCILE p99\tRECONCILES\tERRORS")
	for _, row := range []struct {
		name string
		Side
	}{{"lockstep", r.Lockstep}, {"stock", r.Stock}} {
		if row.Jobs > 0 {
			_, _ = fmt.Fprintf(table, "%s\t%d × %d\t%d\t%s\t%s\t%.1f\t%.1f\t%.0f\t≤ %g s\t%.0f\t%.0f\n", row.name, row.Jobs, row.NodesPerJob, row.Complete,
				row.reached(row.AllJobSetsSeconds), row.reached(row.CompleteSeconds), row.WritesPerJob, row.EventsPerJob, row.PeakMegabytes, row.ReconcileP99, row.Reconciles, row.Errors)
		}
	}
	_ = table.Flush()
}
