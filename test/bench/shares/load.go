package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/agent/sleep"
	"lockstep.dev/lockstep/test/bench/series"
	"lockstep.dev/lockstep/test/testjob"
)

const (
	// guaranteedWithin is how long a job may wait for machines of its tenant that others have borrowed: their jobs are stopped first.
	guaranteedWithin = time.Minute
	// backlog is how many jobs of a tenant may be there at a time, and drain how long the last of them have after no more are created.
	backlog = 6
	drain   = 10 * time.Minute
	// slice is the CPU of a machine of the bundle.
	slice = 100
)

// loadQueues lets all tenants create jobs, each in its own rhythm, and judges every second. It returns when all jobs are over.
func loadQueues(ctx context.Context, admin client.Client, plan Plan, length time.Duration, seed uint64, now func(string)) (Report, error) {
	report := Report{Date: time.Now().UTC().Format(time.DateOnly), Cores: runtime.NumCPU(), LoadBefore: series.Load(), Minutes: length.Minutes(), Seed: seed}
	watched, cancel := context.WithCancel(ctx)
	defer cancel()
	group, groupCtx := errgroup.WithContext(watched)
	j := newJudge(plan)
	group.Go(func() error { return watchWorkloads(groupCtx, admin, j, now) })
	group.Go(func() error {
		defer cancel()
		creators, creatorsCtx := errgroup.WithContext(groupCtx)
		number := uint64(0)
		for tenant := range plan.Tenants {
			number++
			random := rand.New(rand.NewPCG(seed, number)) //nolint:gosec // load, not secrets
			creators.Go(func() error { return createJobs(creatorsCtx, admin, tenant, plan.Tenants[tenant], length, random) })
		}
		if err := creators.Wait(); err != nil {
			return err
		}
		return waitForEnds(groupCtx, admin, &report)
	})
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return report, err
	}
	report.take(j)
	return report, ctx.Err()
}

// createJobs creates jobs of a tenant in random sizes and distances, in rushes with pauses between them in which others may borrow.
func createJobs(ctx context.Context, admin client.Client, tenant string, share Share, length time.Duration, random *rand.Rand) error {
	end := time.Now().Add(length)
	rush := time.Now().Add(time.Duration(random.IntN(60)) * time.Second)
	for number := 1; time.Now().Before(end); {
		if time.Now().After(rush) {
			pause := time.Duration(20+random.IntN(40)) * time.Second
			rush = time.Now().Add(pause + time.Duration(30+random.IntN(60))*time.Second)
			if !sleep.For(ctx, pause) {
				return ctx.Err()
			}
			continue
		}
		waiting, err := countUnfinished(ctx, admin, tenant)
		if err != nil {
			return err
		}
		if waiting < backlog {
			object := testjob.Job{
				Name: fmt.Sprintf("load-%d", number), Namespace: tenant, Runtime: "openmpi4", Nodes: int32(1 + random.IntN(min(share.Most, 4))), Slots: 1, //nolint:gosec // at most 4
				Command: []string{"mpirun", "mpi-hello", "--sleep", fmt.Sprint(3 + random.IntN(20))},
			}.Queued("lockstep")
			if err := admin.Create(ctx, object); err != nil {
				return fmt.Errorf("create a job: %w", err)
			}
			number++
		}
		if !sleep.For(ctx, time.Duration(1000+random.IntN(5000))*time.Millisecond) {
			return ctx.Err()
		}
	}
	return nil
}

func countUnfinished(ctx context.Context, admin client.Client, tenant string) (unfinished int, err error) {
	jobs := &trainer.TrainJobList{}
	if err := admin.List(ctx, jobs, client.InNamespace(tenant)); err != nil {
		return 0, fmt.Errorf("list jobs: %w", err)
	}
	for i := range jobs.Items {
		if endOf(&jobs.Items[i]) == "" {
			unfinished++
		}
	}
	return unfinished, nil
}

func endOf(job *trainer.TrainJob) string {
	for _, end := range []string{trainer.TrainJobComplete, trainer.TrainJobFailed} {
		if meta.IsStatusConditionTrue(job.Status.Conditions, end) {
			return end
		}
	}
	return ""
}

// waitForEnds waits until all jobs are over, and counts how they ended.
func waitForEnds(ctx context.Context, admin client.Client, report *Report) error {
	for begun := time.Now(); ; {
		jobs := &trainer.TrainJobList{}
		if err := admin.List(ctx, jobs); err != nil {
			return fmt.Errorf("list jobs: %w", err)
		}
		report.Jobs, report.Complete, report.Failed = len(jobs.Items), 0, nil
		for i := range jobs.Items {
			switch job := &jobs.Items[i]; endOf(job) {
			case trainer.TrainJobComplete:
				report.Complete++
			case trainer.TrainJobFailed:
				report.Failed = append(report.Failed, job.Namespace+"/"+job.Name+": "+meta.FindStatusCondition(job.Status.Conditions, trainer.TrainJobFailed).Message)
			}
		}
		if report.Complete+len(report.Failed) == report.Jobs || time.Since(begun) > drain {
			return nil
		}
		if !sleep.For(ctx, time.Second) {
			return ctx.Err()
		}
	}
}

// watchWorkloads lets the judge look every second, and says what it sees.
func watchWorkloads(ctx context.Context, admin client.Client, j *judge, now func(string)) error {
	for {
		list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadList"}}
		if err := admin.List(ctx, list); err != nil {
			return fmt.Errorf("list workloads: %w", err)
		}
		var all []workload
		for i := range list.Items {
			w, err := readWorkload(&list.Items[i])
			if err != nil {
				return err
			}
			if w.Tenant != "" {
				all = append(all, w)
			}
		}
		j.look(time.Now(), all)
		now(fmt.Sprintf("%d jobs run or wait; the plan was broken %d times", len(all), len(j.violations)))
		if !sleep.For(ctx, time.Second) {
			return nil
		}
	}
}

// readWorkload reads what Kueue says. One that is over has no tenant.
func readWorkload(object *unstructured.Unstructured) (workload, error) {
	w := workload{Tenant: object.GetNamespace(), Name: object.GetNamespace() + "/" + object.GetName(), Created: object.GetCreationTimestamp().Time}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		if c, _ := c.(map[string]any); c["status"] == "True" {
			switch c["type"] {
			case "Finished":
				return workload{}, nil
			case "QuotaReserved":
				w.Admitted = true
			}
		}
	}
	sets, _, _ := unstructured.NestedSlice(object.Object, "spec", "podSets")
	if !w.Admitted {
		for _, set := range sets {
			count, _, _ := unstructured.NestedInt64(set.(map[string]any), "count")
			w.Machines += int(count)
		}
		return w, nil
	}
	assigned, _, _ := unstructured.NestedSlice(object.Object, "status", "admission", "podSetAssignments")
	for _, set := range assigned {
		text, _, _ := unstructured.NestedString(set.(map[string]any), "resourceUsage", "cpu")
		used, err := resource.ParseQuantity(strings.TrimSpace(text))
		if err != nil {
			return w, fmt.Errorf("read what %s uses: %w", w.Name, err)
		}
		w.Machines += int(used.MilliValue()) / slice
	}
	// Kueue counts a pod too many of a job whose only node is the launcher, and takes it back when that one has none to run.
	given, _, _ := unstructured.NestedSlice(object.Object, "status", "reclaimablePods")
	for _, set := range given {
		count, _, _ := unstructured.NestedInt64(set.(map[string]any), "count")
		w.Machines -= int(count)
	}
	return w, nil
}
