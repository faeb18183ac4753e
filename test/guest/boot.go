package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// grace is how long a machine may take to end when it is told to.
const grace = 10 * time.Second

// boot is the whole way, from this machine as it is to the verdict of the guest.
func boot(ctx context.Context, o options, out io.Writer) (err error) {
	t, k := tasks[o.task], userKernel
	if o.emulate {
		k = standardKernel
	}
	if err := provide(ctx, t, o.emulate, out); err != nil {
		return err
	}
	h, err := lookAround(ctx)
	if err != nil {
		return err
	}
	d, err := ensureDisk(ctx, h.cache, o.suite, h.images(), k, t, out)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "lockstep-guest-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	script, shares := filepath.Join(folder, "task"), h.shares(t, o.compiled)
	if err := errors.Join(os.Mkdir(script, 0o755), writeTask(script, o, h, shares)); err != nil {
		return err
	}
	console := h.path("build/test/guest-" + o.task + ".console")
	if err := os.MkdirAll(filepath.Dir(console), 0o755); err != nil {
		return err
	}
	m := machine{
		disk: d, console: console, scratch: folder, processors: o.processors, memory: o.memory, network: t.network, task: script, shares: shares,
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.limit, fmt.Errorf("the guest was not done after %s", o.limit))
	defer cancel()
	// The kernel ties the death signal to the thread, not to the process, and the name of the machine too; so the thread ends with us.
	runtime.LockOSThread()
	if o.emulate {
		return execute(ctx, exec.CommandContext(ctx, qemu, m.emulated()...), m, out)
	}
	return inUserMode(ctx, m, out)
}

// execute runs a machine until the guest has switched itself off.
func execute(ctx context.Context, cmd *exec.Cmd, m machine, out io.Writer) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	// A group of its own: Ctrl-C reaches only us, and we end it.
	cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Pdeathsig = true, syscall.SIGKILL
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = grace
	if cmd.Stderr == nil {
		cmd.Stderr = out
	}
	words, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	// The port counts as unplugged when its input ends.
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	defer func() { _ = input.Close() }()
	start := time.Now()
	_, _ = fmt.Fprintf(out, "booting a guest with %d MiB; its console is in %s\n", m.memory, m.console)
	if err := cmd.Start(); err != nil {
		return err
	}
	r := read(words, out, start)
	err = cmd.Wait()
	_, _ = fmt.Fprintf(out, "the guest passed %d, failed %d in %.1f s\n", len(r.passed), len(r.failed), time.Since(start).Seconds())
	if ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), r.verdict())
	}
	if err == nil {
		err = r.verdict()
	}
	if err != nil && !r.ended {
		return fmt.Errorf("%w; the end of its console:\n%s", err, lastLines(m.console, 15))
	}
	return err
}

func lastLines(path string, n int) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// writeTask fills the folder that inside/lockstep-task reads.
func writeTask(folder string, o options, h host, shares []share) error {
	environment := append(h.environment(), [2]string{"LOCKSTEP_SLOW", fmt.Sprint(o.slow)},
		// Go's signals to its own threads cost a kernel in user mode the most.
		[2]string{"GODEBUG", "asyncpreemptoff=1"},
		// Where all is slow, 45 s without an answer is no lost connection.
		[2]string{"HTTP2_READ_IDLE_TIMEOUT_SECONDS", "600"})
	texts := map[string]string{"shares": sharesFile(shares), "environment": environmentFile(environment)}
	for name, source := range map[string]string{"script": o.task, "steps": "steps", "mount-shares": "mount-shares", "go": "go"} {
		content, err := inside.ReadFile("inside/" + source)
		if err != nil {
			return err
		}
		texts[name] = string(content)
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return copyCertificates(filepath.Join(folder, "certificates"))
}

// certificates are those that were added to Debian's by hand, as networks with a proxy ask for.
const certificates = "/usr/local/share/ca-certificates"

func copyCertificates(target string) error {
	if _, err := os.Stat(certificates); errors.Is(err, fs.ErrNotExist) {
		return os.Mkdir(target, 0o755)
	}
	return os.CopyFS(target, os.DirFS(certificates))
}
