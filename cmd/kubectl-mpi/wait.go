package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/jobs/view"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// What `wait --for` waits for.
const (
	forRunning  = "running"
	forComplete = "complete"
	forEnded    = "ended"
	// forStarted is for commands that show what comes then: it is not asked for by name. The job may be over by then.
	forStarted = "started"
)

// waitCommand is `kubectl mpi wait`, and what other commands wait with.
type waitCommand struct {
	*kube
	output  outputFlag
	what    string
	timeout time.Duration
	// seen: the job was there.
	seen bool
	// failFast ends the wait for a cause that the user of the job has to mend.
	failFast bool
	// followed: the log was shown, and with it the last lines of a cause.
	followed bool
	// shown is the reason of the cause that was shown last.
	shown mpi.Reason
}

func newWait(k *kube) *cobra.Command {
	w := &waitCommand{kube: k}
	cmd := &cobra.Command{
		Use:   "wait NAME",
		Short: "Wait until a job runs, is complete, or has ended",
		Long: `Wait until a job runs, is complete, or has ended. The exit code says what became of it: 0 what was waited for, 3 the job failed or was refused,
4 it did not come in time, 130 somebody pressed Ctrl-C; the job goes on then. Standard error shows what keeps the job,
and what to do.

--for=ended ends with 0 for a job that failed too. It watches, and goes on when a watch is lost or the API server is away for a while.`,
		Example: `  # Until it has done its work
  kubectl mpi wait train --for=complete --timeout=8h

  # Until its command runs
  kubectl mpi wait train --for=running --timeout=10m`,
		Args:              cli.ArgsBetween(1, 1),
		ValidArgsFunction: k.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := w.validate(); err != nil {
				return err
			}
			key, err := k.jobKey(args[0])
			if err != nil {
				return err
			}
			j, err := w.waitForJob(cmd.Context(), key)
			if err != nil {
				return err
			}
			return w.output.printResult(k.streams.Out, printable{value: j, names: []string{namePrefix + j.Name}, text: func(out io.Writer) error {
				_, err := fmt.Fprintf(out, "%s: %s\n", j.Name, j.Phase)
				return err
			}})
		},
	}
	cmd.Flags().StringVar(&w.what, "for", forComplete, "what to wait for: running, complete or ended")
	cmd.Flags().DurationVar(&w.timeout, "timeout", 0, "how long to wait, such as 90s; 0 means as long as it takes")
	cmd.Flags().BoolVar(&w.failFast, "fail-fast", false, failFastHelp)
	cli.CompleteFlag(cmd, "for", forRunning, forComplete, forEnded)
	w.output.registerFlag(cmd, false)
	return cmd
}

const failFastHelp = "end with 3 as soon as the job waits for what you have to mend, such as an image or a claim"

func (w *waitCommand) validate() error {
	switch w.what {
	case forRunning, forComplete, forEnded:
	default:
		return usageErrorf("invalid value `%s` for `--for`: must be one of running, complete, ended", w.what)
	}
	if w.timeout < 0 {
		return usageErrorf("--timeout is %s: it is a length of time such as `90s`, or 0 for as long as it takes", w.timeout)
	}
	return w.output.validate()
}

// waitForJob returns the job that has come to where it was waited for, or an error with its exit code.
func (w *waitCommand) waitForJob(ctx context.Context, key client.ObjectKey) (view.Job, error) {
	c, err := w.Client()
	if err != nil {
		return view.Job{}, err
	}
	limited, cancel := ctx, context.CancelFunc(func() {})
	if w.timeout > 0 {
		limited, cancel = cancelAfter(ctx, w.timeout)
	}
	defer cancel()
	line := cli.NewProgress(w.streams.ErrOut)
	defer line.ClearLine()
	var j view.Job
	err = fetch.FollowTrainJobs(limited, c, func(ctx context.Context) (bool, error) {
		objects, err := fetch.ReadJob(ctx, c, key)
		if w.seen && apierrors.IsNotFound(err) {
			return false, fetch.ErrGone
		}
		if err != nil {
			return false, err
		}
		j, w.seen = view.JobOf(objects), true
		if !j.IsFinished() && !w.isStuck(j) {
			line.ClearLine()
			w.showCause(j)
		}
		line.ShowText(progressLine(j, time.Now()))
		return w.isReached(j) || w.isStuck(j), nil
	}, client.InNamespace(key.Namespace), client.MatchingFields{"metadata.name": key.Name})
	line.ClearLine()
	return j, w.waitError(ctx, limited, key, j, err)
}

