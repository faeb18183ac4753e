package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// ErrInterrupted ends a run that somebody interrupted.
var ErrInterrupted = errors.New("interrupted: nothing was written")

// processLimits are those of a process that runs programs of others.
type processLimits struct {
	// seconds are those of processor time, memory is in bytes.
	seconds, memory uint64
	// longest is for how long we wait for all its answers together; 0 means slack times its processor time, and leastWait at least.
	longest time.Duration
}

func (l processLimits) String() string {
	return fmt.Sprintf("%d s of processor time and %d MiB of memory", l.seconds, l.memory>>20)
}

// slack is how many times its processor time a process may keep us waiting, and leastWait what any may: it has to share the machine, but
// one that sleeps ends too.
const (
	slack     = 3
	leastWait = 30 * time.Second
)

func (l processLimits) longestWait() time.Duration {
	if l.longest > 0 {
		return l.longest
	}
	return max(leastWait, slack*time.Duration(l.seconds)*time.Second) //nolint:gosec // minutes
}

// grace is how long a process may take to end when nobody asks it anything any more.
const grace = 10 * time.Second

// workerProcess is a process with limits, of which it sets those for processor time and memory for itself. It has no environment, so that
// nothing in it can leak. It is for one goroutine.
type workerProcess struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	// in and out take deadlines, as pipes do.
	out    io.ReadCloser
	stderr firstBytes

	limits processLimits
	budget *cpuTimeBudget
	// waited is for how long we have waited for it.
	waited time.Duration
	// signals are Ctrl-C and the like, which end it first.
	signals     chan os.Signal
	interrupted atomic.Bool
}

// startWorker starts a program. Its time counts in the budget.
func startWorker(program string, args []string, l processLimits, b *cpuTimeBudget) (*workerProcess, error) {
	if err := b.checkLeft(); err != nil {
		return nil, err
	}
	// In a process group of its own, it does not get Ctrl-C from the terminal, but its end from us.
	cmd := &exec.Cmd{Path: program, Args: args, Env: []string{}, SysProcAttr: &syscall.SysProcAttr{Setpgid: true}}
	w := &workerProcess{cmd: cmd, limits: l, budget: b, signals: make(chan os.Signal, 1)}
	w.cmd.Stderr = &w.stderr
	var inErr, outErr error
	w.in, inErr = w.cmd.StdinPipe()
	w.out, outErr = w.cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr, w.cmd.Start()); err != nil {
		return nil, err
	}
	signal.Notify(w.signals, os.Interrupt, syscall.SIGTERM)
	go w.forwardSignals()
	return w, nil
}

// forwardSignals ends the process at a signal, and lets the signal do then what it would have done. Processes that are asked for later are not
// started any more.
func (w *workerProcess) forwardSignals() {
	caught, more := <-w.signals
	if !more {
		return
	}
	w.interrupted.Store(true)
	w.budget.interrupt()
	_ = w.cmd.Process.Kill()
	signal.Stop(w.signals)
	_ = syscall.Kill(os.Getpid(), caught.(syscall.Signal)) //nolint:forcetypeassert // package signal sends no others
}

// deadlineSetter is a pipe.
type deadlineSetter interface{ SetDeadline(time.Time) error }

func (w *workerProcess) Read(p []byte) (int, error)  { return w.withDeadline(w.out, w.out.Read, p) }
func (w *workerProcess) Write(p []byte) (int, error) { return w.withDeadline(w.in, w.in.Write, p) }

// withDeadline waits for the process as long as it may still take.
func (w *workerProcess) withDeadline(pipe any, do func([]byte) (int, error), p []byte) (int, error) {
	began := time.Now()
	if d, takes := pipe.(deadlineSetter); takes {
		// A pipe takes deadlines wherever it does not block a thread.
		_ = d.SetDeadline(began.Add(w.limits.longestWait() - w.waited))
	}
	n, err := do(p)
	w.waited += time.Since(began)
	return n, err
}

// End closes the input, at whose end the process ends itself, and returns why it had ended before, or "".
func (w *workerProcess) End() string {
	_ = w.in.Close()
	late := w.waited >= w.limits.longestWait()
	if late {
		_ = w.cmd.Process.Kill()
	}
	stop := time.AfterFunc(grace, func() { _ = w.cmd.Process.Kill() })
	err := w.cmd.Wait()
	stop.Stop()
	signal.Stop(w.signals)
	if !w.interrupted.Load() {
		close(w.signals)
	}
	w.budget.spend(max(w.cmd.ProcessState.UserTime()+w.cmd.ProcessState.SystemTime(), w.waited/slack))
	if late {
		return fmt.Sprintf("it gave no answer for %v", w.limits.longestWait())
	}
	return w.describeEnd(err)
}

// describeEnd says why the process has ended with an error.
func (w *workerProcess) describeEnd(err error) string {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return ""
	}
	stderr := w.stderr.String()
	status, _ := exit.Sys().(syscall.WaitStatus)
	switch {
	case w.interrupted.Load():
		return ErrInterrupted.Error()
	case status.Signaled() || strings.Contains(stderr, "SIGXCPU"):
		return fmt.Sprintf("it took more than %d s of processor time, or more memory than the machine has", w.limits.seconds)
	case strings.Contains(stderr, "stack overflow") || strings.Contains(stderr, "stack exceeds"):
		return "its calls are nested without end"
	// Go's runtime reports a refused page as what it was about to do with it: an allocation, or an access.
	case strings.Contains(stderr, "out of memory") || strings.Contains(stderr, "cannot allocate") || strings.Contains(stderr, "SIGSEGV"):
		return fmt.Sprintf("it needed more than %d MiB of memory", w.limits.memory>>20)
	}
	first, _, _ := strings.Cut(stderr, "\n")
	return strings.TrimSpace(exit.Error() + " " + first)
}

// firstBytes keeps the beginning of what is written: the trace of a crash is long.
type firstBytes struct{ bytes.Buffer }

const keptBytes = 4 << 10

func (b *firstBytes) Write(p []byte) (int, error) {
	if room := keptBytes - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
