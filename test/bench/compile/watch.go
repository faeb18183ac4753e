package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"lockstep.dev/lockstep/test/bench/meter"
)

// How long a watching compiler must use no CPU to count as idle, and how long to wait for that.
const (
	idle      = 500 * time.Millisecond
	idleLimit = time.Minute
)

// leastSaves is how many saves are measured at least: the first one reads what all tenants share, and now and then one meets the
// collector.
const leastSaves = 11

// watch measures the CPU of a running `watch` between the save of one tenant and the next idleness. It returns nothing where the
// compiler has no such command.
func (b *bench) watch(ctx context.Context) ([]*plan, error) {
	if !b.Compiler.Knows(ctx, "watch", "--root") {
		return nil, nil
	}
	p := &plan{Series: b.work.series(b.Compiler.Name, watchTenant)}
	cmd := exec.CommandContext(ctx, b.Compiler.Path, "watch", "--root", b.work.root, "--out", filepath.Join(b.Dir, "watched")) //nolint:gosec // the compiler that we measure
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+b.Dir)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start watch: %w", err)
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // says that it was ended
	}()
	go func() { _, _ = io.Copy(io.Discard, bufio.NewReader(output)) }()
	before, err := waitIdle(ctx, cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	for i := range max(b.o.Runs, leastSaves) {
		if err := b.changeTenant(b.o.Runs + i); err != nil {
			return nil, err
		}
		after, err := waitIdle(ctx, cmd.Process.Pid)
		if err != nil {
			return nil, err
		}
		if after == before {
			return nil, fmt.Errorf("watch used no CPU within %s after %s was saved", idle, "a tenant")
		}
		p.Runs = append(p.Runs, meter.Usage{User: (after - before).Seconds(), PeakRSS: peakRSS(cmd.Process.Pid)})
		before = after
	}
	return []*plan{p}, nil
}

// waitIdle waits until a process uses no CPU and returns what it used so far.
func waitIdle(ctx context.Context, pid int) (time.Duration, error) {
	last, since := time.Duration(-1), time.Now()
	for start := time.Now(); time.Since(start) < idleLimit; {
		used, err := cpuOf(pid)
		if err != nil {
			return 0, err
		}
		// A watcher that wakes up to look at its files uses some microseconds.
		if used-last > time.Millisecond || last < 0 {
			last, since = used, time.Now()
		} else if time.Since(since) > idle {
			return used, nil
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	return 0, fmt.Errorf("watch is still busy after %s", idleLimit)
}

// cpuOf returns the CPU time of all threads in nanoseconds (proc_pid_schedstat); the times in /proc/<pid>/stat count hundredths.
func cpuOf(pid int) (time.Duration, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("watch has ended: %w", os.ErrProcessDone)
	}
	var sum time.Duration
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		first, _, _ := strings.Cut(string(data), " ")
		used, _ := strconv.ParseInt(first, 10, 64)
		sum += time.Duration(used)
	}
	return sum, nil
}

// peakRSS returns the peak memory of a running process in bytes, or 0.
func peakRSS(pid int) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "VmHWM:" {
			kib, _ := strconv.ParseInt(fields[1], 10, 64)
			return kib * 1024
		}
	}
	return 0
}
