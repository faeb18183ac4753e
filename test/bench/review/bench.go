package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"

	"lockstep.dev/lockstep/test/bench/series"
	"lockstep.dev/lockstep/test/bench/tool"
)

// bench is a run of this program.
type bench struct {
	*series.Bench
	o options
}

func newBench(ctx context.Context, o options) (*bench, error) {
	opened, err := series.Open(ctx, name, &o.Options, func(say func(string, ...any)) (map[string]tool.Tool, error) {
		return buildPeers(ctx, o.peers, say)
	})
	return &bench{opened, o}, err
}

func (b *bench) run(ctx context.Context, report *Report) (err error) {
	report.Tools = b.Tools("helm", "dyff")
	if report.Machine, err = series.Here(ctx, b.Dir, b.Meter); err != nil {
		return err
	}
	plans, err := b.plans(ctx, report)
	if err != nil {
		return err
	}
	if err := b.take(ctx, plans); err != nil {
		return err
	}
	for _, p := range plans {
		p.Summarize()
		report.Series = append(report.Series, p.Series)
	}
	report.Machine.LoadAfter = series.Load()
	return nil
}

// plans prepares everything that is measured in turns. It checks what the line that opens egress means to the compiler.
func (b *bench) plans(ctx context.Context, report *Report) (plans []*plan, err error) {
	work, err := b.site(ctx, b.o.Tenants)
	if err != nil {
		return nil, err
	}
	if report.Opened, err = b.opens(ctx, work); err != nil {
		return nil, err
	}
	fresh := filepath.Join(b.Dir, "fresh")
	if err := work.repository(ctx, fresh); err != nil {
		return nil, err
	}
	revisions := b.ours(work, oneRevisions, "diff", "--root", fresh, "--from", "HEAD~1", "--to", "HEAD")
	plans = append(b.diffPlans(work), revisions)
	if b.o.Alone {
		return plans, nil
	}
	small, err := b.site(ctx, b.o.small)
	if err != nil {
		return nil, err
	}
	plans = append(plans, b.diffPlan(small, opened, small.narrow, small.open))
	plans = append(plans, b.peerPlans(work)...)
	return append(plans, b.peerPlans(small)...), nil
}

// plan is a series and how to take one run of it.
type plan struct {
	Series
	series.Plan
	// printed are the files that the commands write what people would read to.
	printed []string
}

// take measures all plans, one run of each after the other, after a run of each that does not count.
func (b *bench) take(ctx context.Context, plans []*plan) error {
	for i := -1; i < b.o.Runs; i++ {
		for _, p := range plans {
			if p.stopped() { // at its limit, and would be again
				continue
			}
			p.Name = p.Tool + ", " + p.Scenario
			u, err := p.Once(ctx, b.Meter, i+1)
			if err != nil {
				return err
			}
			if i >= 0 || u.Stopped {
				p.Runs = append(p.Runs, u)
			}
			if p.Lines, err = lines(p.printed); err != nil {
				return err
			}
		}
		b.Say("run %d of %d done", i+1, b.o.Runs)
	}
	return nil
}

func (s *Series) stopped() bool {
	for _, u := range s.Runs {
		if u.Stopped {
			return true
		}
	}
	return false
}

// lines is how many lines files have.
func lines(files []string) (n int, err error) {
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return 0, err
		}
		n += bytes.Count(data, []byte("\n"))
	}
	return n, nil
}

// output returns the name of a file that a command may print to.
func (b *bench) output(name string) string { return filepath.Join(b.Dir, name) }
