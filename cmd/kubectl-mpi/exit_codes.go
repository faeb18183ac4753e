package main

import (
	"errors"
	"fmt"
	"strings"

	"lockstep.dev/lockstep/internal/cli"
)

// The exit codes beyond those of all programs: 0 fine, 1 an error, 2 a mistake on the command line. They are stable: scripts branch on them.
const (
	// exitJobFailed: the command did its work, and the job that it is about failed, or the controller refused it.
	exitJobFailed = 3
	// exitTimeout: what was waited for did not come in time.
	exitTimeout = 4
	// exitForbidden: the API server does not let this user do that, or does not know them.
	exitForbidden = 5
	// exitRefused: a quota, an admission policy or a preflight refuses the job.
	exitRefused = 6
	// exitInterrupted: somebody pressed Ctrl-C. The job goes on.
	exitInterrupted = 130
)

// exitCodes are all of them with what they mean.
var exitCodes = []struct {
	code    int
	meaning string
}{
	{cli.ExitFine, "fine"},
	{cli.ExitFailure, "an error"},
	{cli.ExitUsage, "a mistake on the command line"},
	{exitJobFailed, "the job failed or was refused by the controller"},
	{exitTimeout, "a timeout"},
	{exitForbidden, "you may not do that"},
	{exitRefused, "refused by a quota, a policy or a preflight"},
	{exitInterrupted, "interrupted"},
}

// exitCodesText names them in one sentence.
func exitCodesText() string {
	var parts []string
	for _, e := range exitCodes {
		parts = append(parts, fmt.Sprintf("%d %s", e.code, e.meaning))
	}
	return "Exit codes: " + strings.Join(parts, ", ") + "."
}

// exitWith returns an error with its exit code.
func exitWith(code int, err error) error { return cli.ExitError{Code: code, Err: err} }

// usageError is a mistake on the command line that only the command itself can see. All other errors that a command returns are of its work.
type usageError struct{ error }

// usageErrorf returns a mistake on the command line.
func usageErrorf(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func isUsage(err error) bool {
	var usage usageError
	return errors.As(err, &usage)
}
