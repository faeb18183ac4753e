// Package cli is what the command lines have in common, that of runtime-compiler and that of kubectl mpi: how a run ends, words for
// mistakes, progress, colours, versions, and the pace of the collector.
package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// The exit codes of all programs.
const (
	ExitFine    = 0
	ExitFailure = 1
	ExitUsage   = 2
)

// ExitFailOn is the exit code of runtime-compiler if it finds something that --fail-on names.
const ExitFailOn = 3

// ErrReported ends a command whose findings were printed already.
var ErrReported = errors.New("reported")

// ExitError is an error of the work, with its exit code. All other errors are mistakes on the command line.
type ExitError struct {
	Code int
	Err  error
}

func (e ExitError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e ExitError) Unwrap() error { return e.Err }

// Failure is an error of the work that no other exit code is for.
func Failure(err error) error { return ExitError{Code: ExitFailure, Err: err} }

// Run runs a command line and returns the exit code.
func Run(root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	root.SilenceUsage, root.SilenceErrors, root.SuggestionsMinimumDistance = true, true, 2
	root.SetFlagErrorFunc(explainFlagError)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteC()
	var ended ExitError
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
