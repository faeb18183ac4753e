package main

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/jobs/view"
)

func newGet(k *kube) *cobra.Command {
	var o outputFlag
	cmd := &cobra.Command{
		Use:   "get NAME",
		Short: "Show one job in one line, or all that is known of it as JSON or YAML",
		Example: `  # The phase, for a script
  kubectl mpi get train -o jsonpath='{.phase}'

  # All that is known
  kubectl mpi get train -o yaml`,
		Args:              cli.ArgsBetween(1, 1),
		ValidArgsFunction: k.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			j, err := k.readJob(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return o.printResult(k.streams.Out, printable{value: j, names: []string{namePrefix + j.Name}, text: func(w io.Writer) error {
				return writeTable(w, [][]string{view.ColumnHeadings(), j.Columns(time.Now()).Cells()})
			}})
		},
	}
	o.registerFlag(cmd, false)
	return cmd
}
