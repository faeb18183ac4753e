package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
)

func newEvents(k *kube) *cobra.Command {
	var o outputFlag
	var warnings bool
	cmd := &cobra.Command{
		Use:   "events NAME",
		Short: "Print the events about a job, its JobSet, its Jobs and its pods, the oldest first",
		Example: `  kubectl mpi events train

  # Only what went wrong
  kubectl mpi events train --warnings`,
		Args:              cli.ArgsBetween(1, 1),
		ValidArgsFunction: k.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			key, err := k.jobKey(args[0])
			if err != nil {
				return err
			}
			c, err := k.Client()
			if err != nil {
				return err
			}
			events, err := fetch.ReadEvents(cmd.Context(), c, key)
			if err != nil {
				return err
			}
			list := []fetch.JobEvent{}
			var names []string
			for _, e := range events {
				if !warnings || e.Type == "Warning" {
					list, names = append(list, e), append(names, e.Object)
				}
			}
			return o.printResult(k.streams.Out, printable{value: map[string]any{"items": list}, names: names, text: func(w io.Writer) error {
				return writeEvents(w, k.streams.ErrOut, list)
			}})
		},
	}
	cmd.Flags().BoolVar(&warnings, "warnings", false, "only events of type Warning")
	o.registerFlag(cmd, false)
	return cmd
}

func writeEvents(w, notes io.Writer, events []fetch.JobEvent) error {
	if len(events) == 0 {
		fmt.Fprintln(notes, "There are no events about this job: clusters usually keep them for an hour.")
		return nil
	}
	now := time.Now()
	rows := [][]string{{"LAST SEEN", "TYPE", "REASON", "OBJECT", "COUNT", "MESSAGE"}}
	for _, e := range events {
		rows = append(rows, []string{agoText(e.At, now), e.Type, e.Reason, e.Object, fmt.Sprint(e.Count), firstLine(e.Message)})
	}
	return writeTable(w, rows)
}
