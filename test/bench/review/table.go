package main

import (
	"fmt"
	"io"
	"strings"

	"lockstep.dev/lockstep/test/bench/series"
	"lockstep.dev/lockstep/test/bench/tool"
)

const mega = 1e6

// target is a line of what is promised, and how it is read from a series of ours.
type target struct {
	what, scenario, promise string
	measured                func(*Series) (value string, kept bool)
}

func targets() []target {
	fast, second, small := within(0.1), within(1), memory(128)
	return []target{
		{"`diff`, one tenant changed, folders", oneFolders, "≤ 100 ms", fast},
		{"`diff`, one tenant changed, git revisions", oneRevisions, "≤ 100 ms", fast},
		{"`diff`, one line opens egress for all, cold", opened, "≤ 1 s", second},
		{"the same, peak memory", opened, "≤ 128 MB", small},
		{"the same, lines of text", opened, fmt.Sprintf("≤ %d", maxLines), func(s *Series) (string, bool) { return fmt.Sprint(s.Lines), s.Lines <= maxLines }},
		{"`diff`, image of a runtime, cold", image, "≤ 1 s", second},
		{"the same, peak memory", image, "≤ 128 MB", small},
	}
}

// within promises a wall time in seconds.
func within(limit float64) func(*Series) (string, bool) {
	return func(s *Series) (string, bool) {
		return fmt.Sprintf("%.4g ms", s.Wall.Median*1000), s.Wall.Median <= limit
	}
}

// memory promises a peak in megabytes.
func memory(limit float64) func(*Series) (string, bool) {
	return func(s *Series) (string, bool) {
		peak := s.PeakRSS.Median / mega
		return fmt.Sprintf("%.0f MB", peak), peak <= limit
	}
}

// WriteTable writes the numbers as Markdown: the targets, then every series.
func (r *Report) WriteTable(w io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s The line that opens egress for %d tenants was found to be %d critical entry, at that line, in %d lines of text.\n",
		r.Machine, r.Opened.Tenants, r.Opened.Entries, r.Opened.Lines)
	text.WriteString("\n| | target | measured | |\n|---|---|---|---|\n")
	for _, t := range targets() {
		value, verdict := "–", "not measured"
		if s := r.find(tool.Compiler, t.scenario); s != nil && s.Objects >= series.LeastObjects {
			var kept bool
			value, kept = t.measured(s)
			verdict = map[bool]string{true: "kept", false: "**missed**"}[kept]
		}
		fmt.Fprintf(&text, "| %s | %s | %s | %s |\n", t.what, t.promise, value, verdict)
	}
	text.WriteString("\n| scenario | tool | tenants | objects | wall s: median (min–max) | CPU s: median (min–max) | peak memory MB | lines to read |\n")
	text.WriteString("|---|---|---|---|---|---|---|---|\n")
	for i := range r.Series {
		r.Series[i].row(&text, r)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func (s *Series) row(text *strings.Builder, r *Report) {
	scenario, wall := s.Scenario, s.Wall.Times(1)
	if s.stopped() {
		wall = fmt.Sprintf("more than %.3g: dyff was stopped at its limit", s.Wall.Min)
	}
	fmt.Fprintf(text, "| %s | %s | %d | %d | %s | %s | %.0f (%.0f–%.0f) | %d |\n", scenario, tool.Named(r.Tools, s.Tool), s.Tenants, s.Objects,
		wall, s.CPU.Times(1), s.PeakRSS.Median/mega, s.PeakRSS.Min/mega, s.PeakRSS.Max/mega, s.Lines)
}
