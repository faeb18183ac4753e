package waiting

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/proc"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/agent/state"
)

// libraries has the library for each architecture for which somebody has compiled it (make waiting), beside its source.
//
//go:embed library
var libraries embed.FS

const (
	libraryName     = "libwaiting.so"
	preloadVariable = "LD_PRELOAD"
)

// IsAsked reports whether the job of this environment wants to know how long its ranks wait. Who names files of his own reads them himself.
func IsAsked(environment []string) bool {
	path, _ := proc.VariableValue(environment, mpi.WaitingVariable)
	return path == mpi.WaitingPath
}

// Preload returns the environment in which commands have their ranks counted, where the job asks for it: the library is in the state folder
// then. With an error the environment is as it was, because the loader tells every program of a library that it cannot have.
func Preload(environment []string, stateDir string) ([]string, error) {
	if !IsAsked(environment) {
		return environment, nil
	}
	library, err := libraries.ReadFile("library/libwaiting-" + runtime.GOARCH + ".so")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return environment, fmt.Errorf("waiting is not counted: this agent was built where there was no C compiler for %s", runtime.GOARCH)
	case err != nil:
		return environment, fmt.Errorf("waiting is not counted: %w", err)
	case forbidsPrograms(stateDir):
		return environment, fmt.Errorf("waiting is not counted: %s is mounted noexec, and the loader would refuse a library there", stateDir)
	}
	path := filepath.Join(stateDir, libraryName)
	if err := state.ReplaceFile(path, library, 0o555); err != nil {
		return environment, fmt.Errorf("waiting is not counted: write its library: %w", err)
	}
	return process.OverrideVariables(environment, []string{
		// Behind those of the user: a tool of his own that counts calls goes on to do so, in our place.
		appendedTo(environment, preloadVariable, path),
		// Programs with GCC's AddressSanitizer do not start behind a library. Ours has nothing that it looks after.
		appendedTo(environment, "ASAN_OPTIONS", "verify_asan_link_order=0"),
		mpi.WaitingVariable + "=" + filepath.Join(stateDir, filepath.Base(mpi.WaitingPath)),
	}), nil
}

// appendedTo is a variable whose value is a list with colons between its words, with one word more.
func appendedTo(environment []string, variable, word string) string {
	list, _ := proc.VariableValue(environment, variable)
	return variable + "=" + strings.TrimPrefix(list+":"+word, ":")
}

// noExec is ST_NOEXEC of statfs(2).
const noExec = 8

func forbidsPrograms(dir string) bool {
	var mounted unix.Statfs_t
	return unix.Statfs(dir, &mounted) == nil && mounted.Flags&noExec != 0
}