// isStuck reports whether the wait ends early, for a cause that the user of the job has to mend.
func (w *waitCommand) isStuck(j view.Job) bool {
	return w.failFast && !j.IsFinished() && j.Cause != nil && diagnose.IsForUser(mpi.Reason(j.Cause.Reason))
}

// showCause prints what keeps a job, once for each change, and what to do.
func (w *waitCommand) showCause(j view.Job) {
	var reason mpi.Reason
	if j.Cause != nil {
		reason = mpi.Reason(j.Cause.Reason)
	}
	if reason != w.shown && reason != "" {
		fmt.Fprintf(w.streams.ErrOut, "%s: %s\n", j.Name, diagnose.StripEscapes(causeText(j)))
	}
	w.shown = reason
}

// cancelAfter returns a context that ends after a time. It has no deadline: the client refuses a request that its rate would delay beyond one, before
// that has passed and in words of its own.
func cancelAfter(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	limited, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(limit, cancel)
	return limited, func() {
		timer.Stop()
		cancel()
	}
}

// isReached reports whether there is nothing more to wait for.
func (w *waitCommand) isReached(j view.Job) bool {
	return j.IsFinished() || (w.what == forRunning || w.what == forStarted) && j.Phase == jobv1.Running
}

// waitError is what became of the wait, as an error with its exit code.
func (w *waitCommand) waitError(ctx, limited context.Context, key client.ObjectKey, j view.Job, err error) error {
	switch {
	case err == nil && j.IsFinished() && !j.Succeeded() && w.what != forEnded && w.what != forStarted:
		text := causeText(j)
		if w.followed && j.Cause != nil {
			text = j.Cause.Reason + ": " + diagnose.Cause{Message: j.Cause.Message, Remedy: j.Cause.Remedy}.Text()
		}
		return exitWith(exitJobFailed, fmt.Errorf("%s %s: %s", key.Name, failureWord(j), text))
	case err == nil && w.isStuck(j):
		return exitWith(exitJobFailed, fmt.Errorf("%s cannot run: %s\nIt waits until that is mended; %s ends it",
			key.Name, diagnose.StripEscapes(causeText(j)), w.commandHint(key.Namespace, "delete %s", key.Name)))
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return exitWith(exitInterrupted, fmt.Errorf("interrupted: the job goes on; %s waits again", w.commandHint(key.Namespace, "wait %s --for=%s", key.Name, w.what)))
	case limited.Err() != nil:
		return exitWith(exitTimeout, errors.New(w.lateText(key.Name, j)))
	case errors.Is(err, fetch.ErrGone):
		return jobDeletedError(key.Name)
	}
	return err
}

// jobDeletedError is the end of a command whose job was deleted in the middle of it.
func jobDeletedError(name string) error {
	return cli.Failure(fmt.Errorf("%w: somebody has deleted `%s`", fetch.ErrGone, name))
}

// lateText says how far a job is that was waited for too long.
func (w *waitCommand) lateText(name string, j view.Job) string {
	text := fmt.Sprintf("after %s %s is %s, not %s", w.timeout, name, cmp.Or(string(j.Phase), "-"), w.what)
	if cause := causeText(j); cause != "" {
		text += ": " + cause
	}
	return text
}

func failureWord(j view.Job) string {
	if j.Phase == jobv1.Refused {
		return "was refused"
	}
	return "failed"
}

// causeText is the reason and the words of the condition.
func causeText(j view.Job) string {
	if j.Cause == nil {
		return j.Message
	}
	return j.Cause.Reason + ": " + j.Cause.Text
}

// progressLine says how far a job is.
func progressLine(j view.Job, now time.Time) string {
	columns := j.Columns(now)
	text := fmt.Sprintf("%s: %s, pods %s", j.Name, columns.State, columns.Ready)
	if j.Queue != nil && j.Queue.Text != "" {
		text += ", " + j.Queue.Text
	}
	if columns.Progress != "-" {
		text += ", " + columns.Progress
	}
	return text
}
