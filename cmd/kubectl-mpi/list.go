package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/jobs/view"
)

// listCommand is `kubectl mpi list`.
type listCommand struct {
	*kube
	output   outputFlag
	all      bool
	selector string
	statuses []string
	runtime  string
	mine     bool
	watch    bool
}

func newList(k *kube) *cobra.Command {
	l := &listCommand{kube: k}
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List jobs: how far each is, and what keeps or ended it",
		Long: `List jobs: how far each is, and what keeps or ended it. Jobs of all frameworks are listed; those of MPI runtimes are marked.

STATE is the phase of a job, and the reason of what is in its way. READY counts the pods of a job that is not over, SLOTS the ranks that it
may have. DURATION is how long the command has run. Of more than 100 jobs the pods are not read: a job whose images are pulled is Scheduling
then, not Pulling.`,
		Example: `  # What runs in this namespace
  kubectl mpi list

  # What failed, in all namespaces that you may see
  kubectl mpi list -A --status failed

  # Your own jobs, and every change
  kubectl mpi list --mine -w`,
		Args: cli.ArgsBetween(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return l.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.BoolVarP(&l.all, "all-namespaces", "A", false, "jobs of all namespaces")
	flags.StringVarP(&l.selector, "selector", "l", "", "labels that the jobs have, such as team=a")
	flags.StringSliceVar(&l.statuses, "status", nil, "phases of the jobs, such as running,queued")
	flags.StringVar(&l.runtime, "runtime", "", "name of the runtime of the jobs")
	flags.BoolVar(&l.mine, "mine", false, "jobs that you made with kubectl mpi")
	flags.BoolVarP(&l.watch, "watch", "w", false, "go on, and print each job that changes")
	l.output.registerFlag(cmd, true)
	cli.CompleteFlag(cmd, "status", phaseNames()...)
	cli.CompleteFlagWith(cmd, "runtime", k.completeRuntimes)
	return cmd
}

func phaseNames() []string {
	var names []string
	for _, p := range jobv1.AllPhases() {
		names = append(names, strings.ToLower(string(p)))
	}
	return names
}

func (l *listCommand) run(ctx context.Context) error {
	if err := l.validate(); err != nil {
		return err
	}
	c, err := l.Client()
	if err != nil {
		return err
	}
	var selection fetch.JobSelection
	if !l.all {
		if selection.Namespace, err = l.Namespace(); err != nil {
			return err
		}
	}
	if l.selector != "" {
		if selection.Labels, err = labels.Parse(l.selector); err != nil {
			return usageErrorf("invalid value `%s` for `--selector`: %v", l.selector, err)
		}
	}
	user := ""
	if l.mine {
		if user, err = fetch.UserName(ctx, c); err != nil {
			return err
		}
	}
	read := func(ctx context.Context) ([]view.Job, []view.Withheld, error) {
		objects, hidden, err := fetch.ListJobs(ctx, c, selection)
		return l.selectJobs(objects, user), hidden, err
	}
	if l.watch {
		return l.watchJobs(ctx, c, selection, read)
	}
	jobs, hidden, err := read(ctx)
	if err != nil {
		return err
	}
	return l.printJobs(jobs, hidden)
}

func (l *listCommand) validate() error {
	known := phaseNames()
	for i, status := range l.statuses {
		l.statuses[i] = strings.ToLower(status)
		if !slices.Contains(known, l.statuses[i]) {
			return usageErrorf("invalid value `%s` for `--status`: must be one of %s", status, strings.Join(known, ", "))
		}
	}
	if l.watch && !l.output.isForPeople() {
		return usageErrorf("--watch prints a table: leave --output %s out", l.output.format)
	}
	return l.output.validate()
}

// selectJobs returns the jobs that the flags ask for, the oldest first.
func (l *listCommand) selectJobs(objects []view.JobObjects, user string) []view.Job {
	var jobs []view.Job
	for _, o := range objects {
		j := view.JobOf(o)
		if l.matches(j, user) {
			jobs = append(jobs, j)
		}
	}
	slices.SortStableFunc(jobs, func(a, b view.Job) int {
		if d := strings.Compare(a.Namespace, b.Namespace); d != 0 {
			return d
		}
		if d := a.Times.Created.Compare(b.Times.Created.Time); d != 0 {
			return d
		}
		return strings.Compare(a.Name, b.Name)
	})
	return jobs
}

// matches reports whether a job is asked for. A job that was refused has failed.
func (l *listCommand) matches(j view.Job, user string) bool {
	status := strings.ToLower(string(j.Phase))
	ofStatus := len(l.statuses) == 0 || slices.Contains(l.statuses, status) ||
		j.Phase == jobv1.Refused && slices.Contains(l.statuses, strings.ToLower(string(jobv1.Failed)))
	return ofStatus && (l.runtime == "" || j.Runtime.Name == l.runtime) && (!l.mine || j.User == user)
}

func (l *listCommand) printJobs(jobs []view.Job, hidden []view.Withheld) error {
	names := make([]string, len(jobs))
	for i := range jobs {
		names[i] = namePrefix + jobs[i].Name
	}
	return l.output.printResult(l.streams.Out, printable{
		value: map[string]any{"items": append([]view.Job{}, jobs...)},
		names: names,
		text: func(w io.Writer) error {
			defer printWithheld(l.streams.ErrOut, hidden)
			if len(jobs) == 0 {
				fmt.Fprintln(l.streams.ErrOut, l.noJobsText())
				return nil
			}
			return writeTable(w, l.jobRows(jobs, true))
		},
	})
}

func (l *listCommand) noJobsText() string {
	if l.all {
		return "There are no such jobs."
	}
	namespace, _ := l.Namespace() // it was read before
	return fmt.Sprintf("There are no such jobs in namespace `%s`.", namespace)
}

// jobRows are the cells of jobs, below their headings.
func (l *listCommand) jobRows(jobs []view.Job, headings bool) [][]string {
	var rows [][]string
	now := time.Now()
	if headings {
		rows = append(rows, l.jobRow(view.ColumnHeadings(), "NAMESPACE", []string{"EXECUTOR", "USER", "MACHINE-HOURS", "COST", "MEMORY", "CPU", "MESSAGE"}))
	}
	for _, j := range jobs {
		used := j.UsageCells(now)
		wide := []string{
			string(j.Executor), cmp.Or(j.User, "-"), used.MachineHours, used.Cost, used.Memory, used.CPU,
			cmp.Or(firstLine(causeOrMessage(j)), "-"),
		}
		rows = append(rows, l.jobRow(j.Columns(now).Cells(), j.Namespace, wide))
	}
	return rows
}

func (l *listCommand) jobRow(cells []string, namespace string, wide []string) []string {
	if l.all {
		cells = append([]string{namespace}, cells...)
	}
	if l.output.isWide() {
		cells = append(cells, wide...)
	}
	return cells
}

// causeOrMessage is what is said of a job: its cause, or why it is not a fault.
func causeOrMessage(j view.Job) string {
	if j.Cause != nil {
		return j.Cause.Message
	}
	return j.Message
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// watchJobs prints the jobs, and then each that changes: columns that only grow older are not a change.
func (l *listCommand) watchJobs(ctx context.Context, c client.WithWatch, selection fetch.JobSelection, read func(context.Context) ([]view.Job, []view.Withheld, error)) error {
	shown := map[string]string{}
	first := true
	var widths columnWidths
	err := fetch.FollowTrainJobs(ctx, c, func(ctx context.Context) (bool, error) {
		jobs, hidden, err := read(ctx)
		if err != nil {
			return false, err
		}
		var changed []view.Job
		for _, j := range jobs {
			columns := j.Columns(time.Now())
			columns.Age, columns.Duration = "", ""
			state := strings.Join(columns.Cells(), "\t")
			if key := j.Namespace + "/" + j.Name; shown[key] != state {
				shown[key] = state
				changed = append(changed, j)
			}
		}
		if first {
			printWithheld(l.streams.ErrOut, hidden)
		}
		if len(changed) > 0 || first {
			err = widths.writeRows(l.streams.Out, l.jobRows(changed, first))
		}
		first = false
		return false, err
	}, client.InNamespace(selection.Namespace))
	if errors.Is(err, context.Canceled) {
		return exitWith(exitInterrupted, errInterrupted)
	}
	return err
}
