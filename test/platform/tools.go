package platform

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"lockstep.dev/lockstep/test/reporoot"
)

// Tools are the programs that do the work, and where they work.
type Tools struct {
	// Root is the checkout.
	Root string
	// Cluster, Images and Compiler are the paths of the three programs. `make` builds them.
	Cluster, Images, Compiler string
	// Needs names the images that are made and loaded; all, where there is none.
	Needs []string
	// Audit makes the API server of a local cluster write down what our controller asks of it. It costs each request a write to a
	// file, so what measures goes without.
	Audit bool
	// Progress receives what the programs say while they work.
	Progress io.Writer
}

// DefaultTools are the programs where `make` puts them, in the checkout that holds the working directory.
func DefaultTools(progress io.Writer) (Tools, error) {
	root, err := reporoot.Find()
	if err != nil {
		return Tools{}, err
	}
	bin := filepath.Join(root, "build", "bin")
	tools := Tools{
		Root:     root,
		Cluster:  filepath.Join(bin, "cluster"),
		Images:   filepath.Join(bin, "images"),
		Compiler: filepath.Join(bin, "runtime-compiler"),
		Progress: progress,
	}
	for _, program := range []string{tools.Cluster, tools.Images, tools.Compiler} {
		if _, err := os.Stat(program); err != nil {
			return Tools{}, fmt.Errorf("find %s: %w: run `make tools` first", filepath.Base(program), err)
		}
	}
	return tools, nil
}

// stopGrace is how long a program may take to clean up after SIGTERM.
const stopGrace = 30 * time.Second

// command runs a program in the checkout. When ctx ends the program gets SIGTERM, so that it can clean up.
func (t Tools) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = t.Root
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = ScaleTimeout(stopGrace)
	// A group of its own: Ctrl-C reaches only us, and we end the program when its work is to end.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	return cmd
}

// output runs a program and returns what it printed. Its progress goes to t.Progress, and its last words into the error.
func (t Tools) output(ctx context.Context, program string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := t.command(ctx, program, args...)
	cmd.Stdout = &stdout
	cmd.Stderr = io.MultiWriter(t.Progress, &stderr)
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w%s", filepath.Base(program), strings.Join(args, " "), err, lastLines(stderr.String()+stdout.String(), 5))
	}
	return stdout.String(), nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if text == "" {
		return ""
	}
	return ":\n    " + strings.Join(lines[max(0, len(lines)-n):], "\n    ")
}
