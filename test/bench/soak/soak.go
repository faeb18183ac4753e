package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/test/bench"
	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/testjob"
)

const (
	sandbox = "lockstep-soak"
	// small is a copy of the runtime whose pods ask for little.
	small = "soak"
	// jobLimit is long: fifty jobs share the processors.
	jobLimit = 10 * time.Minute
	// idle is how long the controller may take to come to rest.
	idle = 30 * time.Second
)

func soak(ctx context.Context, p *platform.Platform, runtime string, jobs, concurrent int) (r Report, err error) {
	r = Report{Tally: bench.Tally{Jobs: jobs}, FirstRound: bench.Tally{Jobs: concurrent}, Concurrent: concurrent}
	user, err := p.Admin()
	if err != nil {
		return r, err
	}
	// It removes what an interrupted run has left, too.
	if err := p.Sandbox(ctx, sandbox); err != nil {
		return r, err
	}
	defer bench.Finally(ctx, &err, func(ctx context.Context) error { return remove(ctx, user) })
	if err := p.CopyRuntime(ctx, runtime, small, tiny); err != nil {
		return r, err
	}
	if err := round(ctx, p.Progress, user, "warm", &r.FirstRound, concurrent); err != nil {
		return r, err
	}
	if r.Before, err = rest(ctx, p, user); err != nil {
		return r, err
	}
	start := time.Now()
	err = round(ctx, p.Progress, user, "soak", &r.Tally, concurrent)
	r.Seconds = time.Since(start).Seconds()
	if err != nil {
		return r, err
	}
	if r.After, err = rest(ctx, p, user); err != nil {
		return r, err
	}
	events, err := bench.EventsOfJobs(ctx, user.Client, sandbox, start)
	if err == nil {
		r.settle(events)
	}
	return r, err
}

// remove deletes all jobs that are still there: none but after a failure.
func remove(ctx context.Context, user testjob.User) error {
	return user.Client.DeleteAllOf(ctx, &trainer.TrainJob{}, client.InNamespace(sandbox))
}

// tiny lets fifty jobs of two nodes fit two machines.
func tiny(r *trainer.ClusterTrainingRuntime) {
	jobs := r.Spec.Template.Spec.ReplicatedJobs
	for i := range jobs {
		pod := &jobs[i].Template.Spec.Template.Spec
		for j := range pod.Containers {
			pod.Containers[j].Resources = corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("5m"), corev1.ResourceMemory: resource.MustParse("16Mi"),
			}}
		}
	}
}

// round runs jobs, and deletes each when it has ended.
func round(ctx context.Context, progress *platform.Progress, user testjob.User, prefix string, tally *bench.Tally, concurrent int) error {
	return progress.Watch(fmt.Sprintf("%s: %d jobs", prefix, tally.Jobs), func(now func(string)) error {
		var mu sync.Mutex
		count := func(add func()) {
			mu.Lock()
			defer mu.Unlock()
			add()
			now(tally.Progress())
		}
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(concurrent)
		for i := range tally.Jobs {
			group.Go(func() error {
				if err := context.Cause(ctx); err != nil {
					return err
				}
				count(func() { tally.Created++ })
				failure, err := one(ctx, user, fmt.Sprintf("%s-%03d", prefix, i))
				if err == nil {
					count(func() { tally.RecordEnd(failure) })
				}
				return err
			})
		}
		return group.Wait()
	})
}

// one runs a job. failure is what was wrong with it, err why it could not be run.
func one(ctx context.Context, user testjob.User, name string) (failure *bench.Failure, err error) {
	limited, cancel := context.WithTimeoutCause(ctx, jobLimit, fmt.Errorf("no end within %s", jobLimit))
	defer cancel()
	job := testjob.Job{Name: name, Namespace: sandbox, Runtime: small, Nodes: 2, Slots: 1, Command: []string{"mpirun", "-n", "2", "mpi-hello"}}
	result, err := testjob.Run(limited, user, job, io.Discard)
	if err != nil && (ctx.Err() != nil || limited.Err() == nil) {
		return nil, err
	}
	return failed(name, result, err), user.Client.Delete(ctx, job.TrainJob())
}

// failed is what was wrong with a job that ended, or that did not within its limit; nil if nothing was.
func failed(name string, result testjob.Result, late error) *bench.Failure {
	// Two small pods need not be on two machines.
	if err := cmp.Or(late, result.Check(len(result.Machines))); err != nil {
		return &bench.Failure{Job: name, Reason: result.Reason, Message: err.Error()}
	}
	return nil
}

// rest waits until nothing of a job is left and the controller is idle, and measures it.
func rest(ctx context.Context, p *platform.Platform, user testjob.User) (reading Reading, err error) {
	err = p.Progress.Watch("come to rest", func(now func(string)) error {
		left, err := orphans(ctx, user, now)
		if err != nil {
			return err
		}
		reading.Orphans = left
		now(fmt.Sprintf("%d objects are left, waiting until the controller is idle", len(left)))
		if err := sleep(ctx, idle); err != nil {
			return err
		}
		return reading.read(ctx, p)
	})
	return reading, err
}

// orphans waits until nothing of a job is left, not forever, and names what is.
func orphans(ctx context.Context, user testjob.User, now func(string)) ([]string, error) {
	deadline := time.Now().Add(2 * time.Minute)
	for {
		left, err := everything(ctx, user)
		if err != nil || len(left) == 0 || time.Now().After(deadline) {
			return left, err
		}
		now(fmt.Sprintf("%d objects of jobs are left", len(left)))
		if err := sleep(ctx, time.Second); err != nil {
			return left, err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (r *Reading) read(ctx context.Context, p *platform.Platform) error {
	metrics, err := p.OurMeter().Read(ctx)
	if err != nil {
		return err
	}
	server, err := p.APIServerMetrics(ctx)
	if err != nil {
		return err
	}
	r.Goroutines = metrics.Goroutines()
	r.ResidentMegabytes = metrics.Resident() / 1e6
	r.HeapMegabytes = metrics.Sum("go_memstats_heap_inuse_bytes") / 1e6
	r.Watches = server.Sum("apiserver_longrunning_requests", "verb", "WATCH")
	r.Series = countSeries(metrics)
	r.writes, r.server = metrics.Writes(), server
	return nil
}

// countSeries counts series of ours that name a job; they must vanish with it.
func countSeries(metrics platform.Metrics) int {
	count := 0
	for name, family := range metrics {
		if strings.HasPrefix(name, "mpi_trainjob_") {
			for _, metric := range family.GetMetric() {
				for _, label := range metric.GetLabel() {
					if label.GetName() == "trainjob" || label.GetName() == "name" {
						count++
					}
				}
			}
		}
	}
	return count
}

// everything names all objects in the sandbox that belong to a job of ours.
func everything(ctx context.Context, user testjob.User) ([]string, error) {
	jobs := &trainer.TrainJobList{}
	if err := user.Client.List(ctx, jobs, client.InNamespace(sandbox)); err != nil {
		return nil, err
	}
	var left []string
	for _, job := range jobs.Items {
		left = append(left, "TrainJob "+job.Name)
	}
	others, err := testjob.AllLeftovers(ctx, user.Client, sandbox)
	return append(left, others...), err
}
