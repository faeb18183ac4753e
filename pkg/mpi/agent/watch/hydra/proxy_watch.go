package hydra

import (
	"context"
	"errors"
	"time"

	"lockstep.dev/lockstep/pkg/mpi/agent/program"
	"lockstep.dev/lockstep/pkg/mpi/agent/sleep"
)

// CodeHidden is what a node answers for a proxy of Hydra that exits 0 although ranks of it failed (pmodels/mpich#7057), and for one
// that it had to end because of them.
// The remote shell passes the 0 on, because mpiexec may know better than the proxy's exit code does and would trip over
// another one, but ends an mpiexec that waits forever for the rest of the world (LauncherKillDelay).
const CodeHidden = 121

// proxyPoll is the time between two looks whether a proxy hangs. RankWatcher, which finds that out, looks no more often once a launch has run for a
// while, and each look wakes the agent, on a processor that a rank may be using.
const proxyPoll = 500 * time.Millisecond

// ErrRanksWait is why a proxy of Hydra is ended.
var ErrRanksWait = errors.New("a rank had ended, and all others of its proxy waited for it, as in MPI_Init")

// proxyWatch watches a command of a node that may be a proxy of Hydra. Other commands it leaves alone.
type proxyWatch struct {
	proxies *Proxies
	hydra   bool
	ctx     context.Context //nolint:containedctx // it is what this type is about: as long as the command may run
	end     context.CancelCauseFunc
	command int
}

// WatchProxy returns a context that ends with ErrRanksWait when the command has to be ended, because it hangs.
func WatchProxy(ctx context.Context, proxies *Proxies, line string) (context.Context, *proxyWatch) {
	ctx, end := context.WithCancelCause(ctx)
	return ctx, &proxyWatch{proxies: proxies, hydra: program.StartsHydraProxy(line), ctx: ctx, end: end}
}

// StartWatching begins to watch the process of the command.
func (w *proxyWatch) StartWatching(pid int) {
	if !w.hydra {
		return
	}
	w.command = pid
	go func() {
		for sleep.For(w.ctx, proxyPoll) {
			if w.proxies.hasHungProxy(pid) {
				w.end(ErrRanksWait)
			}
		}
	}()
}

// EncodeExitCode returns the exit code for the remote shell.
func (w *proxyWatch) EncodeExitCode(code int) int {
	if code == 0 && w.hydra && w.proxies.HasLostRank(w.command) {
		return CodeHidden
	}
	return code
}

// DecodeExitCode is the exit code of the remote shell whose command ended with a code: that of a failure that a proxy hides stays hidden.
func DecodeExitCode(command string, code int) int {
	if code == CodeHidden && program.StartsHydraProxy(command) {
		return 0
	}
	return code
}

// StopWatching forgets the command, whose number may be given away again.
func (w *proxyWatch) StopWatching() {
	w.end(nil)
	w.proxies.forgetCommand(w.command)
}
