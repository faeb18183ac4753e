package compiling

import (
	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/internal/sandbox"
)

// NewJsonnetWorker is the hidden command that runtime-compiler starts itself with, to evaluate Jsonnet apart.
func NewJsonnetWorker() *cobra.Command {
	var seconds uint64
	cmd := &cobra.Command{
		Use:    sandbox.JsonnetWorker,
		Short:  "Evaluate Jsonnet for another runtime-compiler",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := sandbox.ServeJsonnet(seconds, cmd.InOrStdin(), cmd.OutOrStdout()); err != nil {
				return cli.Failure(err)
			}
			return nil
		},
	}
	cmd.Flags().Uint64Var(&seconds, "seconds", sandbox.JsonnetSeconds, "processor time")
	return cmd
}
