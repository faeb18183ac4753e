package agent

import (
	"context"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"lockstep.dev/lockstep/pkg/mpi/agent/proc"
)

// AllowIdleVariable is the environment variable behind Launcher.AllowIdle, for jobs whose runtime fixes the flags.
const AllowIdleVariable = "LOCKSTEP_ALLOW_IDLE_NODES"

// AllowUnfinishedVariable is the environment variable behind Launcher.AllowUnfinished, for jobs whose runtime fixes the flags.
const AllowUnfinishedVariable = "LOCKSTEP_ALLOW_UNFINISHED"

const (
	// lastLaunch is how long a launcher may take to end after its command: a script may have asked it to with its last line.
	lastLaunch = 5 * time.Second
	// launchPause is the time between two looks for it.
	launchPause = 100 * time.Millisecond
)

// unfinished returns the command line of a launcher of this pod that does not end although its command has, or nothing, and the
// signal that asked the pod to stop meanwhile, or 0. Helpers that outlive the command, such as prte, are no launchers.
func (r *ranks) unfinished(ctx context.Context, signals <-chan os.Signal) (line string, stopped syscall.Signal) {
	for limit := r.now().Add(lastLaunch); ; {
		line = r.runningLauncher()
		if line == "" || r.now().After(limit) {
			return line, 0
		}
		select {
		case <-ctx.Done():
			return line, 0
		case s := <-signals:
			if signal, known := s.(syscall.Signal); known {
				return line, signal
			}
		case <-time.After(launchPause):
		}
	}
}

// runningLauncher returns the command line of the first launcher that runs, or nothing.
func (r *ranks) runningLauncher() string {
	processes := proc.Descendants(r.root, r.agent)
	i := slices.IndexFunc(processes, func(p proc.Process) bool { return isLauncher(p) && p.State != 'Z' })
	if i < 0 {
		return ""
	}
	if line := commandLineOf(r.root, processes[i].PID); line != "" {
		return quoteLine(line)
	}
	return processes[i].Name
}

// commandLineOf returns the words of a process, empty for one that has ended.
func commandLineOf(root fs.FS, pid int) string {
	text, _ := fs.ReadFile(root, strconv.Itoa(pid)+"/cmdline")
	return strings.TrimSpace(strings.ReplaceAll(string(text), "\x00", " "))
}
