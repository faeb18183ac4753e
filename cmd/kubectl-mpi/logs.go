package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/jobs/logs"
	"lockstep.dev/lockstep/pkg/jobs/logs/podlogs"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
)

// roleAll is the value of --role for launcher and nodes.
const roleAll = "all"

// maxLogs is how many logs are usually read at a time: each is a connection that the API server and a kubelet hold open.
const maxLogs = 64

// logsFlags are those of `logs`, named as kubectl and stern name them.
type logsFlags struct {
	follow, timestamps, merge      bool
	tail                           int64
	since                          time.Duration
	sinceTime, role, color, format string
	ranks                          []int
	include, exclude, highlight    []string
	most, attempt                  int
	includes, excludes, highlights []*regexp.Regexp
	from                           time.Time
}

func newLogs(k *kube) *cobra.Command {
	var f logsFlags
	cmd := &cobra.Command{
		Use:   "logs JOB",
		Short: "Print what a job prints: of the launcher, or of all pods in one order",
		Long: `Print the output of a job.

The output of all ranks is that of the launcher, which is what is shown without flags. --merge adds the nodes, and puts all into one order
by time. Ranks are told apart where the launcher tags its output: mpirun --tag-output (Open MPI 4), mpirun --output tag (Open MPI 5),
mpiexec -l (MPICH, Intel MPI).

A log is read on through broken connections and containers that are started again: no line is lost or shown twice as long as kubelet has
it. Of pods that are gone, what the history kept is shown, or the last lines that the controller kept.`,
		Example: `  # What the ranks have printed, and what they print from now on
  kubectl mpi logs train -f
  # Only rank 3, with times
  kubectl mpi logs train --rank 3 --timestamps
  # What all pods printed before the first restart, though they are gone
  kubectl mpi logs train --merge --attempt 0
  # Launcher and nodes in one order, the last ten minutes, without debug lines
  kubectl mpi logs train --merge --since 10m --exclude DEBUG`,
		Args:              cli.ArgsBetween(1, 1),
		ValidArgsFunction: k.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.validate(); err != nil {
				return err
			}
			return k.printLogs(cmd.Context(), args[0], f)
		},
	}
	f.registerFlags(cmd)
	return cmd
}

func (f *logsFlags) registerFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVarP(&f.follow, "follow", "f", false, "go on until the job is over")
	flags.BoolVar(&f.merge, "merge", false, "launcher and nodes, in one order by time")
	flags.StringVar(&f.role, "role", "", "whose output: launcher, node or all")
	flags.IntSliceVar(&f.ranks, "rank", nil, "only lines of these ranks, such as 0,3")
	flags.Int64Var(&f.tail, "tail", -1, "how many of the last lines of each pod, -1 for all")
	flags.DurationVar(&f.since, "since", 0, "only lines newer than this, such as 5m")
	flags.StringVar(&f.sinceTime, "since-time", "", "only lines after this time, such as 2026-03-01T12:00:00Z")
	flags.BoolVar(&f.timestamps, "timestamps", false, "the time before each line")
	flags.StringArrayVarP(&f.include, "include", "i", nil, "only lines that match this expression (or another one of these)")
	flags.StringArrayVarP(&f.exclude, "exclude", "e", nil, "no lines that match this expression")
	flags.StringArrayVarP(&f.highlight, "highlight", "H", nil, "mark what matches this expression")
	flags.StringVar(&f.color, "color", "auto", "colours: auto (on a terminal, unless NO_COLOR is set), always or never")
	flags.StringVarP(&f.format, "output", "o", string(logs.Text), "how a line is written: text, raw (as the program printed it) or json")
	flags.IntVar(&f.most, "max-log-requests", maxLogs, "how many logs may be read at a time")
	flags.IntVar(&f.attempt, "attempt", -1, "only what a job printed after so many restarts, from the history")
	cli.CompleteFlag(cmd, "role", mpi.LauncherJob, mpi.NodeJob, roleAll)
	cli.CompleteFlag(cmd, "color", "auto", "always", "never")
	cli.CompleteFlag(cmd, "output", logs.Formats()...)
}

