package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/test/bench"
	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/testjob"
)

// sandbox belongs to no tenant, so that both sides run under the same rules.
const (
	sandbox      = "lockstep-bench"
	stockRuntime = "stock-openssh"
	// runLimit is more than the three back-offs that a launcher of stock Trainer has been seen to need.
	runLimit = 3 * time.Minute
)

type options struct {
	runs     int
	stock    bool
	runtimes []string
}

// setting is what a series has in common.
type setting struct {
	runtime string
	// names is `fresh` or `again`.
	names        string
	nodes, slots int32
}

// settings are the series of one side. Eight nodes have one rank each: two small machines have no room for more.
func settings(runtimes ...string) []setting {
	var all []setting
	for _, names := range []string{"fresh", "again"} {
		for _, runtime := range runtimes {
			all = append(all, setting{runtime, names, 2, 2})
		}
		all = append(all, setting{runtimes[0], names, 8, 1})
	}
	return all
}

func measure(ctx context.Context, p *platform.Platform, o options) (report Report, err error) {
	user, err := p.Admin()
	if err != nil {
		return report, err
	}
	if err := p.Sandbox(ctx, sandbox); err != nil {
		return report, err
	}
	for _, s := range settings(o.runtimes...) {
		series, err := starts(ctx, user, s, o.runs, ours)
		if err != nil {
			return report, err
		}
		report.Lockstep.add(series)
	}
	if !o.stock {
		return report, nil
	}
	undo, err := p.UseStockWith(ctx, stockRuntime, func(*trainer.TrainingRuntimeSpec) {})
	defer func() { err = errors.Join(err, undo(context.WithoutCancel(ctx))) }()
	if err != nil {
		return report, err
	}
	for _, s := range settings(stockRuntime) {
		series, err := starts(ctx, user, s, o.runs, theirs)
		if err != nil {
			return report, err
		}
		report.Stock.add(series)
	}
	return report, nil
}

// starts runs jobs one after the other.
func starts(ctx context.Context, user testjob.User, s setting, runs int, judge func(testjob.Result) error) (Series, error) {
	series := Series{Runtime: s.runtime, Names: s.names, Nodes: int(s.nodes)}
	for i := range runs {
		if err := series.start(ctx, user, s, i, judge); err != nil {
			return series, fmt.Errorf("%s, %d nodes, %s name, run %d: %w", s.runtime, s.nodes, s.names, i+1, err)
		}
	}
	printLine(os.Stdout, series)
	return series, nil
}

// start runs one job and deletes it. Under `again` the next job has the same name and follows without a pause.
func (s *Series) start(ctx context.Context, user testjob.User, how setting, i int, judge func(testjob.Result) error) error {
	job := testjob.Job{
		Name: fmt.Sprintf("start-%s-%d", how.runtime, how.nodes), Namespace: sandbox, Runtime: how.runtime, Nodes: how.nodes, Slots: how.slots,
		Command: []string{"mpirun", "-n", fmt.Sprint(how.nodes * how.slots), "mpi-hello"},
	}
	if how.names == "fresh" {
		job.Name = fmt.Sprintf("%s-%d", job.Name, i)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, runLimit, fmt.Errorf("no end within %s", runLimit))
	defer cancel()
	result, err := testjob.Run(ctx, user, job, io.Discard)
	if err != nil {
		return err
	}
	if err := judge(result); err != nil {
		return err
	}
	s.add(result)
	// In the foreground, as kubectl delete waits; stock's webhook and finalizers need no more than this.
	if err := user.Client.Delete(ctx, job.TrainJob()); err != nil {
		return err
	}
	return gone(ctx, user, job)
}

// gone returns when the TrainJob itself is deleted: before that its name is taken. Its pods may still end.
func gone(ctx context.Context, user testjob.User, job testjob.Job) error {
	for {
		err := user.Client.Get(ctx, client.ObjectKey{Namespace: job.Namespace, Name: job.Name}, job.TrainJob())
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// ours must do what was asked on both machines, without a restart.
func ours(r testjob.Result) error { return r.Check(bench.Machines) }

// theirs must complete; restarts are what is measured, and nobody spreads its pods over machines.
func theirs(r testjob.Result) error {
	if r.Condition != "Complete" {
		return fmt.Errorf("the job ended as %s (%s): %s", r.Condition, r.Reason, r.Message)
	}
	return nil
}
