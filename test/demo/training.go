package main

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/testjob"
)

const (
	// trainingTenant is a team of the bundle that may use the runtimes of frameworks.
	trainingTenant = "team-nlp"
	// trainingImage has PyTorch.
	trainingImage = "torch"
	// tolerance is how far the weights may be from those of one process, by the rounding of 32-bit floats.
	tolerance = 0.01
)

// train lets four ranks of PyTorch learn together, and compares them with one process.
func train(ctx context.Context, p *platform.Platform, out io.Writer) error {
	editor, err := p.Editor(trainingTenant)
	if err != nil {
		return err
	}
	job := testjob.Job{
		Name: "train-torch-cpu", Namespace: trainingTenant, Runtime: "torch-cpu", Nodes: nodes, Slots: slots,
		Command: []string{"mpirun", "torch-train", "--with", "torch", "--backend", "mpi"},
	}
	_, _ = fmt.Fprintf(out, "\n--- PyTorch: TrainJob %s/%s, %d nodes × %d slots\n",
		job.Namespace, job.Name, nodes, slots)
	var log bytes.Buffer
	result, err := runOne(ctx, editor, job, io.MultiWriter(out, &log))
	if err != nil {
		return err
	}
	if result.Condition != "Complete" {
		return fmt.Errorf("PyTorch: the job ended as %s (%s): %s", result.Condition, result.Reason, result.Message)
	}
	if err := testjob.CheckLearned(log.String(), nodes, slots, tolerance); err != nil {
		return fmt.Errorf("PyTorch: %w", err)
	}
	seconds := result.End.Seconds()
	_, _ = fmt.Fprintf(out, "PyTorch: %d ranks learned together, complete after %.1f s\n", nodes*slots, seconds)
	return nil
}
