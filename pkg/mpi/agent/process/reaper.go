package process

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Reaper starts processes and waits for all children, orphans included. There must be only one in an operating system
// process.
type Reaper struct {
	// mu is held from before a process is started until it is known, so that its end is never mistaken for that of
	// an orphan, however soon it comes.
	mu       sync.Mutex
	children map[int]*Process
}

// NewReaper makes the calling process the parent of all its descendants that lose their own, and reaps from now on,
// until the calling process ends.
func NewReaper() (*Reaper, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("become the reaper of orphans: %w", err)
	}
	r := &Reaper{children: map[int]*Process{}}
	deaths := make(chan os.Signal, 1)
	signal.Notify(deaths, syscall.SIGCHLD)
	go func() {
		for range deaths {
			r.reapChildren()
		}
	}()
	return r, nil
}

// Spec says what to start.
type Spec struct {
	// Path is the file to execute, Argv the arguments with the name in front.
	Path string
	Argv []string
	// Env is the whole environment.
	Env []string
	// Files become the descriptors 0, 1, 2; nil entries are closed.
	Files []*os.File
}

// Start starts a process in a group of its own. The error wraps what the operating system said.
func (r *Reaper) Start(spec Spec) (*Process, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	handle, err := os.StartProcess(spec.Path, spec.Argv, &os.ProcAttr{
		Env: spec.Env, Files: spec.Files, Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return nil, fmt.Errorf("start `%s`: %w", spec.Argv[0], err)
	}
	p := &Process{pid: handle.Pid, done: make(chan struct{})}
	if err := handle.Release(); err != nil {
		return nil, fmt.Errorf("release the handle of `%s`: %w", spec.Argv[0], err)
	}
	r.children[p.pid] = p
	return p, nil
}

// IsChild reports whether a process that runs was started here, and did not only lose its parent.
func (r *Reaper) IsChild(pid int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.children[pid] != nil
}

// reapChildren collects all children that have ended. One signal may stand for many of them.
func (r *Reaper) reapChildren() {
	for {
		r.mu.Lock()
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		p := r.children[pid]
		delete(r.children, pid)
		r.mu.Unlock()
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil, pid <= 0:
			return
		case p != nil:
			p.setEnded(Status(status))
		}
	}
}
