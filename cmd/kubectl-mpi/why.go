package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/ptr"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/jobs/preflight"
	"lockstep.dev/lockstep/pkg/jobs/view"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

func newWhy(k *kube) *cobra.Command {
	var o outputFlag
	cmd := &cobra.Command{
		Use:   "why NAME",
		Short: "Say what keeps a job, or what ended it, and what to do",
		Long: `Say what keeps a job, or what ended it, and what to do, in the words of its conditions. Of a job that waits it says what is free in
the quotas of the namespace, how much of the job would fit now, and how long the queue is, as far as you may see that.

Of a job that no mpi-controller looks after it says what the pods show, and that nobody knows more.`,
		Example: `  kubectl mpi why train

  # The reason, for a script
  kubectl mpi why train -o jsonpath='{.cause.reason}'`,
		Args:              cli.ArgsBetween(1, 1),
		ValidArgsFunction: k.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			objects, _, err := k.readLiveOrKept(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			j := view.JobOf(objects)
			answer := whyAnswer{Name: j.Name, Namespace: j.Namespace, Phase: j.Phase, Cause: j.Cause, Message: j.Message, Queue: j.Queue, LogsURL: j.LogsURL, Unknown: j.Unknown}
			if err := answer.findRoom(cmd.Context(), k, objects); err != nil {
				return err
			}
			return o.printResult(k.streams.Out, printable{value: answer, names: []string{namePrefix + j.Name}, text: func(w io.Writer) error {
				return k.writeWhy(w, j, answer, cli.Palette(k.streams.Out), time.Now())
			}})
		},
	}
	o.registerFlag(cmd, false)
	return cmd
}

// whyAnswer is the answer as JSON.
type whyAnswer struct {
	Name      string              `json:"name"`
	Namespace string              `json:"namespace"`
	Phase     jobv1.Phase         `json:"phase"`
	Cause     *view.Cause         `json:"cause,omitempty"`
	Message   string              `json:"message,omitempty"`
	Queue     *jobv1.Queue        `json:"queue,omitempty"`
	LogsURL   string              `json:"logsURL,omitempty"`
	Room      *fetch.FreeCapacity `json:"room,omitempty"`
	// Fit is what the quotas and limits of the namespace have room for now, of a job that waits for its pods.
	Fit     *preflight.Answer `json:"fit,omitempty"`
	Unknown []view.Withheld   `json:"unknown,omitempty"`
}

// findRoom finds out what is free for a job that waits.
func (w *whyAnswer) findRoom(ctx context.Context, k *kube, objects view.JobObjects) error {
	if !slices.Contains([]jobv1.Phase{jobv1.Queued, jobv1.Preempted, jobv1.Creating, jobv1.Scheduling}, w.Phase) {
		return nil
	}
	c, err := k.Client()
	if err != nil {
		return err
	}
	w.Room = fetch.FreeCapacityIn(ctx, c, w.Namespace, w.Queue)
	if objects.Runtime == nil || !objects.Runtime.IsMPI() || !objects.PodsRead || len(objects.Pods) > 0 {
		return nil
	}
	in, err := fetch.FreeRoomInput(ctx, c, objects)
	if err == nil && len(in.Unseen) == 0 {
		w.Fit = ptr.To(preflight.JudgeInput(in))
	}
	return err
}

// fitText says what there is room for.
func (w *whyAnswer) fitText(k *kube) string {
	switch {
	case w.Fit == nil:
		return ""
	case w.Fit.Verdict == preflight.Fits:
		return "The quotas and limits of the namespace have room for all of it now."
	case w.Fit.LargestNodes == nil:
		return ""
	case *w.Fit.LargestNodes == 0:
		return "Not even the smallest job with so much per node fits now."
	}
	return fmt.Sprintf("Of its nodes %d would fit now: %s", *w.Fit.LargestNodes, k.commandHint(w.Namespace, "clone %s --set nodes=%d", w.Name, *w.Fit.LargestNodes))
}