func (f *logsFlags) validate() error {
	var err error
	for _, c := range []struct {
		flag, value string
		allowed     []string
	}{
		{"role", f.role, []string{"", mpi.LauncherJob, mpi.NodeJob, roleAll}},
		{"color", f.color, []string{"auto", "always", "never"}},
		{"output", f.format, logs.Formats()},
	} {
		if !slices.Contains(c.allowed, c.value) {
			return usageErrorf("invalid value `%s` for `--%s`: must be one of %s", c.value, c.flag, strings.TrimPrefix(strings.Join(c.allowed, ", "), ", "))
		}
	}
	if f.sinceTime != "" {
		if f.from, err = time.Parse(time.RFC3339, f.sinceTime); err != nil {
			return usageErrorf("`--since-time %s` is not a time: write it like 2026-03-01T12:00:00Z", f.sinceTime)
		}
	}
	if f.since != 0 && f.sinceTime != "" {
		return usageErrorf("`--since` and `--since-time` say the same: give one of them")
	}
	if f.since < 0 || f.tail < -1 || f.most < 1 {
		return usageErrorf("`--since` and `--tail` cannot be negative, and `--max-log-requests` is at least 1")
	}
	for _, e := range []struct {
		flag  string
		texts []string
		to    *[]*regexp.Regexp
	}{{"include", f.include, &f.includes}, {"exclude", f.exclude, &f.excludes}, {"highlight", f.highlight, &f.highlights}} {
		for _, text := range e.texts {
			expression, err := regexp.Compile(text)
			if err != nil {
				return usageErrorf("`--%s %s` is not a regular expression: %v", e.flag, text, err)
			}
			*e.to = append(*e.to, expression)
		}
	}
	return nil
}

// readOptions of a read.
func (f *logsFlags) readOptions(k *kube) logs.Options {
	o := logs.Options{
		Follow: f.follow, Since: f.from, Most: f.most, Want: f.wantsSource,
		Note: func(text string) { fmt.Fprintln(k.streams.ErrOut, "note: "+text) },
	}
	if f.tail >= 0 {
		o.Tail = &f.tail
	}
	if f.since > 0 {
		o.SinceSeconds = max(int64(f.since/time.Second), 1)
	}
	return o
}

func (f *logsFlags) wantsSource(s logs.LogSource) bool {
	switch {
	case f.role == roleAll, f.role == "" && f.merge:
		return true
	case f.role == "":
		// A job of another framework has no launcher: its first node prints what there is.
		return s.Role == mpi.LauncherJob || s.Role != mpi.NodeJob && s.Index == 0
	}
	return s.Role == f.role
}

// wantsNodes reports whether the output of nodes is asked for.
func (f *logsFlags) wantsNodes() bool { return f.wantsSource(logs.LogSource{Role: mpi.NodeJob}) }

func (f *logsFlags) newPrinter(out io.Writer) *logs.Printer {
	p := &logs.Printer{
		Filter: logs.LineFilter{Ranks: f.ranks, Include: f.includes, Exclude: f.excludes},
		Format: logs.OutputFormat(f.format), Times: f.timestamps, Terminal: cli.IsTerminal(out), Highlight: f.highlights,
		Labels: f.merge || f.role == roleAll || f.role == mpi.NodeJob,
		Color:  f.color == "always" || f.color == "auto" && cli.HasColours(out),
	}
	p.SetOutput(out)
	return p
}

