package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"lockstep.dev/lockstep/test/bench"
	"lockstep.dev/lockstep/test/platform"
)

// Report is what a soak showed.
type Report struct {
	// Tally is of the jobs after the first round.
	bench.Tally
	FirstRound bench.Tally `json:"firstRound"`
	Concurrent int         `json:"concurrent"`
	// Seconds are those of the jobs after the first round.
	Seconds float64 `json:"seconds"`
	// WritesPerJob are requests of the controller that change something between the two readings, leases included, for each job.
	// EventsPerJob are apart: requests for events, which the API server keeps for an hour.
	WritesPerJob float64 `json:"writesPerJob"`
	EventsPerJob float64 `json:"eventsPerJob"`
	// RequestSeconds is how long the API server took for a request between both readings, whoever asked, watches and streams aside.
	RequestSeconds Latency `json:"requestSeconds"`
	// Before and After are zero where the soak was cut off before them.
	Before Reading `json:"before"`
	After  Reading `json:"after"`
}

// Latency is in upper bounds of the buckets that the API server counts in: the truth is at most that. It is 0 where nothing was counted.
type Latency struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// Reading is the controller at rest.
type Reading struct {
	Goroutines        float64 `json:"goroutines"`
	ResidentMegabytes float64 `json:"residentMegabytes"`
	HeapMegabytes     float64 `json:"heapMegabytes"`
	// Watches are those of all clients of the API server; nothing but the controller changes between readings.
	Watches float64 `json:"watches"`
	// Series are those of the controller's metrics that name a job.
	Series  int      `json:"jobSeries"`
	Orphans []string `json:"orphans"`
	// writes are all requests of the controller that change something, since it started.
	writes float64
	server platform.Metrics
}

// settle counts what the jobs between both readings cost the API server.
func (r *Report) settle(events int) {
	jobs := float64(max(r.Created, 1))
	r.EventsPerJob = float64(events) / jobs
	r.WritesPerJob = (r.After.writes-r.Before.writes)/jobs - r.EventsPerJob
	quantile := func(q float64) float64 {
		seconds := r.After.server.Quantile(q, r.Before.server, "apiserver_request_duration_seconds", requestVerbs...)
		if math.IsNaN(seconds) {
			return 0
		}
		return seconds
	}
	r.RequestSeconds = Latency{P50: quantile(0.5), P99: quantile(0.99)}
}

// requestVerbs are those of requests that end by themselves, as pairs of a label and a value.
var requestVerbs = []string{"verb", "GET", "verb", "LIST", "verb", "POST", "verb", "PUT", "verb", "PATCH", "verb", "DELETE", "verb", "DELETECOLLECTION", "verb", "APPLY"}

// tolerance is what may come and go: pools of connections, the heap between two collections.
const tolerance = 1.25

// Verdict names what leaked.
func (r Report) Verdict() error {
	var errs []error
	grew := func(what string, before, after float64) {
		if after > before*tolerance {
			errs = append(errs, fmt.Errorf("%s grew from %.0f to %.0f", what, before, after))
		}
	}
	grew("goroutines", r.Before.Goroutines, r.After.Goroutines)
	grew("memory in MB", r.Before.ResidentMegabytes, r.After.ResidentMegabytes)
	grew("watches", r.Before.Watches, r.After.Watches)
	grew("series of jobs", float64(r.Before.Series), float64(r.After.Series))
	if n := len(r.After.Orphans); n > 0 {
		errs = append(errs, fmt.Errorf("%d objects outlive their jobs: %v", n, r.After.Orphans[:min(n, 10)]))
	}
	return errors.Join(append(errs, r.FirstRound.Err(), r.Err())...)
}

// Print writes a table for people.
func (r Report) Print(out io.Writer) {
	_, _ = fmt.Fprintf(out, "\n%d of %d jobs complete, %d at the same time, in %.0f s; %d failed, and %d of %d in the first round\n",
		r.Complete, r.Jobs, r.Concurrent, r.Seconds, r.Failed, r.FirstRound.Failed, r.FirstRound.Jobs)
	_, _ = fmt.Fprintf(out, "%.1f writes and %.1f events per job; a request to the API server took %.0f ms (p50) to %.0f ms (p99) at most\n",
		r.WritesPerJob, r.EventsPerJob, r.RequestSeconds.P50*1000, r.RequestSeconds.P99*1000)
	for _, failure := range slices.Concat(r.FirstRound.Failures, r.Failures) {
		_, _ = fmt.Fprintf(out, "failed: %s\n", failure)
	}
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "AT REST\tGOROUTINES\tRESIDENT MB\tHEAP MB\tWATCHES\tSERIES\tORPHANS")
	for _, row := range []struct {
		name string
		Reading
	}{{"before", r.Before}, {"after", r.After}} {
		reading := row.Reading
		_, _ = fmt.Fprintf(table, "%s\t%.0f\t%.0f\t%.0f\t%.0f\t%d\t%d\n", row.name, reading.Goroutines, reading.ResidentMegabytes, reading.HeapMegabytes,
			reading.Watches, reading.Series, len(reading.Orphans))
	}
	_ = table.Flush()
}
