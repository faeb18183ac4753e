package cli

import (
	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/apart"
)

// NewJsonnetWorker is the hidden command that a program which compiles starts itself with, to evaluate Jsonnet apart.
func NewJsonnetWorker() *cobra.Command {
	var seconds uint64
	cmd := &cobra.Command{
		Use:    apart.JsonnetWorker,
		Short:  "Evaluate Jsonnet for another runtime-compiler",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := apart.ServeJsonnet(seconds, cmd.InOrStdin(), cmd.OutOrStdout()); err != nil {
				return Failure(err)
			}
			return nil
		},
	}
	cmd.Flags().Uint64Var(&seconds, "seconds", apart.JsonnetSeconds, "processor time")
	return cmd
}