// printLogs prints the logs of a job.
func (k *kube) printLogs(ctx context.Context, name string, f logsFlags) error {
	job, err := k.trainJob(ctx, name)
	if apierrors.IsNotFound(err) || f.attempt >= 0 {
		return k.printKeptLogs(ctx, name, f, err)
	} else if err != nil {
		return err
	}
	if f.follow && !mpijob.IsFinished(job) {
		k.noteMissingPods(ctx, job)
	}
	if f.wantsNodes() && mpijob.IsFinished(job) {
		// JobSet deletes the pods of nodes at the end.
		if found := k.keptOf(ctx, job); found != nil && found.Log.IsComplete() {
			return k.printKept(ctx, found, f)
		}
	}
	printer := f.newPrinter(k.streams.Out)
	ranks := &rankPrinter{Printer: printer, notes: k.streams.ErrOut, noted: len(f.ranks) == 0}
	result, err := k.readLogs(ctx, job, f, ranks.printLines)
	switch {
	case ctx.Err() != nil:
		return k.endInterruptedFollow(job)
	case err != nil:
		return err
	case f.follow && k.isGone(ctx, job):
		return jobDeletedError(job.Name)
	case result.Sources == 0:
		return k.printLogsWithoutPods(ctx, job.Name, f)
	}
	if len(f.ranks) > 0 && printer.Tagged > 0 && printer.Shown == 0 {
		return k.noSuchRankError(ctx, job.Name, f.ranks)
	}
	ranks.noteUntagged(0)
	if ranks.read == 0 && !mpijob.IsFinished(job) && !f.follow {
		fmt.Fprintf(k.streams.ErrOut, "note: nothing has been printed so far; %s says how far the job is\n",
			k.commandHint(job.Namespace, "why %s", job.Name))
	}
	if result.Incomplete > 0 {
		return exitWith(cli.ExitFailure, fmt.Errorf("%d of %d logs could not be read to their end", result.Incomplete, result.Sources))
	}
	return nil
}

// rankPrinter prints lines of ranks, and notes once that no line names one.
type rankPrinter struct {
	*logs.Printer
	notes io.Writer
	read  int
	noted bool
}

// untaggedLines is how many lines without a rank come before the note: launchers print some.
const untaggedLines = 20

func (p *rankPrinter) printLines(lines []logs.Line) error {
	err := p.PrintLines(lines)
	p.read += len(lines)
	p.noteUntagged(untaggedLines)
	return err
}

// noteUntagged writes the note if at least so many lines were read.
func (p *rankPrinter) noteUntagged(least int) {
	if p.noted || p.Tagged > 0 || p.read < least {
		return
	}
	p.noted = true
	fmt.Fprintln(p.notes, "note: no line so far names the rank that printed it: start the ranks with "+
		"`mpirun --tag-output` (Open MPI 4), `mpirun --output tag` (Open MPI 5) or `mpiexec -l` (MPICH, Intel MPI)")
}

// isGone reports whether a job is not there any more. Another one of its name is not it.
func (k *kube) isGone(ctx context.Context, job *trainer.TrainJob) bool {
	now, err := k.trainJob(ctx, job.Name)
	return apierrors.IsNotFound(err) || err == nil && now.UID != job.UID
}

// noSuchRankError is the error of ranks that the job cannot have, nil where one of them has only printed nothing, or nobody knows.
func (k *kube) noSuchRankError(ctx context.Context, name string, ranks []int) error {
	j, err := k.readJob(ctx, name)
	if err != nil || j.World == nil {
		return err
	}
	last := int(j.World.Slots) - 1
	if slices.ContainsFunc(ranks, func(rank int) bool { return rank >= 0 && rank <= last }) {
		return nil
	}
	return cli.Failure(fmt.Errorf("`%s` has no such rank: it has ranks 0 to %d at most", name, last))
}

// noteMissingPods says why nothing is shown for now.
func (k *kube) noteMissingPods(ctx context.Context, job *trainer.TrainJob) {
	pods := &metav1.PartialObjectMetadataList{}
	pods.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	err := k.reader.List(ctx, pods, client.InNamespace(job.Namespace), client.MatchingLabels{mpi.JobSetNameLabel: job.Name}, client.Limit(1))
	if err == nil && len(pods.Items) == 0 {
		fmt.Fprintf(k.streams.ErrOut, "note: `%s` has no pods yet, and is followed as soon as it has; %s says what it waits for\n", job.Name, k.commandHint(job.Namespace, "why %s", job.Name))
	}
}

