package agent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Hydra never ends when it has lost a proxy: neither the death of its remote shell, nor a frozen pod, nor a killed proxy
// makes mpiexec exit (seen with MPICH 4.0). So the remote shell ends it. It does so from a process of its own: mpiexec
// kills its remote shells as soon as it is told to end, and may hang all the same.

// EndParentCommand is the subcommand of the helper process. It is not for users.
const EndParentCommand = "end-parent"

const (
	// ownEnd is how long Hydra may take to end by itself after a proxy has ended with an error: it then prints which
	// rank failed.
	ownEnd = 2 * time.Second
	// lastWords is the time between SIGTERM and SIGKILL.
	lastWords = time.Second
)

// HydraMercy says whether, and after which time, the launcher that started a remote shell has to be ended.
func HydraMercy(command string, result Result) (after time.Duration, end bool) {
	switch {
	case result.Hidden:
		return ownEnd, true
	case !isHydraProxy(command) || result.Code == 0:
		return 0, false
	case result.Code == toldToEnd.Code:
		return ownEnd, true // who stops that pod may stop this one too, a moment later
	case result.Lost || result.Code >= codeNotExecutable:
		return 0, true
	}
	return ownEnd, true
}

// StartEndParent starts the helper process, detached from the caller's session, and does not wait for it.
func StartEndParent(program string, parent int, after time.Duration) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("end the launcher: %w", err)
	}
	defer null.Close()
	// The helper must not hold what this process has inherited from mpiexec, which would wait for the helper then. Before
	// Linux 5.11 it does, and mpiexec is slower to end.
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	helper, err := os.StartProcess(program,
		[]string{program, EndParentCommand, strconv.Itoa(parent), after.String()},
		&os.ProcAttr{Env: os.Environ(), Files: []*os.File{null, null, null}, Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		return fmt.Errorf("end the launcher: %w", err)
	}
	return helper.Release()
}

// EndParent ends a process: after a time in which it may end by itself, with SIGTERM, and with SIGKILL a second later. It does not where
// spared says so by then.
// The process is held by a descriptor from the start, so that a new process with the same number is safe.
func EndParent(pid int, after time.Duration, spared func() bool) error {
	parent, err := os.FindProcess(pid)
	if err != nil {
		return fmt.Errorf("find process %d: %w", pid, err)
	}
	if endsWithin(parent, after) || spared() || parent.Signal(syscall.SIGTERM) != nil || endsWithin(parent, lastWords) {
		return nil //nolint:nilerr // a process that cannot be signalled has ended
	}
	return parent.Kill()
}

func neverSpared() bool { return false }

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

// codeHidden is what a node answers for a proxy of Hydra that exits 0 although ranks of it failed (pmodels/mpich#7057), and for one
// that it had to end because of them.
// The remote shell passes the 0 on, because mpiexec may know better than the proxy's exit code does and would trip over
// another one, but ends an mpiexec that waits for ever for the rest of the world (HydraMercy).
const codeHidden = 121

// errRanksWait is why a proxy of Hydra is ended.
var errRanksWait = errors.New("a rank had ended, and all others of its proxy waited for it, as in MPI_Init")

// proxyWatch watches a command of a node that may be a proxy of Hydra. Other commands it leaves alone.
type proxyWatch struct {
	proxies *proxies
	hydra   bool
	ctx     context.Context //nolint:containedctx // it is what this type is about: as long as the command may run
	end     context.CancelCauseFunc
	command int
}

// watchProxy returns a context that ends with errRanksWait when the command has to be ended, because it hangs.
func watchProxy(ctx context.Context, proxies *proxies, line string) (context.Context, *proxyWatch) {
	ctx, end := context.WithCancelCause(ctx)
	return ctx, &proxyWatch{proxies: proxies, hydra: isHydraProxy(line), ctx: ctx, end: end}
}

// started begins to watch the process of the command.
func (w *proxyWatch) started(pid int) {
	if !w.hydra {
		return
	}
	w.command = pid
	go func() {
		for sleep(w.ctx, secondLooks) {
			if w.proxies.hangs(pid) {
				w.end(errRanksWait)
			}
		}
	}()
}

// truth returns the exit code for the remote shell.
func (w *proxyWatch) truth(code int) int {
	if code == 0 && w.hydra && w.proxies.lostRank(w.command) {
		return codeHidden
	}
	return code
}

// release forgets the command, whose number may be given away again.
func (w *proxyWatch) release() {
	w.end(nil)
	w.proxies.forget(w.command)
}

// endHungLaunchers ends an mpiexec of this pod whose own proxy hangs, until the context ends: Hydra starts the ranks of its own
// host without a remote shell, and so without a node's agent.
func endHungLaunchers(ctx context.Context, proxies *proxies, say func(format string, args ...any)) {
	for sleep(ctx, lastLooks) {
		for _, launcher := range proxies.hungLaunchers() {
			say("end mpiexec (process %d): %v", launcher, errRanksWait)
			if err := EndParent(launcher, 0, neverSpared); err != nil {
				say("%v", err)
			}
		}
	}
}
