// Package reviewer is the program runtime-compiler-review, so that tests can run it as well: the commands diff, comment, publish and drift
// of runtime-compiler, which replaces itself by it for them. They need git, registries, and the clients of forges and of Kubernetes, for
// which every other command would pay when it starts.
//
// People meet runtime-compiler only: usage, help and errors say so.
package reviewer

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/apart"
	"lockstep.dev/lockstep/internal/cli"
)

// Run runs a command line of runtime-compiler and returns the exit code.
func Run(args []string, stdout, stderr io.Writer) int {
	if err := apart.ForReview(); err != nil {
		fmt.Fprintf(stderr, "error: %v\n", err)
		return cli.ExitFailure
	}
	return cli.Run(newRoot(), args, stdout, stderr)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "runtime-compiler",
		Short: "Review, publish and compare what specs compile to",
		Long: `This is runtime-compiler-review, a part of runtime-compiler, which starts it for the commands below: type them as they are shown.
All other commands are in runtime-compiler itself; both programs belong into one folder, with runtime-compiler-charts.`,
		Args: cli.KnownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },

		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return given(cmd) },
	}
	// The scripts that complete words in shells are those of runtime-compiler.
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(newComment(), newDiff(), newDrift(), newPublish(), cli.NewJsonnetWorker())
	return root
}