// readLogs reads what the flags ask for, and hands it over.
func (k *kube) readLogs(ctx context.Context, job *trainer.TrainJob, f logsFlags, take func([]logs.Line) error) (logs.ReadResult, error) {
	core, err := k.CoreClient()
	if err != nil {
		return logs.ReadResult{}, err
	}
	from := podlogs.JobLogs{Namespace: job.Namespace, Name: job.Name, Reader: k.reader, Core: core}
	result, err := logs.Run(ctx, from, f.readOptions(k), take)
	var many *logs.TooManyError
	if errors.As(err, &many) {
		err = usageErrorf("%v: --role, --rank or a larger --max-log-requests", many)
	}
	return result, err
}

// printLogsWithoutPods shows what is left of a job whose pods are gone, or says why there are none yet.
func (k *kube) printLogsWithoutPods(ctx context.Context, name string, f logsFlags) error {
	job, err := k.trainJob(ctx, name)
	if err != nil {
		return err
	}
	if found := k.keptOf(ctx, job); found != nil && found.Log.Bytes > 0 {
		return k.printKept(ctx, found, f)
	}
	j, err := k.readJob(ctx, name)
	if err != nil {
		return err
	}
	if j.IsFinished() && j.Cause != nil && len(j.Cause.Lines) > 0 {
		fmt.Fprintf(k.streams.ErrOut, "note: the pods of `%s` are gone; these are the last lines that the controller kept, of what failed (%s)\n", job.Name, j.Cause.Reason)
		return f.newPrinter(k.streams.Out).PrintLines(verdictLines(j.Cause.Lines, ptr.Deref(j.Times.Ended, j.Times.Created).Time))
	}
	if j.Phase == jobv1.Refused {
		return cli.Failure(fmt.Errorf("`%s` was refused and never had pods: %s says why",
			name, k.commandHint(job.Namespace, "why %s", name)))
	}
	if mpijob.IsFinished(job) {
		return cli.Failure(fmt.Errorf("the pods of `%s` are gone, and their logs with them; %s says how it ended", job.Name, k.commandHint(job.Namespace, "describe %s", job.Name)))
	}
	return cli.Failure(fmt.Errorf("`%s` has no pods yet: %s says what it waits for", job.Name, k.commandHint(job.Namespace, "why %s", job.Name)))
}

// verdictLines returns lines of a verdict as lines of the launcher.
func verdictLines(lines []string, at time.Time) []logs.Line {
	source := &logs.LogSource{Role: mpi.LauncherJob, Container: mpi.Container}
	var all []logs.Line
	for _, text := range lines {
		line := logs.Line{Time: at, Source: source, Raw: text}
		line.Rank, line.Text = diagnose.CutRankTag(text)
		all = append(all, line)
	}
	return all
}

// trainJob reads a TrainJob of the namespace.
func (k *kube) trainJob(ctx context.Context, name string) (*trainer.TrainJob, error) {
	c, err := k.Client()
	if err != nil {
		return nil, err
	}
	key, err := k.jobKey(name)
	if err != nil {
		return nil, err
	}
	job := &trainer.TrainJob{}
	return job, c.Get(ctx, key, job)
}

// endInterruptedFollow ends a command that somebody has stopped, and says how to come back.
func (k *kube) endInterruptedFollow(job *trainer.TrainJob) error {
	fmt.Fprintf(k.streams.ErrOut, "\nThe job goes on. %s shows it again, %s ends it\n", k.commandHint(job.Namespace, "logs %s -f", job.Name), k.commandHint(job.Namespace, "delete %s", job.Name))
	return exitWith(exitInterrupted, errInterrupted)
}
