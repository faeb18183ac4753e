package main

import (
	"io"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/internal/cli/compiling"
)

// run runs the command line and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	return cli.Run(newRoot(), args, stdout, stderr)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "runtime-compiler",
		Short: "Compile a repository of Lockstep specs into manifests per cluster",
		Long: `runtime-compiler reads the specs of a repository (catalog/, tenants/, overlays/), reports every mistake in them with its place,
and writes what a GitOps engine syncs: dist/<cluster>/.

Exit codes: 0 fine, 1 a mistake in the specs or a failure, 2 a mistake on the command line, 3 what --fail-on names.`,
		Example: `  # Report every mistake, write nothing
  runtime-compiler check

  # Compile all clusters into dist/
  runtime-compiler build

  # Compile one cluster of another checkout
  runtime-compiler build --root ~/platform --out /tmp/dist --cluster local`,
		Args: cli.RejectUnknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(newAffects(), newBuild(), newCheck(), newCodes(), newCost(), newDiff(), newExplain(), newFmt(), newNew(),
		newPlan(), newSchema(), newVersion(), compiling.NewJsonnetWorker())
	return root
}
