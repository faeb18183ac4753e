package apart

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"lockstep.dev/lockstep/pkg/compile/patch/chart"
)

// ReviewCommands are the commands of runtime-compiler that ReviewProgram has, and what lists of commands say about them.
var ReviewCommands = map[string]string{
	"comment": "Write a report of diff to a pull request, in one comment",
	"diff":    "Say what a change of the specs means for the clusters",
	"drift":   "Say where a cluster is not what the specs compile to",
	"publish": "Bring the compiled tree of a commit to a branch or a registry",
}

// builtFrom is the variable in the environment by which ReviewProgram learns for which build it works.
const builtFrom = "LOCKSTEP_RUNTIME_COMPILER_BUILD"

// Review replaces this process by ReviewProgram, with the same arguments and environment, for one of its commands. It returns only where
// it cannot.
func Review(command string) error {
	program, err := Beside(ReviewProgram)
	if err != nil {
		return err
	}
	if err := os.Setenv(builtFrom, chart.Build()); err != nil {
		return err
	}
	args := append([]string{ReviewProgram}, os.Args[1:]...)
	err = syscall.Exec(program, args, os.Environ()) //nolint:gosec // it is part of this release
	return notStarted("`"+command+"` needs", program, &fs.PathError{Op: "execute", Path: program, Err: err})
}

// ForReview refuses to work for another build of runtime-compiler, whose compiled output could be another one. A process that nobody
// replaced works for itself.
func ForReview() error {
	of, replaced := os.LookupEnv(builtFrom)
	if !replaced {
		return nil
	}
	if err := os.Unsetenv(builtFrom); err != nil {
		return err
	}
	if own := chart.Build(); of != own {
		return fmt.Errorf("%s is %s, runtime-compiler is %s: install all programs of one release", ReviewProgram, own, of)
	}
	return nil
}
