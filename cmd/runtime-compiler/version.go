package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  runtime-compiler version",
		Args:    cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			fmt.Fprintln(cmd.OutOrStdout(), "runtime-compiler", cli.Version())
		},
	}
}