func (k *kube) writeWhy(w io.Writer, j view.Job, answer whyAnswer, colours diag.Palette, now time.Time) error {
	fmt.Fprintf(w, "%s%s\n", headingText(j, colours), sinceText(j, now))
	writeCause(w, j, colours)
	switch {
	case j.Phase == jobv1.Suspended && j.Queue == nil:
		fmt.Fprintf(w, "%s starts it.\n", k.commandHint(j.Namespace, "resume %s", j.Name))
		fmt.Fprintf(w, "Its numNodes cannot change; a job like it with N nodes: %s\n",
			k.commandHint(j.Namespace, "clone %s --set nodes=N", j.Name))
	case j.Phase == jobv1.Failed && j.Cause != nil && j.Cause.Class == string(diagnose.ByApplication):
		fmt.Fprintf(w, "Its log: %s\n", k.commandHint(j.Namespace, "logs %s", j.Name))
	}
	if j.Artifacts != nil && j.Artifacts.State == jobv1.CopyFailed {
		fmt.Fprintln(w, "Its artifacts are", view.ArtifactsText(*j.Artifacts))
	}
	if j.LogsURL != "" {
		fmt.Fprintln(w, "Its logs, also when its pods are gone:", diagnose.StripEscapes(j.LogsURL))
	}
	if answer.Room != nil {
		for _, line := range answer.Room.DescribeLines() {
			fmt.Fprintln(w, line)
		}
		if fits := answer.fitText(k); fits != "" {
			fmt.Fprintln(w, fits)
		}
		printWithheld(w, answer.Room.Withheld)
	}
	printWithheld(w, j.Unknown)
	return nil
}

// headingText says which job it is, and its phase.
func headingText(j view.Job, colours diag.Palette) string {
	colour := colours.Place
	switch {
	case j.Phase == jobv1.Failed || j.Phase == jobv1.Refused:
		colour = colours.Error
	case j.Cause != nil:
		colour = colours.Warning
	case j.Phase == jobv1.Running || j.Phase == jobv1.Complete:
		colour = colours.Help
	}
	reset := colours.Reset
	return fmt.Sprintf("%s: %s%s%s", j.Name, colour, j.Phase, reset)
}

func sinceText(j view.Job, now time.Time) string {
	if j.Since == nil {
		return ""
	}
	return " since " + agoText(j.Since.Time, now)
}

// writeCause writes what keeps a job, or ended it, and what to do.
func writeCause(w io.Writer, j view.Job, colours diag.Palette) {
	c := j.Cause
	if c == nil {
		switch {
		case j.Message != "":
			fmt.Fprintln(w, diagnose.StripEscapes(j.Message))
		case j.Phase == jobv1.Running:
			fmt.Fprintln(w, "Nothing is in its way.")
		case j.Phase == jobv1.Creating && j.Executor == jobv1.Stock && len(j.Nodes) == 0 &&
			j.Since != nil && time.Since(j.Since.Time) >= view.PickUpTime:
			fmt.Fprintln(w, "Nothing has been made of it: its runtime is Kubeflow Trainer's. "+
				"Ask an admin whether Trainer runs in this cluster.")
		case !j.IsFinished():
			fmt.Fprintln(w, "Nothing is known to be in its way: wait a little, and ask again.")
		}
		return
	}
	fmt.Fprintf(w, "%s: %s\n", c.Reason, diagnose.StripEscapes(c.Message))
	if c.Remedy != "" {
		fmt.Fprintf(w, "%sWhat to do:%s %s\n", colours.Help, colours.Reset, diagnose.StripEscapes(c.Remedy))
	}
	if len(c.Lines) > 0 {
		fmt.Fprintln(w, "Last lines:")
		for _, line := range c.Lines {
			fmt.Fprintln(w, withoutControls("  "+line))
		}
	}
	if c.Source == view.FromPods {
		fmt.Fprintln(w, "No condition says this: it is what the pods show.")
	}
	if _, documented := diagnose.ReasonDocOf(mpi.Reason(c.Reason)); c.URL != "" {
		fmt.Fprintln(w, "More:", diagnose.StripEscapes(c.URL))
	} else if documented {
		fmt.Fprintf(w, "More: `kubectl mpi explain %s`\n", c.Reason)
	}
}
