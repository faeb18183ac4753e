package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/jobs/kept"
	"lockstep.dev/lockstep/pkg/jobs/view"
	"lockstep.dev/lockstep/pkg/mpi"
)

func newHistory(k *kube) *cobra.Command {
	var o outputFlag
	cmd := &cobra.Command{
		Use:   "history",
		Short: "List the jobs that the history keeps, also those that are deleted",
		Long: `List the jobs of the namespace that the history keeps.

The commands logs, why and describe read it by themselves when a job or its pods are gone.`,
		Example: `  kubectl mpi history

  # The output of all pods of a job that is deleted
  kubectl mpi logs train --merge`,
		Args: cli.ArgsBetween(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			jobs, err := k.listKept(cmd.Context(), nil)
			if err != nil {
				return err
			}
			what := printable{value: jobs, text: func(w io.Writer) error { return writeKept(w, jobs, time.Now()) }}
			for _, j := range jobs {
				what.names = append(what.names, "keptjob/"+j.Name)
			}
			return o.printResult(k.streams.Out, what)
		},
	}
	o.registerFlag(cmd, false)
	cmd.AddCommand(newHistoryDelete(k))
	return cmd
}

func newHistoryDelete(k *kube) *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use:   "delete JOB | --user NAME",
		Short: "Purge what the history keeps of a job, or of all jobs of a user",
		Example: `  kubectl mpi history delete train
  kubectl mpi history delete --user jane@example.com`,
		Args: cli.ArgsBetween(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (user == "") == (len(args) == 0) {
				return usageErrorf("name a job, or give `--user`: one of them")
			}
			selector := fields.Set{"user": user}
			if len(args) > 0 {
				selector = fields.Set{"trainJob": args[0]}
			}
			jobs, err := k.listKept(cmd.Context(), selector)
			if err == nil && len(jobs) == 0 {
				err = cli.Failure(errors.New("the history keeps no such job: `kubectl mpi history` lists them"))
			}
			for i := range jobs {
				one := k.deleteKept(cmd.Context(), &jobs[i])
				err = errors.Join(err, one)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&user, "user", "", "all jobs of this user")
	return cmd
}

func (k *kube) historyClient() (kept.Client, error) {
	core, err := k.CoreClient()
	if err != nil {
		return kept.Client{}, err
	}
	return kept.Client{REST: core.RESTClient()}, nil
}

func (k *kube) listKept(ctx context.Context, selector fields.Set) ([]kept.Job, error) {
	c, err := k.historyClient()
	if err != nil {
		return nil, err
	}
	namespace, err := k.Namespace()
	if err != nil {
		return nil, err
	}
	return c.List(ctx, namespace, selector)
}

func (k *kube) deleteKept(ctx context.Context, j *kept.Job) error {
	c, err := k.historyClient()
	if err != nil {
		return err
	}
	whole, err := c.Get(ctx, j)
	if err != nil {
		return err
	}
	if err := c.Delete(ctx, j); err != nil {
		return err
	}
	fmt.Fprintf(k.streams.Out, "keptjob/%s deleted\n", j.Name)
	if j := view.JobOf(whole.View(time.Now())); j.Artifacts != nil {
		k.writeRemains(j, *j.Artifacts)
	}
	return nil
}

// writeRemains names what outlives a job and its history, and the way to remove it.
func (k *kube) writeRemains(j view.Job, a jobv1.Artifacts) {
	empty := k.commandHint(j.Namespace, "submit empty --runtime %s --nodes 1 --artifacts folder=%s,claim=%s -- "+
		"mpirun -n 1 sh -c 'rm -rf %[4]s/* %[4]s/.[!.]*'", j.Runtime.Name, a.Folder, a.Claim, mpi.ArtifactsDir)
	fmt.Fprintf(k.streams.Out, "  its artifacts stay in folder %s of claim %s; to empty it: %s\n",
		mpi.ArtifactsPath(a.Folder), a.Claim, empty)
	if a.To != "" {
		fmt.Fprintf(k.streams.Out, "  and their copy at %s, which only the owners of the bucket can remove\n", a.To)
	}
}

