// Package cli is what the command lines of runtime-compiler and runtime-compiler-review have in common, so that people meet one program:
// exit codes, flags of the commands that compile, words for mistakes, progress, colours, versions, and the pace of the collector.
//
// Every run of runtime-compiler pays for what this package imports, so it imports nothing that only some commands need: no git, no
// registries, no client of Kubernetes or of a forge.
package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// The exit codes.
const (
	ExitFine    = 0
	ExitFailure = 1
	ExitUsage   = 2
	// ExitFailOn means that there is what --fail-on names, ExitMayNot that a token may not write.
	ExitFailOn = 3
	ExitMayNot = 4
)

// ErrReported ends a command whose findings were printed already.
var ErrReported = errors.New("reported")

// Ended is an error of the work, with its exit code. All other errors are mistakes on the command line.
type Ended struct {
	Code int
	Err  error
}

func (e Ended) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e Ended) Unwrap() error { return e.Err }

// Failure is an error of the work that no other exit code is for.
func Failure(err error) error { return Ended{Code: ExitFailure, Err: err} }

// Run runs a command line and returns the exit code.
func Run(root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	root.SilenceUsage, root.SilenceErrors, root.SuggestionsMinimumDistance = true, true, 2
	root.SetFlagErrorFunc(knownFlag)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteC()
	var ended Ended
	switch {
	case err == nil:
		return ExitFine
	case errors.Is(err, ErrReported):
		return ExitFailure
	case errors.As(err, &ended):
		fmt.Fprintf(stderr, "error: %v\n", err)
		return ended.Code
	}
	fmt.Fprintf(stderr, "error: %v\n", err)
	if cmd.HasParent() {
		fmt.Fprintf(stderr, "Usage: %s\n", cmd.UseLine())
	}
	fmt.Fprintf(stderr, "Run `%s --help` for more\n", cmd.CommandPath())
	return ExitUsage
}
