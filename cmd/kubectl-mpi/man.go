package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"lockstep.dev/lockstep/internal/cli"
)

func newMan(k *kube) *cobra.Command {
	return &cobra.Command{
		Use:   "man FOLDER",
		Short: "Write the manual pages of all commands into a folder",
		Long: `Write the manual pages of all commands into a folder, which is made if there is none. A release has them already; who has the program alone gets them
here. man finds them below the folders that ` + "`manpath`" + ` prints.`,
		Example: `  kubectl mpi man ~/.local/share/man/man1
  man kubectl-mpi-submit`,
		Args: cli.ArgsBetween(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := writeManual(cmd.Root(), args[0]); err != nil {
				return cli.Failure(err)
			}
			_, err := fmt.Fprintf(k.streams.Out, "the manual pages are in %s\n", args[0])
			return err
		},
	}
}

// writeManual writes a page per command. $SOURCE_DATE_EPOCH is their date, if it is set (https://reproducible-builds.org).
func writeManual(root *cobra.Command, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	root.DisableAutoGenTag = true
	return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Manual: "kubectl mpi", Source: "Lockstep " + cli.Version()}, folder)
}
