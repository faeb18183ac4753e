package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockstep.dev/lockstep/internal/sandbox"
)

// waitLimit bounds all waiting for what never comes.
const waitLimit = 5 * time.Minute

// TestInterruptedProcess: Ctrl-C ends the program and the process that it has started, in which a Jsonnet program runs.
func TestInterruptedProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are found in /proc")
	}
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "tenants"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "tenants/a.jsonnet"), []byte(`local f(n) = if n == 0 then 0 else f(n - 1) + f(n - 1); f(100)`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"check", "build"} {
		ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
		cmd := exec.CommandContext(ctx, os.Args[0], command, "--root", root)
		if command == "build" {
			cmd.Args = append(cmd.Args, "--out", filepath.Join(t.TempDir(), "dist"))
		}
		cmd.Args[0] = "runtime-compiler"
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		child := 0
		for child == 0 && ctx.Err() == nil {
			child = childOf(cmd.Process.Pid)
		}
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil || ctx.Err() != nil {
			t.Errorf("%s: it ended with %v", command, err)
		}
		for runs(child) && ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
		}
		if ctx.Err() != nil {
			t.Errorf("%s: process %d outlives it", command, child)
		}
		cancel()
	}
}

// childOf returns a process that another one has started and that evaluates Jsonnet already, or 0.
func childOf(parent int) int {
	names, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range names {
		stat, _ := os.ReadFile(name)
		_, fields, _ := strings.Cut(string(stat), ") ")
		if parts := strings.Fields(fields); len(parts) > 1 && parts[1] == strconv.Itoa(parent) && ready(filepath.Dir(name)) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			return pid
		}
	}
	return 0
}

func ready(process string) bool {
	line, _ := os.ReadFile(filepath.Join(process, "cmdline"))
	return strings.Contains(string(line), sandbox.JsonnetWorker)
}

// runs reports whether there is a process that has not ended. One that has ended may wait for its new parent to look.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
