package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
)

// limits are those of a process that runs programs of others.
type limits struct {
	// seconds are those of processor time, memory is in bytes.
	seconds, memory uint64
}

func (l limits) String() string {
	return fmt.Sprintf("%d s of processor time and %d MiB of memory", l.seconds, l.memory>>20)
}

// worker is a process with limits, which it sets for itself. It has no environment, so that nothing in it can leak.
type worker struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    io.ReadCloser
	stderr firstBytes

	limits limits
}

func startWorker(program string, args []string, l limits) (*worker, error) {
	w := &worker{cmd: &exec.Cmd{Path: program, Args: args, Env: []string{}}, limits: l}
	w.cmd.Stderr = &w.stderr
	var inErr, outErr error
	w.in, inErr = w.cmd.StdinPipe()
	w.out, outErr = w.cmd.StdoutPipe()
	return w, errors.Join(inErr, outErr, w.cmd.Start())
}

func (w *worker) Read(p []byte) (int, error)  { return w.out.Read(p) }
func (w *worker) Write(p []byte) (int, error) { return w.in.Write(p) }

// End closes the input, at whose end the process ends itself. The limit on processor time bounds the wait.
func (w *worker) End() string {
	_ = w.in.Close()
	err := w.cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return ""
	}
	stderr := w.stderr.String()
	status, _ := exit.Sys().(syscall.WaitStatus)
	switch {
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
