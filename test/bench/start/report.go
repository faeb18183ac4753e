package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
	"time"

	"lockstep.dev/lockstep/test/testjob"
)

// Report is both sides.
type Report struct {
	Lockstep Side `json:"lockstep"`
	Stock    Side `json:"stock"`
}

// Side is all starts of one controller. Its own numbers are those of its first series: two nodes, fresh names, Open MPI 4.
type Side struct {
	FirstRankSeconds []float64 `json:"firstRankSeconds"`
	// LauncherRestarts is the sum over all series.
	LauncherRestarts int      `json:"launcherRestarts"`
	Series           []Series `json:"series"`
}

func (s *Side) add(series Series) {
	if len(s.Series) == 0 {
		s.FirstRankSeconds = series.FirstRankSeconds
	}
	s.Series = append(s.Series, series)
	s.LauncherRestarts += series.LauncherRestarts
}

// Series is the starts of one runtime under one kind of name.
type Series struct {
	Runtime          string    `json:"runtime"`
	Names            string    `json:"names"`
	Nodes            int       `json:"nodes"`
	FirstRankSeconds []float64 `json:"firstRankSeconds"`
	CompleteSeconds  []float64 `json:"completeSeconds"`
	LauncherRestarts int       `json:"launcherRestarts"`
	// NeverRan counts jobs that are Complete without a rank; their FirstRankSeconds are 0. Stock Trainer takes the end of an
	// earlier job of the name for theirs.
	NeverRan int `json:"neverRan"`
	// Timings are the medians of when each state was first seen, in seconds since the creation.
	Timings []Timing `json:"phases"`

	seen map[string][]float64
}

// Timing is a state on the way to the first rank.
type Timing struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

func (s *Series) add(r testjob.Result) {
	s.FirstRankSeconds = append(s.FirstRankSeconds, r.FirstRank.Seconds())
	s.CompleteSeconds = append(s.CompleteSeconds, r.End.Seconds())
	s.LauncherRestarts += r.LauncherRestarts
	if r.FirstRank == 0 {
		s.NeverRan++
		return
	}
	if s.seen == nil {
		s.seen = map[string][]float64{}
	}
	for _, timing := range timingsOf(r) {
		s.seen[timing.Name] = append(s.seen[timing.Name], timing.Seconds)
	}
	s.Timings = nil
	for _, timing := range timingsOf(r) {
		s.Timings = append(s.Timings, Timing{timing.Name, quantile(s.seen[timing.Name], 0.5)})
	}
}

func timingsOf(r testjob.Result) []Timing {
	at := func(name string, d time.Duration) Timing { return Timing{name, d.Seconds()} }
	return []Timing{
		at("JobSet", r.Timings.JobSet), at("all pods", r.Timings.Pods), at("all scheduled", r.Timings.Scheduled),
		at("all addresses", r.Timings.Addresses), at("first rank", r.FirstRank),
	}
}

// ran returns the seconds of those that had a rank.
func (s Series) ran() []float64 {
	return slices.DeleteFunc(slices.Clone(s.FirstRankSeconds), func(seconds float64) bool { return seconds == 0 })
}

// quantile is by the nearest rank: a number that was measured.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}

// Verdict judges nothing: jobs of ours that failed have ended the program before.
func (Report) Verdict() error { return nil }

// Print writes a table for people.
func (r Report) Print(out io.Writer) {
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "\nSIDE\tRUNTIME\tNODES\tNAMES\tFIRST RANK p50\tp95\tworst\tCOMPLETE p50\tRESTARTS\tNEVER RAN")
	for side, s := range map[string]Side{"lockstep": r.Lockstep, "stock": r.Stock} {
		for _, series := range s.Series {
			_, _ = fmt.Fprintf(table, "%s\t%s\n", side, series.row())
		}
	}
	_ = table.Flush()
}

func printLine(out io.Writer, s Series) {
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, s.row())
	_ = table.Flush()
}

func (s Series) row() string {
	first := s.ran()
	return fmt.Sprintf("%s\t%d\t%s\t%.2f s\t%.2f s\t%.2f s\t%.2f s\t%d\t%d", s.Runtime, s.Nodes, s.Names,
		quantile(first, 0.5), quantile(first, 0.95), quantile(first, 1), quantile(s.CompleteSeconds, 0.5), s.LauncherRestarts, s.NeverRan)
}
