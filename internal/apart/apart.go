// Package apart is about what the programs of a release do in other processes: Jsonnet and charts, which strangers wrote, in processes
// with limits, and the commands that need large libraries in a program of their own.
//
// A release is three programs in one folder: runtime-compiler, runtime-compiler-charts and runtime-compiler-review. Only there are the
// others looked for, never along PATH, and they work for a runtime-compiler of their own build only.
package apart

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The programs of a release beside runtime-compiler.
const (
	// ChartProgram renders charts.
	ChartProgram = "runtime-compiler-charts"
	// ReviewProgram has the commands that ReviewCommands names.
	ReviewProgram = "runtime-compiler-review"
)

// Beside returns where another program of the release must be: in the folder of this one, whatever link it was started by.
func Beside(program string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(self), program), nil
}

// notStarted says what to do about a program that could not be started, for those who need it.
func notStarted(who, program string, err error) error {
	switch name := filepath.Base(program); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s the program %s, which is not in %s: install all programs of a release in one folder", who, name, filepath.Dir(program))
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s the program %s, which may not be executed: run `chmod +x %s`, and look for `noexec` where its folder is mounted", who, name, program)
	}
	return err
}
