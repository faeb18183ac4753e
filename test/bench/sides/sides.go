// Package sides runs the same in jobs of both sides, on one cluster in one run: ours, and OpenSSH under stock Kubeflow Trainer with the same Open MPI 4.
// Their pods ask for next to nothing, so that many fit one machine.
package sides

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/testjob"
)

const (
	sandbox  = "lockstep-bench"
	jobLimit = 10 * time.Minute
	// maxNodes is the annotation that bounds the width of a runtime.
	maxNodes = "lockstep.dev/max-nodes"
)

// Side runs commands in jobs of one side.
type Side struct {
	// Runtime is the name of its ClusterTrainingRuntime.
	Runtime string
	user    testjob.User
}

// Result is what was measured with one number of pods.
type Result interface {
	// Row is for people who wait: columns with tabs between them.
	Row() string
}

// Measure takes results of each number of pods, of our side and then of stock's, which cannot share a cluster. Beside an error it returns those that
// it has.
func Measure[R Result](ctx context.Context, p *platform.Platform, name string, sizes []int32, one func(ctx context.Context, s Side, pods int32) (R, error)) (ours, stock []R, err error) {
	user, err := p.Admin()
	if err != nil {
		return nil, nil, err
	}
	if err := p.Sandbox(ctx, sandbox); err != nil {
		return nil, nil, err
	}
	us, they := Side{name + "-agent", user}, Side{name + "-openssh", user}
	if err := p.CopyRuntime(ctx, "openmpi4-cpu", us.Runtime, func(r *trainer.ClusterTrainingRuntime) {
		delete(r.Annotations, maxNodes)
		makeTiny(&r.Spec)
	}); err != nil {
		return nil, nil, err
	}
	if ours, err = each(ctx, us, sizes, one); err != nil {
		return ours, nil, err
	}
	undo, err := p.UseStockWith(ctx, they.Runtime, func(spec *trainer.TrainingRuntimeSpec) {
		platform.LauncherApart(spec)
		makeTiny(spec)
	})
	defer func() { err = errors.Join(err, undo(context.WithoutCancel(ctx))) }()
	if err != nil {
		return ours, nil, err
	}
	stock, err = each(ctx, they, sizes, one)
	return ours, stock, err
}

func each[R Result](ctx context.Context, s Side, sizes []int32, one func(context.Context, Side, int32) (R, error)) (results []R, err error) {
	for _, pods := range sizes {
		result, err := one(ctx, s, pods)
		if err != nil {
			return results, err
		}
		fmt.Fprintf(os.Stdout, "%s\t%s\n", s.Runtime, result.Row())
		results = append(results, result)
	}
	return results, nil
}

// Median is of values that are not none; the upper one of two.
func Median(values []float64) float64 { return slices.Sorted(slices.Values(values))[len(values)/2] }

func makeTiny(spec *trainer.TrainingRuntimeSpec) {
	jobs := spec.Template.Spec.ReplicatedJobs
	for i := range jobs {
		pod := &jobs[i].Template.Spec.Template.Spec
		for j := range pod.Containers {
			pod.Containers[j].Resources = corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("5m"), corev1.ResourceMemory: resource.MustParse("16Mi"),
			}}
		}
	}
}

// Run runs a script of bash in the launcher of a job of so many nodes with one slot each, and returns what it printed.
func (s Side) Run(ctx context.Context, pods int32, script string, args ...string) (string, error) {
	log, err := s.run(ctx, pods, append([]string{"bash", "-c", script, "measure"}, args...))
	if err != nil {
		return log, fmt.Errorf("%s, %d pods: %w", s.Runtime, pods, err)
	}
	return log, nil
}

func (s Side) run(ctx context.Context, pods int32, command []string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, jobLimit, fmt.Errorf("no end within %s", jobLimit))
	defer cancel()
	job := testjob.Job{Name: fmt.Sprintf("%s-%d", s.Runtime, pods), Namespace: sandbox, Runtime: s.Runtime, Nodes: pods, Slots: 1, Command: command}
	var log bytes.Buffer
	result, err := testjob.Run(ctx, s.user, job, &log)
	if err != nil {
		return "", err
	}
	if result.Condition != "Complete" {
		return "", fmt.Errorf("the job ended as %s (%s): %s\n%s", result.Condition, result.Reason, result.Message, lastLines(log.String()))
	}
	return log.String(), s.user.Client.Delete(ctx, job.TrainJob())
}

func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}
