package main

import (
	"strings"
	"testing"

	"lockstep.dev/lockstep/test/bench/meter"
	"lockstep.dev/lockstep/test/bench/tool"
)

func taken(tool, scenario string, tenants, objects int, factor float64, cpu ...float64) Series {
	s := Series{Tool: tool, Scenario: scenario, Tenants: tenants, Objects: objects, Factor: factor}
	for _, seconds := range cpu {
		s.Runs = append(s.Runs, meter.Usage{User: seconds, Wall: seconds, PeakRSS: int64(objects) * 1000})
	}
	s.summarize()
	return s
}

// TestTable: promises are judged by the median run, an extrapolation says that it is one, and what was not measured is not called
// missed.
func TestTable(t *testing.T) {
	report := &Report{
		Tools: []tool.Tool{{Name: compiler}, {Name: "helm", Version: "v3.1.0"}, {Name: "kustomize", Version: "v5.0.0"}},
		Series: []Series{
			taken(compiler, fullBuild, 1000, 45000, 1, 0.5, 9, 0.4),
			taken(compiler, noChange, 1000, 45000, 1, 0.060, 0.041, 0.042),
			taken("helm", fullBuild, 1000, 45000, 1, 4, 5, 3),
			taken("kustomize", fullBuild, 1000, 45000, 50, 2),
			taken(compiler, growthBuild, 1000, 45000, 1, 0.5),
			taken(compiler, growthBuild, 10000, 450000, 1, 5),
		},
	}
	var text strings.Builder
	if err := report.WriteTable(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| 90000 | kept |", "| 8.0 | kept |", "| 45 MB at 45000 objects | kept |", "| 1.00 at 10000 tenants | kept |",
		"| 42 ms | missed |", "| 10 tenants, wall | ≤ 15 ms | – | not measured |",
		"| full build (extrapolated: a sample × 50) | kustomize v5.0.0 | – | 1000 | 45000 | 100 (100–100) |",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the table does not have %q", want)
		}
	}
	if t.Failed() {
		t.Log(text.String())
	}
}
