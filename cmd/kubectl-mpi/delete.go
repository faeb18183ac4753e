package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/jobs/act"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/jobs/view"
	"lockstep.dev/lockstep/pkg/mpi"
)

// deleteCommand is `kubectl mpi delete`.
type deleteCommand struct {
	*kube
	wait    bool
	timeout time.Duration
	// finished deletes the jobs that are over, instead of named ones.
	finished bool
	// older is how long ago they ended at least; mine leaves out the jobs of other users.
	older time.Duration
	mine  bool
}

func newDelete(k *kube) *cobra.Command {
	d := &deleteCommand{kube: k}
	cmd := &cobra.Command{
		Use:   "delete NAME... | --finished",
		Short: "Delete jobs, with all that was made for them",
		Long: `Delete jobs. Pods, logs, the JobSet, the key and the network policies of a job go with it. Volumes and what is on them stay.
With --wait it returns when the pods are gone, too.`,
		Example: `  kubectl mpi delete train

  # When it returns, the name and the machines are free
  kubectl mpi delete train --wait

  # Your jobs that ended more than an hour ago
  kubectl mpi delete --finished --older 1h --mine`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case d.finished && len(args) > 0:
				return usageErrorf("name jobs, or give `--finished`: not both")
			case d.finished:
				return nil
			case d.mine || cmd.Flags().Changed("older"):
				return usageErrorf("`--older` and `--mine` are for `--finished`: without it the jobs are named")
			}
			return cli.ArgsBetween(1, maxNames)(cmd, args)
		},
		ValidArgsFunction: k.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if d.timeout < 0 {
				return usageErrorf("--timeout is %s: it is a length of time such as `90s`", d.timeout)
			}
			if d.older < 0 {
				return usageErrorf("--older is %s: it is a length of time such as `1h`", d.older)
			}
			if cmd.Flags().Changed("timeout") && !d.wait {
				return usageErrorf("`--timeout` is for `--wait`: without it nothing is waited for")
			}
			if d.finished {
				return d.deleteFinished(cmd.Context())
			}
			k.noGuess = true
			return deleteAll(cmd.Context(), d, args, func(name string) error {
				j, err := d.readJob(cmd.Context(), name)
				if err != nil {
					return err
				}
				return d.deleteJob(cmd.Context(), j)
			})
		},
	}
	cmd.Flags().BoolVar(&d.finished, "finished", false, "delete the jobs of the namespace that are over")
	cmd.Flags().DurationVar(&d.older, "older", 0, "with --finished: only jobs that ended longer ago than this, such as 1h")
	cmd.Flags().BoolVar(&d.mine, "mine", false, "with --finished: only jobs that you made with kubectl mpi")
	cmd.Flags().BoolVar(&d.wait, "wait", false, "return when all that was made for the jobs is gone")
	cmd.Flags().DurationVar(&d.timeout, "timeout", 5*time.Minute, "how long --wait waits")
	return cmd
}

// maxNames is how many jobs are deleted at a time.
const maxNames = 1000

// deleteAll deletes jobs one after the other. A failure keeps none of the others.
func deleteAll[T any](ctx context.Context, d *deleteCommand, jobs []T, one func(T) error) error {
	var failed []error
	for _, job := range jobs {
		if ctx.Err() != nil { // reported once for all that are left
			return errors.Join(append(failed, exitWith(exitInterrupted, errInterrupted))...)
		}
		failed = append(failed, d.explainError(ctx, one(job)))
	}
	return errors.Join(failed...)
}

func (d *deleteCommand) deleteFinished(ctx context.Context) error {
	c, err := d.Client()
	if err != nil {
		return err
	}
	selection, user := fetch.JobSelection{}, ""
	if selection.Namespace, err = d.Namespace(); err != nil {
		return err
	}
	if d.mine {
		if user, err = fetch.UserName(ctx, c); err != nil {
			return err
		}
	}
	objects, _, err := fetch.ListJobs(ctx, c, selection)
	if err != nil {
		return err
	}
	var over []view.Job
	now := time.Now()
	for _, o := range objects {
		j := view.JobOf(o)
		isOld := d.older == 0 || j.Times.Ended != nil && now.Sub(j.Times.Ended.Time) >= d.older
		if j.IsFinished() && isOld && !j.Artifacts.IsCopying() && (!d.mine || j.User == user) {
			over = append(over, j)
		}
	}
	if len(over) == 0 {
		fmt.Fprintf(d.streams.ErrOut, "no such job is over in namespace %s\n", selection.Namespace)
	}
	return deleteAll(ctx, d, over, func(j view.Job) error { return d.deleteJob(ctx, j) })
}

func (d *deleteCommand) deleteJob(ctx context.Context, j view.Job) error {
	c, err := d.Client()
	if err != nil {
		return err
	}
	key := client.ObjectKey{Namespace: j.Namespace, Name: j.Name}
	if err := act.Delete(ctx, c, key, j.UID, d.wait); err != nil {
		return err
	}
	fmt.Fprintf(d.streams.Out, "trainjob/%s deleted%s\n", j.Name, describeWhatGoes(j))
	if a := j.Artifacts; a.IsCopying() {
		fmt.Fprintf(d.streams.ErrOut, "note: its artifacts were still being copied to %s. They stay in folder %s of "+
			"claim %s: a job with `--artifacts to=s3://BUCKET/PREFIX,folder=%s,claim=%s` copies them\n",
			a.To, mpi.ArtifactsPath(a.Folder), a.Claim, a.Folder, a.Claim)
	}
	if !d.wait {
		return nil
	}
	return d.waitUntilGone(ctx, c, j)
}

// describeWhatGoes says what goes with a job.
func describeWhatGoes(j view.Job) string {
	var parts []string
	pods := len(j.Nodes)
	if j.Launcher != nil {
		pods++
	}
	switch {
	case pods == 1:
		parts = append(parts, "1 pod with its log")
	case pods > 1:
		parts = append(parts, fmt.Sprintf("%d pods with their logs", pods))
	}
	if j.Executor == jobv1.Controller {
		parts = append(parts, "its JobSet, key and network policies")
	}
	if len(parts) == 0 {
		return ""
	}
	return ", and with it " + strings.Join(parts, ", ")
}

// waitUntilGone waits until a job is gone. Another one of its name may be there then.
func (d *deleteCommand) waitUntilGone(ctx context.Context, c client.WithWatch, j view.Job) error {
	limited, cancel := cancelAfter(ctx, d.timeout)
	defer cancel()
	err := fetch.FollowTrainJobs(limited, c, func(ctx context.Context) (bool, error) {
		found := &metav1.PartialObjectMetadata{}
		found.SetGroupVersionKind(fetch.TrainJobKind)
		err := c.Get(ctx, client.ObjectKey{Namespace: j.Namespace, Name: j.Name}, found)
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return err == nil && found.UID != j.UID, err
	}, client.InNamespace(j.Namespace), client.MatchingFields{"metadata.name": j.Name})
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return exitWith(exitTimeout, fmt.Errorf("after %s `%s` is still being deleted: %s shows its pods", d.timeout, j.Name, d.commandHint(j.Namespace, "describe %s", j.Name)))
	}
	return err
}
