package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"lockstep.dev/lockstep/test/bench/series"
	"lockstep.dev/lockstep/test/bench/tool"
	"lockstep.dev/lockstep/test/bench/workload"
)

// bench is a run of this program.
type bench struct {
	*series.Bench
	o options
	// workers are the numbers that the compiler is told; 0 means that it chooses itself.
	workers []int
	// work is the workload that everything is measured on, ten a small one.
	work, ten *site
}

// site is a generated workload in its folder.
type site struct {
	*workload.Workload
	root    string
	objects int
	// sampled are the tenants that kustomize has inputs for, sampledObjects the number of their objects.
	sampled        []string
	sampledObjects int
}

func newBench(ctx context.Context, o options) (*bench, error) {
	opened, err := series.Open(ctx, name, &o.Options, func(say func(string, ...any)) (map[string]tool.Tool, error) {
		return tool.Build(ctx, o.peers, peers, say)
	})
	if err != nil {
		return nil, err
	}
	b := &bench{Bench: opened, o: o, workers: []int{0}}
	if b.Compiler.Knows(ctx, "build", "--workers") {
		b.workers = []int{1, 4}
	}
	return b, nil
}

func (b *bench) run(ctx context.Context, report *Report) (err error) {
	report.Tools = b.Tools("helm", "jsonnet", "kustomize")
	if report.Machine, err = series.Here(ctx, b.Dir, b.Meter); err != nil {
		return err
	}
	if b.work, err = b.site(ctx, b.o.Tenants, b.o.sample); err != nil {
		return err
	}
	if b.ten, err = b.site(ctx, 10, 10); err != nil {
		return err
	}
	if report.Compared, err = b.compare(ctx); err != nil {
		return err
	}
	plans := b.ourPlans()
	if !b.o.Alone {
		plans = append(plans, b.peerPlans()...)
	}
	if err := b.take(ctx, plans, b.o.Runs); err != nil {
		return err
	}
	grown, err := b.growth(ctx)
	if err != nil {
		return err
	}
	for _, p := range append(plans, grown...) {
		p.summarize()
		report.Series = append(report.Series, p.Series)
	}
	report.Machine.LoadAfter = series.Load()
	return nil
}

// site generates a workload and lets the compiler compile it once.
func (b *bench) site(ctx context.Context, tenants, sample int) (*site, error) {
	o := b.o.Options.Options
	o.Tenants = tenants
	s := &site{root: filepath.Join(b.Dir, "workload-"+strconv.Itoa(tenants))}
	if _, err := os.Stat(s.root); err == nil { // the whole workload is as small as the small one
		s.root += "-small"
	}
	var err error
	if s.Workload, err = workload.Generate(s.root, o); err != nil {
		return nil, err
	}
	counted, err := workload.Compile(ctx, b.Compiler.Path, s.root, s.compiled())
	if err != nil {
		return nil, err
	}
	s.objects = counted.Objects()
	b.Say("%d tenants: %d spec files, %d objects", tenants, s.Files, s.objects)
	if b.o.Alone || sample == 0 {
		return s, nil
	}
	s.sampled = s.Sample(sample)
	for _, tenant := range s.sampled {
		for _, cluster := range s.Clusters {
			made, err := workload.Manifests(filepath.Join(s.compiled(), cluster, "tenants", tenant))
			if err != nil {
				return nil, err
			}
			s.sampledObjects += made
		}
	}
	return s, workload.WritePeers(s.root, s.compiled(), s.Workload, s.sampled)
}

// compiled is the folder with the finished output of the workload.
func (s *site) compiled() string { return filepath.Join(s.root, "dist") }

// compare proves that all tools make the same objects.
func (b *bench) compare(ctx context.Context) (int, error) {
	if b.o.Alone {
		return 0, nil
	}
	compared, err := b.equivalent(ctx, b.work.compiled())
	if err != nil {
		return 0, err
	}
	b.Say("%d objects of %d tenants are equal between all tools", compared, len(b.work.sampled))
	return compared, b.complete(ctx)
}

// complete proves that Helm and Jsonnet make as many objects of the whole workload as runtime-compiler.
func (b *bench) complete(ctx context.Context) error {
	for _, name := range []string{"helm", "jsonnet"} {
		out := filepath.Join(b.Dir, "complete")
		if err := emptyFolder(out); err != nil {
			return err
		}
		for _, c := range b.wholeCommands(name, b.work, out) {
			if _, err := b.Meter.Measure(ctx, c); err != nil {
				return err
			}
		}
		made, err := workload.Manifests(out)
		if err != nil {
			return err
		}
		if made != b.work.objects {
			return fmt.Errorf("%s makes %d objects of the whole workload, runtime-compiler %d", name, made, b.work.objects)
		}
		if err := os.RemoveAll(out); err != nil {
			return err
		}
	}
	return nil
}

// plan is a series and how to take one run of it.
type plan struct {
	Series
	series.Plan
}

// take measures all plans, one run of each after the other.
func (b *bench) take(ctx context.Context, plans []*plan, runs int) error {
	for i := range runs {
		for _, p := range plans {
			p.Name = p.Tool + ", " + p.Scenario
			u, err := p.Once(ctx, b.Meter, i)
			if err != nil {
				return err
			}
			p.Runs = append(p.Runs, u)
		}
		b.Say("run %d of %d done", i+1, runs)
	}
	return nil
}

// growth measures full builds of workloads of growing size. The largest is built three times at most.
func (b *bench) growth(ctx context.Context) ([]*plan, error) {
	var plans []*plan
	for _, tenants := range b.o.growth {
		s, err := b.growthSite(ctx, tenants)
		if err != nil {
			return nil, err
		}
		p := b.buildPlan(growthBuild, s, b.workers[0])
		if err := b.take(ctx, []*plan{p}, min(b.o.Runs, 3)); err != nil {
			return nil, err
		}
		plans = append(plans, p)
		if s != b.work && s != b.ten {
			if err := os.RemoveAll(s.root); err != nil {
				return nil, err
			}
		}
	}
	return plans, nil
}

func (b *bench) growthSite(ctx context.Context, tenants int) (*site, error) {
	for _, s := range []*site{b.work, b.ten} {
		if len(s.Tenants) == tenants {
			return s, nil
		}
	}
	return b.site(ctx, tenants, 0)
}

// emptyFolder makes a fresh folder for one build.
func emptyFolder(name string) error { return errors.Join(os.RemoveAll(name), os.MkdirAll(name, 0o755)) }
