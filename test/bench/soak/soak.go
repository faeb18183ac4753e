package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/trial"
)

const (
	sandbox = "lockstep-soak"
	runtime = "soak"
	// jobLimit is long: fifty jobs share the processors.
	jobLimit = 10 * time.Minute
	// idle is how long the controller may take to come to rest.
	idle = 30 * time.Second
)

func soak(ctx context.Context, p *platform.Platform, jobs, concurrent int) (Report, error) {
	r := Report{Jobs: jobs, Concurrent: concurrent}
	user, err := p.Admin()
	if err != nil {
		return r, err
	}
	if err := p.Sandbox(ctx, sandbox); err != nil {
		return r, err
	}
	if err := p.CopyRuntime(ctx, "openmpi5-cpu", runtime, tiny); err != nil {
		return r, err
	}
	if err := r.round(ctx, user, "warm", concurrent, concurrent); err != nil {
		return r, err
	}
	if r.Before, err = rest(ctx, p, user); err != nil {
		return r, err
	}
	start := time.Now()
	if err := r.round(ctx, user, "soak", jobs, concurrent); err != nil {
		return r, err
	}
	r.Seconds = time.Since(start).Seconds()
	r.After, err = rest(ctx, p, user)
	return r, err
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
func (r *Report) round(ctx context.Context, user trial.User, prefix string, jobs, concurrent int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrent)
	var mu sync.Mutex
	for i := range jobs {
		group.Go(func() error {
			failure, err := one(ctx, user, fmt.Sprintf("%s-%03d", prefix, i))
			mu.Lock()
			defer mu.Unlock()
			if failure != nil {
				r.Failed = append(r.Failed, failure.Error())
			}
			return err
		})
	}
	return group.Wait()
}

// one runs a job. failure is what was wrong with it, err why it could not be run.
func one(ctx context.Context, user trial.User, name string) (failure, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, jobLimit, fmt.Errorf("no end within %s", jobLimit))
	defer cancel()
	job := trial.Job{Name: name, Namespace: sandbox, Runtime: runtime, Nodes: 2, Slots: 1, Command: []string{"mpirun", "-n", "2", "mpi-hello"}}
	result, err := trial.Run(ctx, user, job, io.Discard)
	if err != nil {
		return nil, err
	}
	// Two small pods need not be on two machines.
	if err := result.Check(len(result.Machines)); err != nil {
		failure = fmt.Errorf("%s: %w", name, err)
	}
	return failure, user.Client.Delete(ctx, job.TrainJob())
}

// rest waits until nothing of a job is left and the controller is idle, and measures it.
func rest(ctx context.Context, p *platform.Platform, user trial.User) (Reading, error) {
	var reading Reading
	deadline := time.Now().Add(2 * time.Minute)
	for {
		left, err := everything(ctx, user)
		if err != nil {
			return reading, err
		}
		reading.Orphans = left
		if len(left) == 0 || time.Now().After(deadline) {
			break
		}
		time.Sleep(time.Second)
	}
	select {
	case <-time.After(idle):
	case <-ctx.Done():
		return reading, ctx.Err()
	}
	metrics, err := p.OurMeter().Read(ctx)
	if err != nil {
		return reading, err
	}
	server, err := p.APIServerMetrics(ctx)
	if err != nil {
		return reading, err
	}
	reading.Goroutines = metrics.Goroutines()
	reading.ResidentMegabytes = metrics.Resident() / 1e6
	reading.HeapMegabytes = metrics.Sum("go_memstats_heap_inuse_bytes") / 1e6
	reading.Watches = server.Sum("apiserver_longrunning_requests", "verb", "WATCH")
	reading.Series = countSeries(metrics)
	return reading, nil
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
func everything(ctx context.Context, user trial.User) ([]string, error) {
	jobs := &trainer.TrainJobList{}
	if err := user.Client.List(ctx, jobs, client.InNamespace(sandbox)); err != nil {
		return nil, err
	}
	var left []string
	for _, job := range jobs.Items {
		left = append(left, "TrainJob "+job.Name)
	}
	others, err := trial.AllLeftovers(ctx, user.Client, sandbox)
	return append(left, others...), err
}
