package main

import (
	"context"
	"path/filepath"
	"strconv"

	"lockstep.dev/lockstep/test/bench/meter"
	"lockstep.dev/lockstep/test/bench/series"
	"lockstep.dev/lockstep/test/bench/workload"
)

// series starts a series that measures everything itself.
func (s *site) series(tool, scenario string) Series {
	return Series{Tool: tool, Scenario: scenario, Tenants: len(s.Tenants), Clusters: len(s.Clusters), Objects: s.objects, Factor: 1}
}

// buildCommand builds a workload.
func (b *bench) buildCommand(s *site, out string, workers int) meter.Command {
	args := []string{b.Compiler.Path, "build", "--root", s.root, "--out", out}
	if workers > 0 {
		args = append(args, "--workers", strconv.Itoa(workers))
	}
	return meter.Command{Args: args}
}

// buildPlan builds into an empty folder.
func (b *bench) buildPlan(scenario string, s *site, workers int) *plan {
	out := filepath.Join(b.Dir, "out")
	p := &plan{Series: s.series(b.Compiler.Name, scenario)}
	p.Workers = workers
	p.Prepare = func(context.Context, int) error { return emptyFolder(out) }
	p.Commands = func(int) []meter.Command { return []meter.Command{b.buildCommand(s, out, workers)} }
	return p
}

func (b *bench) ourPlans() []*plan {
	var plans []*plan
	for _, workers := range b.workers {
		plans = append(plans, b.buildPlan(fullBuild, b.work, workers))
	}
	return append(plans, b.checkPlan(), b.noChangePlan(), b.oneTenantPlan(), b.buildPlan(tenTenants, b.ten, b.workers[0]))
}

func (b *bench) checkPlan() *plan {
	return &plan{
		Series: b.work.series(b.Compiler.Name, checkOnly),
		Plan: series.Plan{Commands: func(int) []meter.Command {
			return []meter.Command{{Args: []string{b.Compiler.Path, "check", "--root", b.work.root}}}
		}},
	}
}

// noChangePlan builds into a tree that is up to date.
func (b *bench) noChangePlan() *plan {
	out := filepath.Join(b.Dir, "unchanged")
	build := b.buildCommand(b.work, out, b.workers[0])
	return &plan{
		Series: b.work.series(b.Compiler.Name, noChange),
		Plan: series.Plan{
			Prepare:  func(ctx context.Context, _ int) error { return b.untimed(ctx, build) },
			Commands: func(int) []meter.Command { return []meter.Command{build} },
		},
	}
}

// oneTenantPlan builds into a tree that is up to date but for one tenant, another one every time.
func (b *bench) oneTenantPlan() *plan {
	out := filepath.Join(b.Dir, "changed")
	build := b.buildCommand(b.work, out, b.workers[0])
	return &plan{
		Series: b.work.series(b.Compiler.Name, oneTenant),
		Plan: series.Plan{
			Prepare: func(ctx context.Context, run int) error {
				if err := b.untimed(ctx, build); err != nil {
					return err
				}
				return b.changeTenant(run)
			},
			Commands: func(int) []meter.Command { return []meter.Command{build} },
		},
	}
}

func (b *bench) untimed(ctx context.Context, c meter.Command) error {
	_, err := b.Meter.Measure(ctx, c)
	return err
}

// changeTenant gives a tenant of the workload another quota for jobs.
func (b *bench) changeTenant(run int) error {
	return workload.ChangeTenant(b.work.root, b.work.TenantFiles[run*7%len(b.work.TenantFiles)], 1001+run)
}
