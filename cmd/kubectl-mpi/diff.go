package main

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/jobs/compare"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
)

func newDiff(k *kube) *cobra.Command {
	var out outputFlag
	cmd := &cobra.Command{
		Use:   "diff RUN RUN",
		Short: "Say what differed between two runs, as they really ran",
		Long: `Compare two jobs: runtime as it was when each was made, image, command, files that were taken along, environment, resources, volumes, nodes, times and results. Of
a function of Python it is the function and its arguments. Values that look like secrets are compared, and not shown; of long values and files the
first difference is shown.`,
		Example:           "  kubectl mpi diff train train-2",
		Args:              cli.ArgsBetween(2, 2),
		ValidArgsFunction: k.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.validate(); err != nil {
				return err
			}
			left, err := k.readRun(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			right, err := k.readRun(cmd.Context(), args[1])
			if err != nil {
				return err
			}
			result := compare.Runs(left, right)
			return out.printResult(k.streams.Out, printable{value: result, text: func(w io.Writer) error { return writeDiff(w, args, result) }})
		},
	}
	out.registerFlag(cmd, false)
	return cmd
}

// readRun reads a run. What is gone of it, or may not be read, is left out.
func (k *kube) readRun(ctx context.Context, name string) (compare.Run, error) {
	job, err := k.trainJob(ctx, name)
	if err != nil {
		return compare.Run{}, err
	}
	return fetch.ReadRun(ctx, k.reader, job), nil
}

func writeDiff(w io.Writer, names []string, result compare.Comparison) error {
	if len(result.Differences) == 0 {
		fmt.Fprintf(w, "nothing differs between %s and %s, of %d things that were compared\n", names[0], names[1], len(result.Equal))
	} else {
		rows := [][]string{{"", names[0], names[1]}}
		for _, d := range result.Differences {
			left, right := compare.Excerpts(d.Left, d.Right)
			rows = append(rows, []string{d.What, cmp.Or(left, "-"), cmp.Or(right, "-")})
		}
		if err := writeTable(w, rows); err != nil {
			return err
		}
	}
	for _, text := range result.Unknown {
		fmt.Fprintln(w, "note: "+text)
	}
	return nil
}
