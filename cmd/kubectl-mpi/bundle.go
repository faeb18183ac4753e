package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/spf13/cobra"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/jobs/apierror"
	"lockstep.dev/lockstep/pkg/jobs/bundle"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/jobs/logs"
	"lockstep.dev/lockstep/pkg/jobs/logs/podlogs"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
)

// bundledLines is how many of the last lines of each pod a bundle has.
const bundledLines = 2000

func newBundle(k *kube) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "bundle JOB",
		Short: "Pack what is known of a job into an archive, for somebody who helps",
		Long: fmt.Sprintf(`Write a .tar.gz with the TrainJob and its conditions, JobSet, Jobs, pods, events, runtime and the last %d lines of each pod. No Secret is read, and
what looks like a secret is taken out; look through it all the same before you pass it on.`, bundledLines),
		Example:           "  kubectl mpi bundle train --file train.tar.gz",
		Args:              cli.ArgsBetween(1, 1),
		ValidArgsFunction: k.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if file == "" {
				file = args[0] + ".tar.gz"
			}
			return k.writeBundle(cmd.Context(), args[0], file)
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "the archive to write; without it JOB.tar.gz. What is there already is not overwritten")
	return cmd
}

func (k *kube) writeBundle(ctx context.Context, name, file string) error {
	job, err := k.trainJob(ctx, name)
	if err != nil {
		return err
	}
	b := bundle.New(job.Name)
	if err := k.fillBundle(ctx, b, job); err != nil {
		return err
	}
	// Others on this machine need not read it.
	to, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return cli.Failure(fmt.Errorf("%s is there already: --file names another", file))
	}
	if err != nil {
		return cli.Failure(err)
	}
	if err := errors.Join(b.WriteArchive(to, time.Now()), to.Close()); err != nil {
		return cli.Failure(errors.Join(err, os.Remove(file))) // half an archive helps nobody
	}
	fmt.Fprintf(k.streams.Out, "%s: %d files. What looks like a secret was taken out; look through it before you pass it on\n", file, len(b.FileNames())+1)
	return nil
}

// fillBundle fills a bundle. What may not be read is named in it.
func (k *kube) fillBundle(ctx context.Context, b *bundle.Bundle, job *trainer.TrainJob) error {
	if err := b.AddObject("trainjob.yaml", job); err != nil {
		return err
	}
	for _, c := range status.AllConditions(job) {
		b.AddText("conditions.txt", fmt.Sprintf("%s %s=%s %s: %s\n", c.LastTransitionTime.UTC().Format(time.RFC3339), c.Type, c.Status, c.Reason, c.Message))
	}
	b.AddText("versions.txt", "kubectl-mpi "+cli.Version()+"\n")
	unseen := func(what string, err error) { b.NoteUnseen(what + ": " + apierror.Explain(err).Message) }
	if runtime, err := fetch.RuntimeOf(ctx, k.reader, job); err != nil {
		unseen("runtime", err)
	} else if err := b.AddObject("runtime.yaml", runtime); err != nil {
		return err
	}
	var set jobset.JobSet
	if err := k.reader.Get(ctx, client.ObjectKeyFromObject(job), &set); err != nil {
		unseen("JobSet", err)
	} else if err := b.AddObject("jobset.yaml", &set); err != nil {
		return err
	}
	of := []client.ListOption{client.InNamespace(job.Namespace), client.MatchingLabels{mpi.JobSetNameLabel: job.Name}}
	names := map[string]bool{job.Name: true}
	var jobs batchv1.JobList
	if err := k.reader.List(ctx, &jobs, of...); err != nil {
		unseen("Jobs", err)
	}
	for i := range jobs.Items {
		names[jobs.Items[i].Name] = true
		if err := b.AddObject("jobs/"+jobs.Items[i].Name+".yaml", &jobs.Items[i]); err != nil {
			return err
		}
	}
	var pods corev1.PodList
	if err := k.reader.List(ctx, &pods, of...); err != nil {
		unseen("pods", err)
	}
	for i := range pods.Items {
		names[pods.Items[i].Name] = true
		if err := b.AddObject("pods/"+pods.Items[i].Name+".yaml", &pods.Items[i]); err != nil {
			return err
		}
	}
	var events corev1.EventList
	if err := k.reader.List(ctx, &events, client.InNamespace(job.Namespace)); err != nil {
		unseen("events", err)
	}
	for _, e := range events.Items {
		if names[e.InvolvedObject.Name] {
			b.AddText("events.txt", fmt.Sprintf("%s %s %s/%s %s (%d times): %s\n", e.LastTimestamp.UTC().Format(time.RFC3339), e.Type, e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, max(e.Count, 1), e.Message))
		}
	}
	return k.addLogsToBundle(ctx, b, job)
}

func (k *kube) addLogsToBundle(ctx context.Context, b *bundle.Bundle, job *trainer.TrainJob) error {
	core, err := k.CoreClient()
	if err != nil {
		return err
	}
	tail := int64(bundledLines)
	_, err = logs.Run(ctx, podlogs.JobLogs{Namespace: job.Namespace, Name: job.Name, Reader: k.reader, Core: core},
		logs.Options{Tail: &tail, Note: b.NoteUnseen}, func(lines []logs.Line) error {
			for _, line := range lines {
				b.AddLine("logs/"+line.Source.Pod+".log", line.Time.UTC().Format(time.RFC3339Nano)+" "+line.Raw)
			}
			return nil
		})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		b.NoteUnseen("logs: " + apierror.Explain(err).Message)
	}
	return nil
}
