package main

import (
	"strings"
	"testing"

	"lockstep.dev/lockstep/test/bench/meter"
	"lockstep.dev/lockstep/test/bench/tool"
)

func taken(name, scenario string, tenants, objects int, walls ...float64) Series {
	s := Series{Tool: name, Scenario: scenario, Tenants: tenants, Objects: objects, Lines: 21}
	for _, seconds := range walls {
		s.Runs = append(s.Runs, meter.Usage{User: 2 * seconds, Wall: seconds, PeakRSS: int64(objects) * 3000})
	}
	s.Summarize()
	return s
}

// TestTable: promises are judged by the median of the large workload, what was not measured is not called missed, and a run that was
// stopped says so.
func TestTable(t *testing.T) {
	peer := taken("helm + dyff", opened, 1000, 45000, 600)
	peer.Runs[0].Stopped = true
	report := &Report{
		Tools:  []tool.Tool{{Name: tool.Compiler, Version: "v0"}, {Name: "helm", Version: "v3.1.0"}, {Name: "dyff", Version: "v1.2.0"}},
		Opened: Opened{Tenants: 1000, Entries: 1, Lines: 21},
		Series: []Series{
			taken(tool.Compiler, opened, 100, 4500, 9),
			taken(tool.Compiler, oneFolders, 1000, 45000, 0.05, 9, 0.04),
			taken(tool.Compiler, opened, 1000, 45000, 2, 1.5),
			taken(tool.Compiler, noChange, 1000, 45000, 0.1),
			peer,
		},
	}
	var text strings.Builder
	if err := report.WriteTable(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"for 1000 tenants was found to be 1 critical entry, at that line, in 21 lines of text",
		"| `diff`, one tenant changed, folders | ≤ 100 ms | 50 ms | kept |",
		"| `diff`, one line opens egress for all, cold | ≤ 1 s | 1750 ms | **missed** |",
		"| the same, peak memory | ≤ 128 MB | 135 MB | **missed** |",
		"| the same, lines of text | ≤ 40 | 21 | kept |",
		"| `diff`, one tenant changed, git revisions | ≤ 100 ms | – | not measured |",
		"| one line opens egress for all tenants | helm v3.1.0 + dyff v1.2.0 | 1000 | 45000 | more than 600: dyff was stopped at its limit |",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the table does not have %q", want)
		}
	}
	if t.Failed() {
		t.Log(text.String())
	}
}

// TestSmall: a small workload judges nothing.
func TestSmall(t *testing.T) {
	report := &Report{Series: []Series{taken(tool.Compiler, oneFolders, 10, 500, 3)}}
	var text strings.Builder
	if err := report.WriteTable(&text); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String(), "missed") || strings.Contains(text.String(), "kept") {
		t.Errorf("500 objects were judged:\n%s", text.String())
	}
}
