package main

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"text/tabwriter"

	"lockstep.dev/lockstep/test/bench/sides"
)

// Report is both sides, by width.
type Report struct {
	Lockstep []Launches `json:"lockstep"`
	Stock    []Launches `json:"stock"`
}

// Launches are the seconds that each thing took in one job.
type Launches struct {
	Pods int `json:"pods"`
	// Bare is as many commands as pods, at the same time, through the remote shell.
	Bare []float64 `json:"bareSeconds"`
	// Mpirun is `mpirun hostname` from start to end.
	Mpirun []float64 `json:"mpirunSeconds"`
	// Init is from the start of mpirun until all ranks have come through MPI_Init and an Allreduce.
	Init []float64 `json:"initSeconds"`
}

var measured = regexp.MustCompile(`(?m)^measure (bare|mpirun|init) (\d+)$`)

// read takes the numbers out of the launcher's log.
func (l *Launches) read(log string) error {
	for _, m := range measured.FindAllStringSubmatch(log, -1) {
		microseconds, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return err
		}
		into := map[string]*[]float64{"bare": &l.Bare, "mpirun": &l.Mpirun, "init": &l.Init}[m[1]]
		*into = append(*into, microseconds/1e6)
	}
	if len(l.Bare) == 0 || len(l.Bare) != len(l.Mpirun) || len(l.Bare) != len(l.Init) {
		return fmt.Errorf("the launcher measured %d, %d and %d times: want equal numbers, and more than none", len(l.Bare), len(l.Mpirun), len(l.Init))
	}
	return nil
}

// Row is for people who wait.
func (l Launches) Row() string {
	return fmt.Sprintf("%d pods\tbare %.2f s\tmpirun %.2f s\tinit %.2f s", l.Pods, sides.Median(l.Bare), sides.Median(l.Mpirun), sides.Median(l.Init))
}

// Verdict judges nothing: jobs that failed have ended the program before.
func (Report) Verdict() error { return nil }

// Print writes a table for people.
func (r Report) Print(out io.Writer) {
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "\nPODS\tBARE agent\tssh\tratio\tMPIRUN agent\tssh\tratio\tINIT agent\tssh\tratio")
	for i, ours := range r.Lockstep {
		if i >= len(r.Stock) {
			break
		}
		theirs := r.Stock[i]
		_, _ = fmt.Fprintf(table, "%d", ours.Pods)
		for _, pair := range [][2][]float64{{ours.Bare, theirs.Bare}, {ours.Mpirun, theirs.Mpirun}, {ours.Init, theirs.Init}} {
			a, b := sides.Median(pair[0]), sides.Median(pair[1])
			_, _ = fmt.Fprintf(table, "\t%.2f s\t%.2f s\t%.2f", a, b, a/b)
		}
		_, _ = fmt.Fprintln(table)
	}
	_ = table.Flush()
}