func writeKept(w io.Writer, jobs []kept.Job, now time.Time) error {
	rows := [][]string{{"JOB", "STATE", "USER", "ENDED", "LOG", "NAME"}}
	for _, j := range jobs {
		state, ended := j.State, "-"
		if j.Ended != nil {
			ended = agoText(j.Ended.Time, now)
		}
		if state == "" {
			state = map[bool]string{true: "Running", false: "Deleted"}[j.Ended == nil]
		}
		rows = append(rows, []string{j.TrainJob, state, j.User, ended, mpi.FormatBytes(j.Log.Bytes), j.Name})
	}
	return writeTable(w, rows)
}

// findKept returns the youngest kept job of a name.
func (k *kube) findKept(ctx context.Context, name string) (*kept.Job, error) {
	c, err := k.historyClient()
	if err != nil {
		return nil, err
	}
	key, err := k.jobKey(name)
	if err != nil {
		return nil, err
	}
	found, err := c.Find(ctx, key.Namespace, key.Name)
	if err == nil && found == nil {
		err = cli.Failure(fmt.Errorf("the history keeps no job `%s`", key.Name))
	}
	return found, err
}

// keptOf returns what the history keeps of a job that is there, or nil.
func (k *kube) keptOf(ctx context.Context, trainJob *trainer.TrainJob) *kept.Job {
	found, err := k.findKept(ctx, trainJob.Name)
	if err != nil || found.UID != trainJob.UID {
		return nil
	}
	return found
}

// keptInstead returns what the history keeps of a job that is gone. Without it the error of the cluster stays, with a
// note about the history.
func (k *kube) keptInstead(ctx context.Context, name string, gone error) (*kept.Job, error) {
	found, err := k.findKept(ctx, name)
	if err != nil && gone != nil {
		fmt.Fprintf(k.streams.ErrOut, "note: %v\n", err)
		return nil, gone
	}
	if err == nil && gone != nil {
		fmt.Fprintf(k.streams.ErrOut, "note: `%s` is gone; this is from the history\n", found.TrainJob)
	}
	return found, err
}

// readLiveOrKept reads a job and what belongs to it; of a job that is gone what the history keeps, with its events.
func (k *kube) readLiveOrKept(ctx context.Context, name string) (view.JobObjects, []fetch.JobEvent, error) {
	live, err := k.readObjects(ctx, name)
	if !apierrors.IsNotFound(err) {
		return live, nil, err
	}
	found, err := k.keptInstead(ctx, name, err)
	if err != nil {
		return live, nil, err
	}
	c, err := k.Client()
	if err != nil {
		return live, nil, err
	}
	o := found.View(time.Now())
	o.Runtime, _ = fetch.ReadRuntime(ctx, c, o.TrainJob) // it may be gone, too
	return o, append([]fetch.JobEvent{}, found.Objects.Events...), nil
}

// printKeptLogs prints what the history keeps of the output of a job. Gone is why the job cannot be read, or nil.
func (k *kube) printKeptLogs(ctx context.Context, name string, f logsFlags, gone error) error {
	found, err := k.keptInstead(ctx, name, gone)
	if err != nil {
		return err
	}
	return k.printKept(ctx, found, f)
}

// printKept prints lines of a kept job.
func (k *kube) printKept(ctx context.Context, found *kept.Job, f logsFlags) error {
	c, err := k.historyClient()
	if err != nil {
		return err
	}
	if !found.Log.IsComplete() {
		fmt.Fprintf(k.streams.ErrOut, "note: not all lines were kept. %s\n", found.Log.Note)
	}
	r := kept.LogRequest{Attempt: f.attempt, Want: f.wantsSource, Since: f.from, Tail: f.tail}
	if f.since > 0 {
		r.Since = time.Now().Add(-f.since)
	}
	return c.ReadLines(ctx, found, r, f.newPrinter(k.streams.Out).PrintLines)
}
