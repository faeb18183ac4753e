package main

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"text/tabwriter"

	"lockstep.dev/lockstep/test/bench/sides"
)

// Report is both sides, by number of pods.
type Report struct {
	Lockstep []Size `json:"lockstep"`
	Stock    []Size `json:"stock"`
}

// Size is what jobs of one number of pods took.
type Size struct {
	Pods int `json:"pods"`
	// Strong are seconds of the same work for all ranks together, Weak of the same for each rank.
	Strong []float64 `json:"strongSeconds"`
	Weak   []float64 `json:"weakSeconds"`
	// HPCC are seconds of the whole HPC Challenge, its launch included.
	HPCC []float64 `json:"hpccSeconds"`
	// Share is how much of a processor process 1 of a pod took while ranks ran, 0 to 1.
	Share float64 `json:"share"`
}

// ticksPerSecond is USER_HZ, by which Linux counts the time of processors for programs.
const ticksPerSecond = 100

var measured = regexp.MustCompile(`(?m)^measure (strong|weak|hpcc|ticks|wall) ([0-9.]+)$`)

// read takes the numbers out of the launcher's log.
func (s *Size) read(log string) error {
	once := map[string]float64{}
	for _, m := range measured.FindAllStringSubmatch(log, -1) {
		value, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return err
		}
		switch m[1] {
		case "hpcc":
			s.HPCC = append(s.HPCC, value)
		case "strong":
			s.Strong = append(s.Strong, value)
		case "weak":
			s.Weak = append(s.Weak, value)
		default:
			once[m[1]] = value
		}
	}
	if len(s.Strong) == 0 || len(s.Strong) != len(s.Weak) || len(s.Strong) != len(s.HPCC) || once["wall"] == 0 {
		return fmt.Errorf("the launcher measured %d, %d and %d times in %.0f s: want equal numbers, and more than none", len(s.Strong), len(s.Weak), len(s.HPCC), once["wall"])
	}
	s.Share = once["ticks"] / ticksPerSecond / once["wall"] / float64(s.Pods)
	return nil
}

// Row is for people who wait.
func (s Size) Row() string {
	return fmt.Sprintf("%d pods\tstrong %.2f s\tweak %.2f s\tHPCC %.2f s\tprocess 1 %.2f %%", s.Pods, sides.Median(s.Strong), sides.Median(s.Weak), sides.Median(s.HPCC), 100*s.Share)
}

// Verdict judges nothing: jobs that failed have ended the program before.
func (Report) Verdict() error { return nil }

// Print writes a table for people.
func (r Report) Print(out io.Writer) {
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "\nPODS\tSTRONG agent\tssh\tratio\tWEAK agent\tssh\tratio\tHPCC agent\tssh\tratio\tPROCESS 1 agent\tsshd")
	for i, ours := range r.Lockstep {
		if i >= len(r.Stock) {
			break
		}
		theirs := r.Stock[i]
		_, _ = fmt.Fprintf(table, "%d", ours.Pods)
		for _, pair := range [][2][]float64{{ours.Strong, theirs.Strong}, {ours.Weak, theirs.Weak}, {ours.HPCC, theirs.HPCC}} {
			a, b := sides.Median(pair[0]), sides.Median(pair[1])
			_, _ = fmt.Fprintf(table, "\t%.2f s\t%.2f s\t%.3f", a, b, a/b)
		}
		_, _ = fmt.Fprintf(table, "\t%.2f %%\t%.2f %%\n", 100*ours.Share, 100*theirs.Share)
	}
	_ = table.Flush()
}
