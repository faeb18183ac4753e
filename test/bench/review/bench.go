package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"lockstep.dev/lockstep/test/bench/meter"
	"lockstep.dev/lockstep/test/bench/series"
	"lockstep.dev/lockstep/test/bench/tool"
)

// bench is a run of this program.
type bench struct {
	o        options
	dir      string
	compiler tool.Tool
	peers    map[string]tool.Tool
	meter    *meter.Meter
}

func (b *bench) say(format string, args ...any) {
	_, _ = fmt.Fprintf(os.Stderr, "bench-review: "+format+"\n", args...)
}

func newBench(ctx context.Context, o options) (b *bench, err error) {
	b = &bench{o: o}
	if b.compiler, err = tool.Ours(ctx, o.compiler); err != nil {
		return nil, err
	}
	if !o.alone {
		if b.peers, err = buildPeers(ctx, o.module, b.say); err != nil {
			return nil, err
		}
	}
	if b.dir, err = os.MkdirTemp(series.Folder(o.dir), "bench-review-"); err != nil {
		return nil, err
	}
	if b.meter, err = meter.New(ctx, b.dir); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

func (b *bench) close() error { return os.RemoveAll(b.dir) }

func (b *bench) run(ctx context.Context) (*Report, error) {
	report := &Report{Tools: []tool.Tool{b.compiler}}
	for _, p := range []string{"helm", "dyff"} {
		if t, ok := b.peers[p]; ok {
			report.Tools = append(report.Tools, t)
		}
	}
	var err error
	if report.Machine, err = series.Here(ctx, b.dir, b.meter); err != nil {
		return nil, err
	}
	plans, end, err := b.plans(ctx, report)
	if err != nil {
		return nil, err
	}
	defer end()
	if err := b.take(ctx, plans); err != nil {
		return nil, err
	}
	if b.o.drift {
		measured, err := b.drift(ctx)
		if err != nil {
			return nil, fmt.Errorf("drift: %w", err)
		}
		plans = append(plans, measured)
	}
	for _, p := range plans {
		p.Summarize()
		report.Series = append(report.Series, p.Series)
	}
	report.Machine.LoadAfter = series.Load()
	return report, nil
}

// plans prepares everything that is measured in turns. It checks what the line that opens egress means to the compiler.
func (b *bench) plans(ctx context.Context, report *Report) (plans []*plan, end func(), err error) {
	work, err := b.site(ctx, b.o.Tenants)
	if err != nil {
		return nil, nil, err
	}
	if report.Opened, err = b.opens(ctx, work); err != nil {
		return nil, nil, err
	}
	published, end, err := b.publishPlans(ctx, work)
	if err != nil {
		return nil, nil, err
	}
	plans = append(b.diffPlans(work), published...)
	if b.o.alone {
		return plans, end, nil
	}
	small, err := b.site(ctx, b.o.small)
	if err != nil {
		return nil, end, err
	}
	plans = append(plans, b.diffPlan(small, opened, small.narrow, small.open))
	plans = append(plans, b.peerPlans(work)...)
	return append(plans, b.peerPlans(small)...), end, nil
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
	for i := -1; i < b.o.runs; i++ {
		for _, p := range plans {
			if p.stopped() { // at its limit, and would be again
				continue
			}
			p.Name = p.Tool + ", " + p.Scenario
			u, err := p.Once(ctx, b.meter, i+1)
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
		b.say("run %d of %d done", i+1, b.o.runs)
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
func (b *bench) output(name string) string { return filepath.Join(b.dir, name) }
