package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/test/bench"
	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/testjob"
)

const (
	sandbox      = "lockstep-bench"
	ourRuntime   = "scale-agent"
	stockRuntime = "scale-openssh"
	nodesPerJob  = 8
	// creators create TrainJobs at the same time.
	creators = 20
	runLimit = 40 * time.Minute
)

func measure(ctx context.Context, p *platform.Platform, jobs int, stock bool) (report Report, err error) {
	user, err := p.Admin()
	if err != nil {
		return report, err
	}
	if err := errors.Join(p.Sandbox(ctx, sandbox), p.AddAddons(ctx, "kwok")); err != nil {
		return report, err
	}
	defer bench.Finally(ctx, &err, func(ctx context.Context) error { return forgetMachines(ctx, user) })
	if err := simulate(ctx, user, jobs*(nodesPerJob+1)); err != nil {
		return report, err
	}
	ourErr := report.Lockstep.ours(ctx, p, user, jobs)
	report.Lockstep.setError(ourErr)
	// A failure of one side is none of the other's numbers.
	if !stock || ctx.Err() != nil {
		return report, ourErr
	}
	stockErr := report.Stock.stock(ctx, p, user, jobs)
	report.Stock.setError(stockErr)
	return report, errors.Join(ourErr, stockErr)
}

func (s *Side) ours(ctx context.Context, p *platform.Platform, user testjob.User, jobs int) error {
	err := p.CopyRuntime(ctx, "openmpi4-cpu", ourRuntime, func(r *trainer.ClusterTrainingRuntime) { onSimulated(&r.Spec) })
	if err != nil {
		return err
	}
	return s.measure(ctx, subject{p, user, p.OurMeter(), ourRuntime}, jobs)
}

func (s *Side) stock(ctx context.Context, p *platform.Platform, user testjob.User, jobs int) (err error) {
	undo, err := p.UseStockWith(ctx, stockRuntime, func(spec *trainer.TrainingRuntimeSpec) {
		platform.LauncherApart(spec)
		onSimulated(spec)
	})
	defer bench.Finally(ctx, &err, undo)
	if err != nil {
		return err
	}
	return s.measure(ctx, subject{p, user, p.StockMeter(), stockRuntime}, jobs)
}

// subject is a controller that is measured: that which runs.
type subject struct {
	platform *platform.Platform
	user     testjob.User
	meter    *platform.Meter
	runtime  string
}

// measure creates all jobs, waits until all have ended, and deletes them. Meanwhile no policy engine runs: pods that are
// simulated have no network, but it writes rules for all of them, for which it takes the processors of those that are measured.
func (s *Side) measure(ctx context.Context, of subject, jobs int) (err error) {
	s.Jobs, s.NodesPerJob = jobs, nodesPerJob
	undo, err := of.platform.WithoutComponent(ctx, "kube-router")
	defer bench.Finally(ctx, &err, undo)
	if err != nil {
		return err
	}
	before, err := of.meter.Read(ctx)
	if err != nil {
		return err
	}
	defer bench.Finally(ctx, &err, of.remove)
	start := time.Now()
	defer bench.Finally(ctx, &err, func(ctx context.Context) error { return s.finish(ctx, of, before, start) })
	limited, cancel := context.WithTimeoutCause(ctx, runLimit, fmt.Errorf("no end within %s", runLimit))
	defer cancel()
	return of.platform.Progress.Watch("jobs of "+of.runtime, func(now func(string)) error { return s.run(limited, of, start, now) })
}

// run creates the jobs and returns when all have ended.
func (s *Side) run(ctx context.Context, of subject, start time.Time, now func(string)) error {
	if err := s.create(ctx, of, now); err != nil {
		return err
	}
	s.CreateSeconds = time.Since(start).Seconds()
	for {
		if err := s.look(ctx, of, start); err != nil {
			return err
		}
		now(fmt.Sprintf("%s, %d JobSets", s.Progress(), s.JobSets))
		if s.Done() {
			s.CompleteSeconds = time.Since(start).Seconds()
			return s.Err()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", s.Progress(), context.Cause(ctx))
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func (s *Side) create(ctx context.Context, of subject, now func(string)) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(creators)
	var mu sync.Mutex
	for i := range s.Jobs {
		group.Go(func() error {
			job := testjob.Job{
				Name: fmt.Sprintf("scale-%04d", i), Namespace: sandbox, Runtime: of.runtime, Nodes: nodesPerJob, Slots: 1,
				Command: []string{"mpirun", "mpi-hello"},
			}
			if err := of.user.Client.Create(ctx, job.TrainJob()); err != nil {
				return fmt.Errorf("create job %s: %w", job.Name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			s.Created++
			now(s.Progress())
			return nil
		})
	}
	return group.Wait()
}

// look counts JobSets and jobs that have ended, and reads how large the controller is.
func (s *Side) look(ctx context.Context, of subject, start time.Time) error {
	if s.JobSets < s.Jobs {
		sets := &jobset.JobSetList{}
		if err := of.user.Client.List(ctx, sets, client.InNamespace(sandbox)); err != nil {
			return fmt.Errorf("count JobSets: %w", err)
		}
		if s.JobSets = len(sets.Items); s.JobSets == s.Jobs {
			s.AllJobSetsSeconds = time.Since(start).Seconds()
		}
	}
	list := &trainer.TrainJobList{}
	if err := of.user.Client.List(ctx, list, client.InNamespace(sandbox)); err != nil {
		return fmt.Errorf("count jobs: %w", err)
	}
	s.count(list.Items)
	// It is read twice a second: once in vain is nothing lost.
	if metrics, err := of.meter.Read(ctx); err == nil {
		s.PeakMegabytes = max(s.PeakMegabytes, metrics.Resident()/1e6)
	}
	return nil
}

// finish takes what there is, of a run that was cut off too.
func (s *Side) finish(ctx context.Context, of subject, before platform.Metrics, start time.Time) error {
	s.Seconds = time.Since(start).Seconds()
	after, err := of.meter.Read(ctx)
	if err != nil {
		return err
	}
	events, err := bench.EventsOfJobs(ctx, of.user.Client, sandbox, start)
	if err != nil {
		return err
	}
	s.settle(before, after, events)
	return nil
}

// remove deletes all jobs and returns when their JobSets are gone.
func (of subject) remove(ctx context.Context) error {
	return of.platform.Progress.Watch("remove the jobs of "+of.runtime, func(now func(string)) error {
		if err := of.user.Client.DeleteAllOf(ctx, &trainer.TrainJob{}, client.InNamespace(sandbox)); err != nil {
			return err
		}
		for {
			list := &jobset.JobSetList{}
			if err := of.user.Client.List(ctx, list, client.InNamespace(sandbox)); err != nil || len(list.Items) == 0 {
				return err
			}
			now(fmt.Sprintf("%d JobSets are left", len(list.Items)))
			select {
			case <-ctx.Done():
				return fmt.Errorf("%d JobSets are left: %w", len(list.Items), context.Cause(ctx))
			case <-time.After(time.Second):
			}
		}
	})
}
