package main

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/compile/source"
	"lockstep.dev/lockstep/pkg/jobs/audit"
)

// auditFlags are the flags of audit.
type auditFlags struct {
	job, user string
	since     time.Duration
	output    outputFlag
}

func newAudit(k *kube) *cobra.Command {
	f := &auditFlags{}
	cmd := &cobra.Command{
		Use:   "audit FILE…",
		Short: "Tell from the API server's audit log what became of jobs, and who did it",
		Long: `Tell from the audit log of an API server what became of TrainJobs, a line for each step: who made, changed, suspended, resumed and deleted it, with the
person behind a service that acts for somebody; since when it ran, how it ended and why; and what was refused. Jobs that are long deleted are told as well.

Files are read in the order in which they are named, the oldest first; those that end in .gz are unpacked, and - is standard input. No cluster is asked.
The API server writes such a log where its policy has the rules of docs/audit-policy.yaml.`,
		Example: `  # What became of one job
  kubectl mpi audit audit.log --job train -n team-vision

  # What a person did in the last week
  kubectl mpi audit audit-*.log audit.log --user jane@example.com --since 168h

  # How jobs ended, for another program
  kubectl mpi audit audit.log -o json | jq -r '.items[] | select(.what == "Failed") | [.time, .namespace, .job, .detail] | @tsv'`,
		Args: cli.ArgsBetween(1, math.MaxInt),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := f.output.validate(); err != nil {
				return err
			}
			if f.since < 0 {
				return usageErrorf("`--since` cannot be negative")
			}
			steps, err := k.auditSteps(f, args)
			return errors.Join(f.output.printResult(k.streams.Out, stepsTable(steps)), err)
		},
	}
	cmd.Flags().StringVar(&f.job, "job", "", "only jobs of this name; * matches any letters")
	cmd.Flags().StringVar(&f.user, "user", "", "only what this user did, or a service for them")
	cmd.Flags().DurationVar(&f.since, "since", 0, "only what is newer than this, such as 24h")
	f.output.registerFlag(cmd, false)
	return cmd
}

// auditSteps returns the steps that are wanted. Those before an error are returned with it.
func (k *kube) auditSteps(f *auditFlags, files []string) ([]audit.JobStep, error) {
	if _, err := path.Match(f.job, ""); err != nil {
		return nil, usageErrorf("`--job %s` is not a pattern: %v", f.job, err)
	}
	var history audit.History
	steps := []audit.JobStep{}
	for _, name := range files {
		log, err := k.openLog(name)
		if err != nil {
			return steps, cli.Failure(err)
		}
		for event, err := range audit.ReadEvents(log) {
			if audit.IsUnfinishedLine(err) { // as that of a log that is being written
				fmt.Fprintf(k.streams.ErrOut, "warning: %s: %v\n", name, err)
				break
			}
			if err != nil {
				return steps, cli.Failure(errors.Join(fmt.Errorf("%s: %w", name, err), log.Close()))
			}
			for _, step := range history.Add(event) {
				if f.matches(step, *k.flags.Namespace) {
					steps = append(steps, step)
				}
			}
		}
		if err := log.Close(); err != nil {
			return steps, cli.Failure(err)
		}
	}
	return steps, nil
}

func (f *auditFlags) matches(s audit.JobStep, namespace string) bool {
	named, _ := path.Match(f.job, s.Job)
	return (f.job == "" || named) && (namespace == "" || s.Namespace == namespace) &&
		(f.user == "" || s.By == f.user || s.Through == f.user) && (f.since == 0 || time.Since(s.Time) <= f.since)
}

// openLog opens a file that may be compressed, or standard input.
func (k *kube) openLog(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(k.streams.In), nil
	}
	file, err := os.Open(name) //nolint:gosec // a file that the user names
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, source.Reason(err))
	}
	if !strings.HasSuffix(name, ".gz") {
		return file, nil
	}
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("unpack %s: %w", name, err), file.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{unpacked, file}, nil
}

func stepsTable(steps []audit.JobStep) printable {
	what := printable{value: map[string]any{"items": steps}, text: func(w io.Writer) error {
		if len(steps) == 0 {
			_, err := fmt.Fprintln(w, "No step of a TrainJob in what was asked for. Does the policy of the log have the rules of docs/audit-policy.yaml?")
			return err
		}
		rows := [][]string{{"TIME", "JOB", "STEP", "BY", "DETAIL"}}
		for _, s := range steps {
			by := s.By
			if s.Through != "" {
				by += " through " + s.Through
			}
			rows = append(rows, []string{s.Time.UTC().Format(time.RFC3339), s.Namespace + "/" + s.Job, s.What, by, shortenUnlessWide(s.Detail, false)})
		}
		return writeTable(w, rows)
	}}
	for _, s := range steps {
		what.names = append(what.names, "trainjob/"+s.Job)
	}
	return what
}
