package main

import (
	"strings"
	"testing"

	"lockstep.dev/lockstep/test/bench/series"
)

func TestVerdict(t *testing.T) {
	slow := Command{Name: "kubectl-mpi list", Target: 1, Usage: series.Usage{Wall: series.Spread{Min: 0.5, Median: 1.5, Max: 2}}}
	others := Command{Name: "kubectl version", Usage: slow.Usage}
	r := Report{Requests: 5, Commands: []Command{others}}
	if err := r.Verdict(); err != nil {
		t.Error(err)
	}
	r.Requests, r.Commands = 6, []Command{slow, others}
	if err := r.Verdict(); err == nil || !strings.Contains(err.Error(), "`kubectl-mpi list` takes 1500 ms") || !strings.Contains(err.Error(), "asks 6 times") {
		t.Error(err)
	}
	var out strings.Builder
	if r.Print(&out); !strings.Contains(out.String(), "| `kubectl-mpi list` | ≤ 1000 | 1.5e+03 (500–2e+03) |") {
		t.Error(out.String())
	}
}
