package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockstep.dev/lockstep/pkg/compile/diag"
)

// The exit codes.
const (
	exitFine    = 0
	exitFailure = 1
	exitUsage   = 2
	exitFailOn  = 3
	exitMayNot  = 4
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
	cmd, err := root.ExecuteC()
	var failed failure
	var severe tooSevere
	var meant consequential
	var mayNot forbidden
	switch {
	case err == nil:
		return exitFine
	case errors.Is(err, errReported):
		return exitFailure
	case errors.As(err, &severe), errors.As(err, &meant):
		fmt.Fprintf(stderr, "error: %v\n", err)
		return exitFailOn
	case errors.As(err, &mayNot):
		fmt.Fprintf(stderr, "error: %v\n", err)
		return exitMayNot
	case errors.As(err, &failed):
		fmt.Fprintf(stderr, "error: %v\n", err)
		return exitFailure
	}
	fmt.Fprintf(stderr, "error: %v\n", err)
	if cmd.HasParent() {
		fmt.Fprintf(stderr, "Usage: %s\n", cmd.UseLine())
	}
	fmt.Fprintf(stderr, "Run `%s --help` for more\n", cmd.CommandPath())
	return exitUsage
}

// takes asks for a number of arguments, in the words of the command's own usage.
func takes(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if least <= len(args) && len(args) <= most {
			return nil
		}
		_, wanted, _ := strings.Cut(cmd.Use, " ")
		if len(args) == 0 {
			return fmt.Errorf("`%s` takes %s, and nothing was given", cmd.Name(), wanted)
		}
		return fmt.Errorf("`%s` takes %s, and %d arguments were given", cmd.Name(), wanted, len(args))
	}
}

// knownFlag adds to the error about a flag that there is none the one that was probably meant, and says of a value what is needed.
func knownFlag(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		if what := wanted(invalid.GetFlag().Value.Type()); what != "" {
			return fmt.Errorf("`%s` is no value for `--%s`: %s is needed", invalid.GetValue(), invalid.GetFlag().Name, what)
		}
		return err // a flag of our own says it itself
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	name := unknown.GetSpecifiedName()
	if len(name) == 1 {
		return fmt.Errorf("unknown flag `-%s`", name)
	}
	var flags []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
	if near, found := diag.Nearest(name, flags); found {
		return fmt.Errorf("unknown flag `--%s`: did you mean `--%s`?", name, near)
	}
	return fmt.Errorf("unknown flag `--%s`", name)
}

// wanted names the values of a type of flags that reads numbers and the like, or is "".
func wanted(kind string) string {
	switch {
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"), kind == "count":
		return "a whole number"
	case kind == "bool":
		return "`true` or `false`"
	case kind == "duration":
		return "a length of time such as `90s`"
	}
	return ""
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

Exit codes: 0 fine, 1 a mistake in the specs or a failure, 2 a mistake on the command line, 3 what --fail-on names,
4 a token that may not write.`,
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
	root.SetFlagErrorFunc(knownFlag)
	root.AddCommand(newAffects(), newBuild(), newCheck(), newCodes(), newComment(), newDiff(), newDrift(), newExplain(), newFmt(), newGraph(), newNew(), newPlan(), newPublish(), newSchema(), newVersion(), newWatch(), newJsonnetWorker())
	return root
}
