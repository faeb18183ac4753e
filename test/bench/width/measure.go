package main

import (
	"bytes"
	"context"
	_ "embed" // the script
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/trial"
)

//go:embed measure.sh
var script string

const (
	sandbox      = "lockstep-bench"
	ourRuntime   = "width-agent"
	stockRuntime = "width-openssh"
	jobLimit     = 5 * time.Minute
	// maxNodes is the annotation that bounds the width of a runtime.
	maxNodes = "lockstep.dev/max-nodes"
)

func measure(ctx context.Context, p *platform.Platform, sizes []int32, runs int) (report Report, err error) {
	user, err := p.Admin()
	if err != nil {
		return report, err
	}
	if err := p.Sandbox(ctx, sandbox); err != nil {
		return report, err
	}
	if err := p.CopyRuntime(ctx, "openmpi4-cpu", ourRuntime, func(r *trainer.ClusterTrainingRuntime) {
		delete(r.Annotations, maxNodes)
		makeTiny(&r.Spec)
	}); err != nil {
		return report, err
	}
	if report.Lockstep, err = jobs(ctx, user, ourRuntime, sizes, runs); err != nil {
		return report, err
	}
	undo, err := p.UseStockWith(ctx, stockRuntime, func(spec *trainer.TrainingRuntimeSpec) {
		platform.LauncherApart(spec)
		makeTiny(spec)
	})
	defer func() { err = errors.Join(err, undo(context.WithoutCancel(ctx))) }()
	if err != nil {
		return report, err
	}
	report.Stock, err = jobs(ctx, user, stockRuntime, sizes, runs)
	return report, err
}

// makeTiny lets many pods fit one machine.
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

func jobs(ctx context.Context, user trial.User, runtime string, sizes []int32, runs int) ([]Launches, error) {
	var all []Launches
	for _, pods := range sizes {
		l, err := job(ctx, user, runtime, pods, runs)
		if err != nil {
			return all, fmt.Errorf("%s, %d pods: %w", runtime, pods, err)
		}
		fmt.Fprintf(os.Stdout, "%s\t%s\n", runtime, l.row())
		all = append(all, l)
	}
	return all, nil
}

func job(ctx context.Context, user trial.User, runtime string, pods int32, runs int) (Launches, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, jobLimit, fmt.Errorf("no end within %s", jobLimit))
	defer cancel()
	j := trial.Job{
		Name: fmt.Sprintf("%s-%d", runtime, pods), Namespace: sandbox, Runtime: runtime, Nodes: pods, Slots: 1,
		Command: []string{"bash", "-c", script, "measure", fmt.Sprint(pods), fmt.Sprint(runs)},
	}
	var log bytes.Buffer
	result, err := trial.Run(ctx, user, j, &log)
	if err != nil {
		return Launches{}, err
	}
	if result.Condition != "Complete" {
		return Launches{}, fmt.Errorf("the job ended as %s (%s): %s\n%s", result.Condition, result.Reason, result.Message, tail(log.String()))
	}
	l := Launches{Pods: int(pods)}
	if err := l.read(log.String()); err != nil {
		return l, err
	}
	return l, user.Client.Delete(ctx, j.TrainJob())
}

func tail(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}
