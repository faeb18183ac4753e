// Package gather fills the bundle of a job with what a cluster shows of the job to a user.
package gather

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/apierror"
	"lockstep.dev/lockstep/pkg/jobs/bundle"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/jobs/logs"
	"lockstep.dev/lockstep/pkg/jobs/logs/podlogs"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
)

// Lines is the number of last lines of each pod in a bundle.
const Lines = 2000

// Bundle returns the bundle of a job, with the version of the program that asks. It names what the user may not read.
func Bundle(
	ctx context.Context, c client.Reader, core corev1client.CoreV1Interface, job *trainer.TrainJob, version string,
) (*bundle.Bundle, error) {
	b := bundle.New(job.Name)
	b.AddText("versions.txt", version+"\n")
	for _, c := range status.AllConditions(job) {
		b.AddText("conditions.txt", fmt.Sprintf("%s %s=%s %s: %s\n",
			c.LastTransitionTime.UTC().Format(time.RFC3339), c.Type, c.Status, c.Reason, c.Message))
	}
	return b, errors.Join(b.AddObject("trainjob.yaml", job), addObjects(ctx, c, b, job), addLogs(ctx, c, core, b, job))
}

func addObjects(ctx context.Context, c client.Reader, b *bundle.Bundle, job *trainer.TrainJob) error {
	var set jobset.JobSet
	var jobs batchv1.JobList
	var pods corev1.PodList
	of := []client.ListOption{
		client.InNamespace(job.Namespace), client.MatchingLabels{mpi.JobSetNameLabel: job.Name},
	}
	add := map[string]any{}
	runtime, err := fetch.RuntimeOf(ctx, c, job)
	if seen(b, "runtime", err) {
		add["runtime"] = runtime
	}
	if seen(b, "JobSet", c.Get(ctx, client.ObjectKeyFromObject(job), &set)) {
		add["jobset"] = &set
	}
	names := map[string]bool{job.Name: true}
	seen(b, "Jobs", c.List(ctx, &jobs, of...))
	for i := range jobs.Items {
		names[jobs.Items[i].Name], add["jobs/"+jobs.Items[i].Name] = true, &jobs.Items[i]
	}
	seen(b, "pods", c.List(ctx, &pods, of...))
	for i := range pods.Items {
		names[pods.Items[i].Name], add["pods/"+pods.Items[i].Name] = true, &pods.Items[i]
	}
	addEvents(ctx, c, b, job.Namespace, names)
	var failed error
	for name, object := range add {
		failed = errors.Join(failed, b.AddObject(name+".yaml", object))
	}
	return failed
}

// seen notes what could not be read, and reports whether it could.
func seen(b *bundle.Bundle, what string, err error) bool {
	if err != nil {
		b.NoteUnseen(what + ": " + apierror.Explain(err).Message)
	}
	return err == nil
}

func addEvents(ctx context.Context, c client.Reader, b *bundle.Bundle, namespace string, about map[string]bool) {
	var events corev1.EventList
	seen(b, "events", c.List(ctx, &events, client.InNamespace(namespace)))
	for _, e := range events.Items {
		if about[e.InvolvedObject.Name] {
			b.AddText("events.txt", fmt.Sprintf("%s %s %s/%s %s (%d times): %s\n",
				e.LastTimestamp.UTC().Format(time.RFC3339), e.Type, e.InvolvedObject.Kind, e.InvolvedObject.Name,
				e.Reason, max(e.Count, 1), e.Message))
		}
	}
}

func addLogs(
	ctx context.Context, c client.Reader, core corev1client.CoreV1Interface, b *bundle.Bundle, job *trainer.TrainJob,
) error {
	tail := int64(Lines)
	from := podlogs.JobLogs{Namespace: job.Namespace, Name: job.Name, Reader: c, Core: core}
	_, err := logs.Run(ctx, from, logs.Options{Tail: &tail, Note: b.NoteUnseen}, func(lines []logs.Line) error {
		for _, line := range lines {
			b.AddLine("logs/"+line.Source.Pod+".log", line.Time.UTC().Format(time.RFC3339Nano)+" "+line.Raw)
		}
		return nil
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	seen(b, "logs", err)
	return nil
}
