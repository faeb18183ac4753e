package main

import (
	"fmt"
	"io"
	"strings"

	"lockstep.dev/lockstep/test/bench/series"
	"lockstep.dev/lockstep/test/bench/tool"
)

// target is a line of the issue: what is promised, and how it is read from a report.
type target struct {
	what, promise string
	// measured returns the value to print and whether the promise is kept; ok is false where nothing was measured.
	measured func(r *Report) (value string, kept, ok bool)
}

const (
	compiler = tool.Compiler
	mega     = 1e6
)

// atMost promises that a time of a series is at most a number of milliseconds.
func atMost(scenario string, limit float64, seconds func(*Series) float64) func(*Report) (string, bool, bool) {
	return func(r *Report) (string, bool, bool) {
		s := r.find(compiler, scenario, 0)
		if s == nil {
			return "", false, false
		}
		took := seconds(s) * 1000
		return fmt.Sprintf("%.4g ms", took), took <= limit, true
	}
}

func medianCPU(s *Series) float64  { return s.CPU.Median }
func medianWall(s *Series) float64 { return s.Wall.Median }

func targets() []target {
	return []target{
		{"full build, objects per CPU second, checks and proofs included", "≥ 60,000", throughput},
		{"full build, CPU of Helm / ours", "≥ 6", againstHelm},
		{"full build, peak memory at 45,000 objects", "≤ 96 MB", memory},
		{"peak memory per object: most tenants / 1,000 tenants", "≤ 1.05 (linear)", linear},
		{"one tenant changed, CPU", "≤ 150 ms", atMost(oneTenant, 150, medianCPU)},
		{"no change, CPU", "≤ 40 ms", atMost(noChange, 40, medianCPU)},
		{"10 tenants, wall", "≤ 15 ms", atMost(tenTenants, 15, medianWall)},
	}
}

func throughput(r *Report) (string, bool, bool) {
	s := r.find(compiler, fullBuild, 0)
	if s == nil {
		return "", false, false
	}
	return fmt.Sprintf("%.0f", s.PerCPUSecond), s.PerCPUSecond >= 60000, true
}

func againstHelm(r *Report) (string, bool, bool) {
	us, helm := r.find(compiler, fullBuild, 0), r.find("helm", fullBuild, 0)
	if us == nil || helm == nil {
		return "", false, false
	}
	ratio := helm.TotalCPU() / us.TotalCPU()
	return fmt.Sprintf("%.1f", ratio), ratio >= 6, true
}

func memory(r *Report) (string, bool, bool) {
	s := r.find(compiler, fullBuild, 0)
	if s == nil || s.Objects < series.LeastObjects {
		return "", false, false
	}
	peak := s.PeakRSS.Median / mega
	return fmt.Sprintf("%.0f MB at %d objects", peak, s.Objects), peak <= 96, true
}

func linear(r *Report) (string, bool, bool) {
	base := r.find(compiler, growthBuild, 1000)
	largest := base
	for i := range r.Series {
		if s := &r.Series[i]; largest != nil && s.Scenario == growthBuild && s.Tenants > largest.Tenants {
			largest = s
		}
	}
	if largest == base {
		return "", false, false
	}
	ratio := (largest.PeakRSS.Median / float64(largest.Objects)) / (base.PeakRSS.Median / float64(base.Objects))
	return fmt.Sprintf("%.2f at %d tenants", ratio, largest.Tenants), ratio <= 1.05, true
}

// WriteTable writes the numbers as Markdown: the targets, then every series.
func (r *Report) WriteTable(w io.Writer) error {
	var text strings.Builder
	text.WriteString(r.Machine.String())
	if r.Compared > 0 {
		fmt.Fprintf(&text, " Before measuring, %d objects were found equal between all tools.", r.Compared)
	}
	text.WriteString("\n\n| | target | measured | |\n|---|---|---|---|\n")
	for _, t := range targets() {
		value, kept, ok := t.measured(r)
		verdict := "missed"
		switch {
		case !ok:
			value, verdict = "–", "not measured"
		case kept:
			verdict = "kept"
		}
		fmt.Fprintf(&text, "| %s | %s | %s | %s |\n", t.what, t.promise, value, verdict)
	}
	text.WriteString("\n| scenario | tool | workers | tenants | objects | CPU s: median (min–max) | wall s: median (min–max) | peak memory MB | objects per CPU s |\n")
	text.WriteString("|---|---|---|---|---|---|---|---|---|\n")
	for i := range r.Series {
		r.Series[i].row(&text, r)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func (s *Series) row(text *strings.Builder, r *Report) {
	workers, note := "own choice", ""
	if s.Workers > 0 {
		workers = fmt.Sprint(s.Workers)
	}
	if s.Tool != compiler {
		workers = "–"
	}
	if s.Factor > 1 {
		note = fmt.Sprintf(" (extrapolated: a sample × %.3g)", s.Factor)
	}
	perSecond := "–"
	if s.Scenario == fullBuild || s.Scenario == checkOnly || s.Scenario == growthBuild || s.Scenario == tenTenants {
		perSecond = fmt.Sprintf("%.0f", s.PerCPUSecond)
	}
	fmt.Fprintf(text, "| %s%s | %s | %s | %d | %d | %s | %s | %.0f | %s |\n", s.Scenario, note, tool.Named(r.Tools, s.Tool), workers, s.Tenants, s.Objects,
		s.CPU.Times(s.Factor), s.Wall.Times(s.Factor), s.PeakRSS.Median/mega, perSecond)
}
