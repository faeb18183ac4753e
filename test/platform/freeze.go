package platform

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Freeze stops a component of machine 0 with SIGSTOP: it neither answers nor ends. Thaw lets it go on, and may be called again.
func (p *Platform) Freeze(ctx context.Context, component string) (thaw func() error, err error) {
	machines, err := p.LocalMachines(ctx)
	if err != nil {
		return nil, err
	}
	pid, err := processOn(machines[0], component)
	if err != nil {
		return nil, fmt.Errorf("freeze %s: %w", component, err)
	}
	thaw = func() error { return unix.Kill(pid, unix.SIGCONT) }
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		return nil, fmt.Errorf("freeze %s: %w", component, errors.Join(err, thaw()))
	}
	return thaw, nil
}

// processOn finds a component of a machine: a child of its first process, by the name of its program.
func processOn(m Machine, component string) (pid int, err error) {
	paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", m.PID))
	if err != nil {
		return 0, err
	}
	for _, path := range paths {
		children, err := os.ReadFile(path) //nolint:gosec // of the first process of a machine
		if err != nil {
			return 0, err
		}
		for _, child := range strings.Fields(string(children)) {
			if program, _ := os.Readlink(filepath.Join("/proc", child, "exe")); filepath.Base(program) == component {
				return strconv.Atoi(child)
			}
		}
	}
	return 0, fmt.Errorf("%s has no process of that name", m.Name)
}
