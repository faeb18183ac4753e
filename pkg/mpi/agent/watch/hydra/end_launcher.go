package hydra

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

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
)

// LauncherKillDelay reports whether, and after which time, the launcher that started a remote shell has to be ended, by the code of its command.
func LauncherKillDelay(command string, code int) (after time.Duration, end bool) {
	switch {
	case !program.StartsHydraProxy(command) || code == 0:
		return 0, false
	case code == program.CodeToldToEnd:
		return ownEnd, true // who stops that pod may stop this one too, a moment later
	case code >= process.CodeNotExecutable: // killed, not startable, or its node was lost
		return 0, true
	}
	return ownEnd, true
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
