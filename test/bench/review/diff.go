package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"lockstep.dev/lockstep/test/bench/meter"
	"lockstep.dev/lockstep/test/bench/series"
	"lockstep.dev/lockstep/test/bench/tool"
)

func (s *site) series(name, scenario string) Series {
	objects := s.objects
	if scenario == opened {
		objects = s.narrowed
	}
	return Series{Tool: name, Scenario: scenario, Tenants: len(s.Tenants), Clusters: len(s.Clusters), Objects: objects}
}

// ours is a plan of one command of the compiler, which prints to a file.
func (b *bench) ours(s *site, scenario string, args ...string) *plan {
	out := b.output("report.txt")
	command := meter.Command{Args: append([]string{b.Compiler.Path}, args...), Stdout: out}
	return &plan{
		Series:  s.series(tool.Compiler, scenario),
		Plan:    series.Plan{Commands: func(int) []meter.Command { return []meter.Command{command} }},
		printed: []string{out},
	}
}

func (b *bench) diffPlan(s *site, scenario, from, to string) *plan {
	return b.ours(s, scenario, "diff", "--from", from, "--to", to)
}

func (b *bench) diffPlans(s *site) []*plan {
	return []*plan{
		b.diffPlan(s, oneFolders, s.base, s.oneTenant),
		b.diffPlan(s, opened, s.narrow, s.open),
		b.diffPlan(s, image, s.base, s.image),
		b.diffPlan(s, noChange, s.base, s.same),
	}
}

// review is what diff says in JSON.
type review struct {
	Worst   string  `json:"worst"`
	Entries []entry `json:"entries"`
}

type entry struct {
	Consequence string `json:"consequence"`
	Severity    string `json:"severity"`
	After       struct {
		File string `json:"file"`
		Line int    `json:"line"`
	} `json:"after"`
	Blast struct {
		Tenants []string `json:"tenants"`
	} `json:"blast"`
}

// maxLines are how many lines the report of a line that opens egress for all may have.
const maxLines = 40

// opens compares the two states that differ in one line, and checks that the report is what a reviewer must see.
func (b *bench) opens(ctx context.Context, s *site) (Opened, error) {
	args := []string{"diff", "--from", s.narrow, "--to", s.open}
	out := b.output("opened.txt")
	if _, err := b.Meter.Measure(ctx, meter.Command{Args: append([]string{b.Compiler.Path}, args...), Stdout: out}); err != nil {
		return Opened{}, err
	}
	n, err := lines([]string{out})
	if err != nil {
		return Opened{}, err
	}
	cmd := exec.CommandContext(ctx, b.Compiler.Path, append(args, "-o", "json")...) //nolint:gosec // the compiler that we measure
	cmd.Stderr = os.Stderr
	data, err := cmd.Output()
	if err != nil {
		return Opened{}, err
	}
	var r review
	if err := json.Unmarshal(data, &r); err != nil {
		return Opened{}, fmt.Errorf("read the report of diff: %w", err)
	}
	return Opened{Entries: len(r.Entries), Lines: n, Tenants: len(s.Tenants)}, r.opens(s.overlay, s.line, len(s.Tenants), n)
}

// opens returns what is wrong with the report of a line of a file that opens egress for all tenants.
func (r *review) opens(file string, line, tenants, lines int) error {
	if len(r.Entries) != 1 {
		return fmt.Errorf("the line that opens egress for all is %d entries, not one", len(r.Entries))
	}
	e, wrong := &r.Entries[0], []error{}
	if r.Worst != "critical" || e.Severity != "critical" || e.Consequence != "opens-network" {
		wrong = append(wrong, fmt.Errorf("it is %s and %s, not critical and opens-network", e.Severity, e.Consequence))
	}
	if e.After.File != file || e.After.Line != line {
		wrong = append(wrong, fmt.Errorf("it is at %s:%d, not %s:%d", e.After.File, e.After.Line, file, line))
	}
	if len(e.Blast.Tenants) != tenants {
		wrong = append(wrong, fmt.Errorf("it is for %d tenants, not %d", len(e.Blast.Tenants), tenants))
	}
	if lines > maxLines {
		wrong = append(wrong, fmt.Errorf("it takes %d lines of text, more than %d", lines, maxLines))
	}
	if len(wrong) > 0 {
		return fmt.Errorf("the line that opens egress for all: %w", errors.Join(wrong...))
	}
	return nil
}
