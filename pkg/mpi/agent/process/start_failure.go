package process

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
)

func isExecutableNotFound(err error) bool {
	return errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist)
}

// Exit codes as POSIX shells use them.
const (
	CodeAgentFailed   = 125
	CodeNotExecutable = 126
	CodeNotFound      = 127
)

// StartFailureCode is the exit code of a command that could not be started.
func StartFailureCode(err error) int {
	var noShell *NoShellError
	switch {
	case isExecutableNotFound(err), errors.As(err, &noShell):
		return CodeNotFound
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.ENOEXEC), errors.Is(err, syscall.EISDIR):
		return CodeNotExecutable
	}
	return CodeAgentFailed
}
