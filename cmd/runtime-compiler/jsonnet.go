package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/pkg/compile/jsonnet"
)

// The limits of a process that evaluates Jsonnet. A real program takes milliseconds and some megabytes.
const (
	jsonnetSeconds = 10
	jsonnetMemory  = 512 << 20
	jsonnetStack   = 64 << 20
)

// jsonnetWorker is the hidden command that such a process runs.
const jsonnetWorker = "jsonnet-worker"

// evaluator evaluates Jsonnet in processes of its own, because a program may try to exhaust memory or stack.
func evaluator() jsonnet.Apart {
	return jsonnet.Apart{
		Start: func() (jsonnet.Process, error) {
			self, err := os.Executable()
			if err != nil {
				return nil, err
			}
			return startWorker(self, os.Args[0], jsonnetSeconds)
		},
		Limits: fmt.Sprintf("%d s of processor time and %d MiB of memory", jsonnetSeconds, jsonnetMemory>>20),
	}
}

func newJsonnetWorker() *cobra.Command {
	var seconds uint64
	cmd := &cobra.Command{
		Use:    jsonnetWorker,
		Short:  "Evaluate Jsonnet for another runtime-compiler",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			debug.SetMaxStack(jsonnetStack)
			if err := limitProcess(seconds, jsonnetMemory); err != nil {
				return failure{fmt.Errorf("limit the process: %w", err)}
			}
			if err := jsonnet.Serve(cmd.InOrStdin(), cmd.OutOrStdout()); err != nil {
				return failure{err}
			}
			return nil
		},
	}
	cmd.Flags().Uint64Var(&seconds, "seconds", jsonnetSeconds, "processor time")
	return cmd
}

// worker is a process that runs jsonnetWorker. It has no environment, so that nothing in it can leak.
type worker struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    io.ReadCloser
	stderr firstBytes

	seconds uint64
}

// startWorker starts this program once more, under the name that it was started with.
func startWorker(self, name string, seconds uint64) (jsonnet.Process, error) {
	args := []string{name, jsonnetWorker, "--seconds", strconv.FormatUint(seconds, 10)}
	w := &worker{cmd: &exec.Cmd{Path: self, Args: args, Env: []string{}}, seconds: seconds}
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
		return fmt.Sprintf("it took more than %d s of processor time, or more memory than the machine has", w.seconds)
	case strings.Contains(stderr, "stack overflow") || strings.Contains(stderr, "stack exceeds"):
		return "its calls are nested without end"
	// Go's runtime reports a refused page as what it was about to do with it: an allocation, or an access.
	case strings.Contains(stderr, "out of memory") || strings.Contains(stderr, "cannot allocate") || strings.Contains(stderr, "SIGSEGV"):
		return fmt.Sprintf("it needed more than %d MiB of memory", jsonnetMemory>>20)
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
