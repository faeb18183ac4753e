package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/trial"
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
	if err := simulate(ctx, user, jobs*(nodesPerJob+1)); err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, forgetMachines(context.WithoutCancel(ctx), user)) }()
	if err := p.CopyRuntime(ctx, "openmpi4-cpu", ourRuntime, func(r *trainer.ClusterTrainingRuntime) { onSimulated(&r.Spec) }); err != nil {
		return report, err
	}
	if report.Lockstep, err = series(ctx, user, p.OurMeter(), ourRuntime, jobs); err != nil || !stock {
		return report, err
	}
	undo, err := p.UseStockWith(ctx, stockRuntime, func(spec *trainer.TrainingRuntimeSpec) {
		platform.LauncherApart(spec)
		onSimulated(spec)
	})
	defer func() { err = errors.Join(err, undo(context.WithoutCancel(ctx))) }()
	if err != nil {
		return report, err
	}
	meter, err := p.StockMeter(ctx)
	if err != nil {
		return report, err
	}
	report.Stock, err = series(ctx, user, meter, stockRuntime, jobs)
	return report, err
}

// series creates all jobs, waits until all have completed, and deletes them.
func series(ctx context.Context, user trial.User, meter *platform.Meter, runtime string, jobs int) (s Side, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, runLimit, fmt.Errorf("no end within %s", runLimit))
	defer cancel()
	before, err := meter.Read(ctx)
	if err != nil {
		return s, err
	}
	s.Jobs, s.NodesPerJob = jobs, nodesPerJob
	start := time.Now()
	if err := create(ctx, user, runtime, jobs); err != nil {
		return s, err
	}
	s.CreateSeconds = time.Since(start).Seconds()
	for s.Complete < jobs {
		if err := s.look(ctx, user, meter, start); err != nil {
			return s, err
		}
		select {
		case <-ctx.Done():
			return s, fmt.Errorf("%d of %d jobs have completed: %w", s.Complete, jobs, context.Cause(ctx))
		case <-time.After(500 * time.Millisecond):
		}
	}
	s.CompleteSeconds = time.Since(start).Seconds()
	after, err := meter.Read(ctx)
	if err != nil {
		return s, err
	}
	events, err := eventsOfJobs(ctx, user, start)
	if err != nil {
		return s, err
	}
	s.finish(before, after, events)
	return s, remove(ctx, user)
}

// eventsOfJobs counts the events about TrainJobs since a time: nobody but their controller sends any. One that came again is a
// request more.
func eventsOfJobs(ctx context.Context, user trial.User, since time.Time) (int, error) {
	list := &corev1.EventList{}
	if err := user.Client.List(ctx, list, client.InNamespace(sandbox), client.MatchingFields{"involvedObject.kind": trainer.TrainJobKind}); err != nil {
		return 0, fmt.Errorf("count events: %w", err)
	}
	count := 0
	for _, event := range list.Items {
		// Times of objects are whole seconds.
		if event.CreationTimestamp.Time.Before(since.Truncate(time.Second)) {
			continue
		}
		count++
		if event.Series != nil {
			count += int(event.Series.Count) - 1
		}
		count += int(max(event.Count, 1)) - 1
	}
	return count, nil
}

func create(ctx context.Context, user trial.User, runtime string, jobs int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(creators)
	for i := range jobs {
		group.Go(func() error {
			job := trial.Job{
				Name: fmt.Sprintf("scale-%04d", i), Namespace: sandbox, Runtime: runtime, Nodes: nodesPerJob, Slots: 1,
				Command: []string{"mpirun", "mpi-hello"},
			}
			return user.Client.Create(ctx, job.TrainJob())
		})
	}
	return group.Wait()
}

// look counts JobSets and completed jobs, and reads how large the controller is.
func (s *Side) look(ctx context.Context, user trial.User, meter *platform.Meter, start time.Time) error {
	sets := &jobset.JobSetList{}
	if s.AllJobSetsSeconds == 0 {
		if err := user.Client.List(ctx, sets, client.InNamespace(sandbox)); err != nil {
			return err
		}
		if len(sets.Items) == s.Jobs {
			s.AllJobSetsSeconds = time.Since(start).Seconds()
		}
	}
	list := &trainer.TrainJobList{}
	if err := user.Client.List(ctx, list, client.InNamespace(sandbox)); err != nil {
		return err
	}
	s.Complete = 0
	for _, job := range list.Items {
		if meta.IsStatusConditionTrue(job.Status.Conditions, trainer.TrainJobFailed) {
			return fmt.Errorf("job %s failed: %+v", job.Name, job.Status.Conditions)
		}
		if meta.IsStatusConditionTrue(job.Status.Conditions, trainer.TrainJobComplete) {
			s.Complete++
		}
	}
	now, err := meter.Read(ctx)
	if err == nil {
		s.PeakMegabytes = max(s.PeakMegabytes, now.Resident()/1e6)
	}
	return err
}

// remove deletes all jobs and returns when their pods are gone.
func remove(ctx context.Context, user trial.User) error {
	if err := user.Client.DeleteAllOf(ctx, &trainer.TrainJob{}, client.InNamespace(sandbox)); err != nil {
		return err
	}
	for {
		list := &jobset.JobSetList{}
		if err := user.Client.List(ctx, list, client.InNamespace(sandbox)); err != nil || len(list.Items) == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Second):
		}
	}
}
