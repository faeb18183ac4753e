package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
)

func newVersion(k *kube) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  kubectl mpi version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(k.streams.Out, "kubectl-mpi", cli.Version())
			return err
		},
	}
}
