// Package sandbox is about what runtime-compiler does in other processes: Jsonnet and charts, which strangers wrote, in processes with
// limits.
//
// A release is two programs in one folder: runtime-compiler and runtime-compiler-charts. Only there is the second looked for, never
// along PATH, and it works for a runtime-compiler of its own build only.
package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ChartProgram is the program of a release that renders charts.
const ChartProgram = "runtime-compiler-charts"

// ChartProgramPath returns where the other program of the release must be: in the folder of this one, whatever link it was started by.
func ChartProgramPath() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(self), ChartProgram), nil
}

// startError says what to do about the program if it could not be started.
func startError(program string, err error) error {
	switch name := filepath.Base(program); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("components need the program %s, which is not in %s: install all programs of a release in one folder", name, filepath.Dir(program))
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("components need the program %s, which may not be executed: run `chmod +x %s`, and look for `noexec` where its folder is mounted", name, program)
	}
	return err
}
