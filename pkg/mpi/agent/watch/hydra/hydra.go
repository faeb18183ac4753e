package hydra

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"lockstep.dev/lockstep/pkg/mpi/agent/proc"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/agent/program"
)

// Hydra never ends when it has lost a proxy: neither the death of its remote shell, nor a frozen pod, nor a killed proxy
// makes mpiexec exit (seen with MPICH 4.0). So the remote shell ends it. It does so from a process of its own: mpiexec
// kills its remote shells as soon as it is told to end, and may hang all the same.

// EndLauncherCommand is the subcommand of the helper process. It is not for users.
const EndLauncherCommand = "end-parent"

const (
	// ownEnd is how long Hydra may take to end by itself after a proxy has ended with an error: it then prints which
	// rank failed.
	ownEnd = 2 * time.Second
	// lastWords is the time between SIGTERM and SIGKILL.
	lastWords = time.Second
	// proxyPoll and launcherPoll are the times between two looks whether a proxy hangs, on a node and in the launcher's pod.
	proxyPoll    = 100 * time.Millisecond
	launcherPoll = 500 * time.Millisecond
)

// LauncherKillDelay reports whether, and after which time, the launcher that started a remote shell has to be ended, by the code of its command.
func LauncherKillDelay(command string, code int) (after time.Duration, end bool) {
	switch {
	case !program.LineNamesHydraProxy(command) || code == 0:
		return 0, false
	case code == program.CodeToldToEnd:
		return ownEnd, true // who stops that pod may stop this one too, a moment later
	case code >= process.CodeNotExecutable: // killed, not startable, or its node was lost
		return 0, true
	}
	return ownEnd, true
}

// DecodeExitCode is the exit code of the remote shell whose command ended with a code: that of a failure that a proxy hides stays hidden.
func DecodeExitCode(command string, code int) int {
	if code == CodeHidden && program.LineNamesHydraProxy(command) {
		return 0
	}
	return code
}

// StartEndLauncher starts the helper process, detached from the caller's session, and does not wait for it.
func StartEndLauncher(executable string, parent int, after time.Duration) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("end the launcher: %w", err)
	}
	defer null.Close()
	// The helper must not hold what this process has inherited from mpiexec, which would wait for the helper then. Before
	// Linux 5.11 it does, and mpiexec is slower to end.
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	helper, err := os.StartProcess(executable,
		[]string{executable, EndLauncherCommand, strconv.Itoa(parent), after.String()},
		&os.ProcAttr{Env: os.Environ(), Files: []*os.File{null, null, null}, Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		return fmt.Errorf("end the launcher: %w", err)
	}
	return helper.Release()
}

// EndLauncher ends a process: after a time in which it may end by itself, with SIGTERM, and with SIGKILL a second later. It does not where
// spared, which may be nil, reports so by then.
// The process is held by a descriptor from the start, so that a new process with the same number is safe.
func EndLauncher(pid int, after time.Duration, spared func() bool) error {
	parent, err := os.FindProcess(pid)
	if err != nil {
		return fmt.Errorf("find process %d: %w", pid, err)
	}
	if endsWithin(parent, after) || spared != nil && spared() || parent.Signal(syscall.SIGTERM) != nil || endsWithin(parent, lastWords) {
		return nil //nolint:nilerr // a process that cannot be signalled has ended
	}
	return parent.Kill()
}

// endsWithin reports whether a process ends within a time. A process that is not our child can only be looked at.
func endsWithin(p *os.Process, limit time.Duration) bool {
	const look = 10 * time.Millisecond
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(look) {
		if p.Signal(syscall.Signal(0)) != nil {
			return true
		}
	}
	return false
}

// Lingering ends an mpiexec that has neither programs here nor remote shells, when it has not ended by itself after a moment.
type Lingering struct{ since time.Time }

// Observe takes in what runs in the pod.
func (e *Lingering) Observe(processes []proc.Process) {
	pid := emptyLauncher(processes)
	e.since = since(e.since, time.Now(), pid != 0)
	if pid != 0 && time.Since(e.since) > ownEnd {
		_ = EndLauncher(pid, 0, nil) // it may have ended meanwhile
	}
}

// emptyLauncher returns the process of a launcher that has nothing to wait for, neither programs here nor remote shells, 0 for none: Hydra's
// may wait forever when it has lost a proxy.
func emptyLauncher(processes []proc.Process) int {
	launch, tree := 0, proc.TreeOf(processes)
	for _, p := range processes {
		switch {
		case program.IsLauncher(p):
			launch = p.PID
		case program.IsHydraProxyName(p.Name):
		case tree.Below(p, program.IsLauncher):
			return 0
		}
	}
	return launch
}
