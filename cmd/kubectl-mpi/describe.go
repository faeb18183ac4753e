package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/jobs/apierror"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/jobs/view"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// One screen: so many nodes and events are shown.
const (
	nodesShown  = 8
	eventsShown = 6
)

// description is what `describe -o json` prints: the job with its events.
type description struct {
	view.Job
	Events []fetch.JobEvent `json:"events,omitempty"`
}

func newDescribe(k *kube) *cobra.Command {
	var o outputFlag
	cmd := &cobra.Command{
		Use:   "describe NAME",
		Short: "Show one job on one screen: phase, cause, pods and machines, queue, timeline, events",
		Example: `  kubectl mpi describe train

  # All nodes and events too
  kubectl mpi describe train -o wide`,
		Args:              cli.ArgsBetween(1, 1),
		ValidArgsFunction: k.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			objects, events, err := k.readLiveOrKept(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			j := view.JobOf(objects)
			d := description{Job: j, Events: events}
			if events == nil { // the history has them otherwise
				if d.Events, err = k.readEvents(cmd, j); err != nil {
					d.Unknown = append(d.Unknown, view.Withheld{What: "events", Why: apierror.Explain(err).Message})
				}
			}
			return o.printResult(k.streams.Out, printable{value: d, names: []string{namePrefix + j.Name}, text: func(w io.Writer) error {
				return writeDescription(w, d, o.isWide(), cli.Palette(k.streams.Out), time.Now())
			}})
		},
	}
	o.registerFlag(cmd, true)
	return cmd
}

func (k *kube) readEvents(cmd *cobra.Command, j view.Job) ([]fetch.JobEvent, error) {
	c, err := k.Client()
	if err != nil {
		return nil, err
	}
	key, err := k.jobKey(j.Name)
	if err != nil {
		return nil, err
	}
	return fetch.ReadEvents(cmd.Context(), c, key)
}

func writeDescription(w io.Writer, d description, wide bool, colours diag.Palette, now time.Time) error {
	fmt.Fprintf(w, "%s%s\n", headingText(d.Job, colours), sinceText(d.Job, now))
	writeCause(w, d.Job, colours)
	fmt.Fprintln(w)
	if err := writeTable(w, factRows(d.Job, now)); err != nil {
		return err
	}
	sections := []struct {
		title string
		rows  [][]string
	}{
		{"Pods", podRows(d.Job, wide, now)},
		{"Timeline", timelineRows(d.Job, now)},
		{"Events", eventRows(d.Events, wide, now)},
	}
	for _, section := range sections {
		if len(section.rows) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s\n", section.title)
		if err := writeTable(w, section.rows); err != nil {
			return err
		}
	}
	printWithheld(w, d.Unknown)
	return nil
}

// factRows are what the job is, a row each.
func factRows(j view.Job, now time.Time) [][]string {
	rows := [][]string{
		{"Namespace", j.Namespace},
		{"Runtime", strings.TrimSpace(strings.Join([]string{j.Runtime.Name, implementationText(j.Runtime)}, " "))},
		{"Run by", string(j.Executor)},
	}
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, []string{name, value})
		}
	}
	if j.World != nil {
		add("Slots", fmt.Sprintf("%d (%d nodes of %d)", j.World.Slots, j.World.Nodes, j.World.SlotsPerNode))
	}
	if j.Pods != nil {
		add("Pods", fmt.Sprintf("%d of %d ready", j.Pods.Ready, j.Pods.Want))
	}
	if j.Queue != nil {
		add("Queue", strings.TrimSpace(j.Queue.Name+" "+strings.TrimPrefix(j.Queue.Text, "waits in queue `"+j.Queue.Name+"`")))
	}
	if j.Progress != nil && j.Progress.Percent != nil {
		add("Progress", progressText(j.Progress))
	}
	if j.Restarts > 0 {
		add("Restarts", fmt.Sprint(j.Restarts))
	}
	if j.Artifacts != nil {
		add("Artifacts", view.ArtifactsText(*j.Artifacts))
	}
	add("Logs", diagnose.StripEscapes(j.LogsURL))
	add("User", j.User)
	add("Created", agoText(j.Times.Created.Time, now))
	if j.Times.Started != nil {
		add("Duration", j.Columns(now).Duration)
	}
	add("Used", j.UsedText(now))
	return rows
}

func implementationText(r view.Runtime) string {
	switch {
	case r.Implementation != "":
		return fmt.Sprintf("(%s %s)", r.Implementation, r.Version)
	case r.Framework != "":
		return "(" + r.Framework + ")"
	}
	return ""
}

