package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/testjob"
)

// tenant is the team of the catalog that runs the demo.
const tenant = "team-vision"

// implementations are the runtimes of the catalog in the order in which they run.
var implementations = []struct{ name, runtime string }{
	{"Open MPI 4", "openmpi4-cpu"},
	{"Open MPI 5", "openmpi5-cpu"},
	{"MPICH", "mpich-cpu"},
}

// images are those that the jobs and the platform need; the tests have more.
var images = []string{"mpi-agent", "mpi-controller", "openmpi4", "openmpi5", "mpich"}

const (
	nodes, slots = 2, 2
	// jobTimeout is generous: the first pod of a machine may wait for disks.
	jobTimeout = 3 * time.Minute
)

func demo(ctx context.Context, o options, out io.Writer) (err error) {
	progress := platform.NewProgress(out)
	tools, err := platform.DefaultTools(out)
	if err != nil {
		return err
	}
	tools.Needs = images
	if o.frameworks {
		tools.Needs = append(slices.Clone(images), trainingImage)
	}
	p, err := platform.Up(ctx, tools, o.machines, progress)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end(p, o, progress, out)) }()
	rows, err := runAll(ctx, p, out)
	if err != nil {
		return err
	}
	if o.frameworks {
		if err := train(ctx, p, out); err != nil {
			return err
		}
	}
	printTable(out, rows)
	if o.json != "" {
		if err := testjob.WriteJSON(o.json, rows); err != nil {
			return err
		}
	}
	_, _ = fmt.Fprintf(out, "\nall of it took %.1f s\n", progress.Elapsed().Seconds())
	return verdict(rows)
}

// end stops the cluster, also when the demo failed or was interrupted, unless the user wants to keep it.
func end(p *platform.Platform, o options, progress *platform.Progress, out io.Writer) error {
	if o.keep || !p.Started() {
		_, _ = fmt.Fprintf(out, whatNext, p.Kubectl, p.Kubeconfig)
		return asEditor(p, out)
	}
	_, _ = fmt.Fprint(out, whatNextDown)
	return progress.Step("stop the cluster", func() (string, error) { return "", p.Close(context.Background()) })
}

// asEditor says how to run jobs as an editor of the tenant: its kubeconfig, which holds for a day, lies beside the admin's. Nothing is written beside
// those of a cluster that somebody else started.
func asEditor(p *platform.Platform, out io.Writer) error {
	if p.Handle().External {
		return nil
	}
	kubeconfig := filepath.Join(filepath.Dir(p.Kubeconfig), tenant+"-editor.kubeconfig")
	if err := p.EditorKubeconfig(context.Background(), tenant, kubeconfig); err != nil {
		return fmt.Errorf("make a kubeconfig of an editor: %w", err)
	}
	programs, err := filepath.Abs(filepath.Join("build", "bin"))
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, whatNextAsEditor, tenant, kubeconfig, filepath.Dir(p.Kubectl), programs)
	return nil
}

func runAll(ctx context.Context, p *platform.Platform, out io.Writer) ([]row, error) {
	editor, err := p.Editor(tenant)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, implementation := range implementations {
		job := testjob.Job{
			Name: "hello-" + implementation.runtime, Namespace: tenant, Runtime: implementation.runtime,
			Nodes: nodes, Slots: slots, Command: []string{"mpirun", "-n", fmt.Sprint(nodes * slots), "mpi-hello"},
		}
		_, _ = fmt.Fprintf(out, "\n--- %s: TrainJob %s/%s, %d nodes × %d slots\n", implementation.name, job.Namespace, job.Name, job.Nodes, job.Slots)
		result, err := runOne(ctx, editor, job, out)
		if err != nil {
			return nil, err
		}
		rows = append(rows, newRow(implementation.name, result, p.Machines))
	}
	return rows, nil
}

// runOne removes what an earlier demo on the same cluster may have left.
func runOne(ctx context.Context, editor testjob.User, job testjob.Job, out io.Writer) (testjob.Result, error) {
	limit := platform.ScaleTimeout(jobTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no end within %s", limit))
	defer cancel()
	old := job.TrainJob()
	if err := client.IgnoreNotFound(editor.Client.Delete(ctx, old)); err != nil {
		return testjob.Result{}, fmt.Errorf("delete the TrainJob of an earlier demo: %w", err)
	}
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		return apierrors.IsNotFound(editor.Client.Get(ctx, client.ObjectKeyFromObject(old), old)), nil
	})
	if err != nil {
		return testjob.Result{}, fmt.Errorf("wait until the TrainJob of an earlier demo is gone: %w", err)
	}
	return testjob.Run(ctx, editor, job, out)
}
