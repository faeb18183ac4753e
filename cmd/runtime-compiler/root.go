package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// The exit codes.
const (
	exitFine    = 0
	exitFailure = 1
	exitUsage   = 2
	exitFailOn  = 3
)

// errReported ends a command whose findings were printed already.
var errReported = errors.New("reported")

// failure is an error of the work, not of the command line.
type failure struct{ error }

// tooSevere ends a command that found warnings, where these should make it fail. It holds their number.
type tooSevere struct{ warnings int }

func (e tooSevere) Error() string {
	return fmt.Sprintf("warnings: %d, and --fail-on is `warning`", e.warnings)
}

// run runs the command line and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.Execute()
	var failed failure
	var severe tooSevere
	switch {
	case err == nil:
		return exitFine
	case errors.Is(err, errReported):
		return exitFailure
	case errors.As(err, &severe):
		fmt.Fprintf(stderr, "error: %v\n", err)
		return exitFailOn
	case errors.As(err, &failed):
		fmt.Fprintf(stderr, "error: %v\n", err)
		return exitFailure
	}
	fmt.Fprintf(stderr, "error: %v\nRun `runtime-compiler --help` for usage\n", err)
	return exitUsage
}

// knownCommand refuses what is no command, with the one that was probably meant.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("unknown command `%s`: did you mean `%s`?", args[0], strings.Join(near, "` or `"))
	}
	return fmt.Errorf("unknown command `%s`", args[0])
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "runtime-compiler",
		Short: "Compile a repository of Lockstep specs into manifests per cluster",
		Long: `runtime-compiler reads the specs of a repository (catalog/, tenants/, overlays/), reports every mistake in them with its place,
and writes what a GitOps engine syncs: dist/<cluster>/.

Exit codes: 0 fine, 1 a mistake in the specs or a failure, 2 a mistake on the command line, 3 warnings with --fail-on warning.`,
		Example: `  # Report every mistake, write nothing
  runtime-compiler check

  # Compile all clusters into dist/
  runtime-compiler build

  # Compile one cluster of another checkout
  runtime-compiler build --root ~/platform --out /tmp/dist --cluster local`,
		Args:          knownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SuggestionsMinimumDistance = 2
	root.AddCommand(newAffects(), newBuild(), newCheck(), newCodes(), newExplain(), newFmt(), newGraph(), newNew(), newPlan(), newSchema(), newVersion(), newWatch(), newJsonnetWorker())
	return root
}