func progressText(p *view.Progress) string {
	text := fmt.Sprintf("%d%%", *p.Percent)
	if p.RemainingSeconds != nil {
		text += fmt.Sprintf(", %s left", time.Duration(*p.RemainingSeconds)*time.Second)
	}
	for _, m := range p.Metrics {
		text += fmt.Sprintf(", %s %s", m.Name, m.Value)
	}
	return text
}

func podRows(j view.Job, wide bool, now time.Time) [][]string {
	pods := slices.Clone(j.Nodes)
	if j.Launcher != nil {
		pods = append([]view.Pod{*j.Launcher}, pods...)
	}
	if len(pods) == 0 {
		return nil
	}
	left := 0
	if !wide && len(pods) > nodesShown {
		// What does not run is what somebody looks for.
		slices.SortStableFunc(pods, func(a, b view.Pod) int { return cmp.Compare(rankOf(a), rankOf(b)) })
		left = len(pods) - nodesShown
		pods = pods[:nodesShown]
	}
	rows := [][]string{{"  POD", "STATE", "MACHINE", "SLOTS", "SINCE", ""}}
	for _, p := range pods {
		rows = append(rows, []string{"  " + p.Name, podState(p), cmp.Or(p.Machine, "-"), slotsText(p), startedText(p, now), p.Problem})
	}
	if left > 0 {
		rows = append(rows, []string{fmt.Sprintf("  and %d more (-o wide)", left)})
	}
	return rows
}

// rankOf puts the launcher first, then pods that do not run.
func rankOf(p view.Pod) int {
	switch {
	case p.Role == "launcher":
		return 0
	case !p.Ready:
		return 1
	}
	return 2
}

func podState(p view.Pod) string {
	state := string(p.Phase)
	switch {
	case p.Terminating:
		state = "Terminating"
	case p.ExitCode != nil:
		state = fmt.Sprintf("%s (exit code %d)", state, *p.ExitCode)
	case p.Phase == "Running" && !p.Ready:
		state = "Running, not ready"
	}
	return state
}

func slotsText(p view.Pod) string {
	if p.Slots == nil {
		return "-"
	}
	return fmt.Sprintf("%d-%d", p.Slots.First, p.Slots.Last)
}

func startedText(p view.Pod, now time.Time) string {
	if p.Started == nil {
		return "-"
	}
	return agoText(p.Started.Time, now)
}

// timelineRows is what conditions say of the past, the oldest first.
func timelineRows(j view.Job, now time.Time) [][]string {
	rows := [][]string{{"  " + agoText(j.Times.Created.Time, now), "Submitted", ""}}
	conditions := withStart(j)
	slices.SortStableFunc(conditions, func(a, b metav1.Condition) int { return a.LastTransitionTime.Compare(b.LastTransitionTime.Time) })
	for _, c := range conditions {
		if c.Status != "True" {
			continue
		}
		message := ""
		if c.Reason != c.Type {
			message = c.Reason
		}
		rows = append(rows, []string{"  " + agoText(c.LastTransitionTime.Time, now), c.Type, message})
	}
	return rows
}

// withStart adds the start of the command: of an ended job no condition shows it any more.
func withStart(j view.Job) []metav1.Condition {
	conditions := slices.Clone(j.Conditions)
	if j.Times.Started == nil || apimeta.IsStatusConditionTrue(conditions, job.Running) {
		return conditions
	}
	start := metav1.Condition{
		Type: job.Running, Status: metav1.ConditionTrue, Reason: job.Running, LastTransitionTime: *j.Times.Started,
	}
	isEnd := func(c metav1.Condition) bool {
		return c.Type == trainer.TrainJobComplete || c.Type == trainer.TrainJobFailed
	}
	at := slices.IndexFunc(conditions, isEnd)
	if at < 0 {
		at = len(conditions)
	}
	return slices.Insert(conditions, at, start)
}

func eventRows(events []fetch.JobEvent, wide bool, now time.Time) [][]string {
	if !wide && len(events) > eventsShown {
		events = events[len(events)-eventsShown:]
	}
	var rows [][]string
	for _, e := range events {
		rows = append(rows, []string{"  " + agoText(e.At, now), e.Reason, e.Object, shortenUnlessWide(e.Message, wide)})
	}
	return rows
}

// messageShown is how many characters of a message of an event fit a screen beside the rest.
const messageShown = 100

func shortenUnlessWide(text string, wide bool) string {
	runes := []rune(firstLine(text))
	if wide || len(runes) <= messageShown {
		return string(runes)
	}
	return string(runes[:messageShown-1]) + "…"
}
