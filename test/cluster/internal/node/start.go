package node

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"lockstep.dev/lockstep/test/cluster/internal/network"
	"lockstep.dev/lockstep/test/cluster/internal/process"
	"lockstep.dev/lockstep/test/cluster/internal/state"
)

// Command is the hidden command of this program that becomes a node.
const Command = "node-init"

// The words on the leash.
const (
	wordStart  = "start"
	wordDetach = "detach"
)

// Running is a node that was started by this process.
type Running struct {
	Node
	// Init is the node's first process as the machine numbers it.
	Init process.Identity
	// Ended is closed when the node ended.
	Ended <-chan struct{}
	leash *os.File
}

// Start starts a node and plugs it into the bridge.
func Start(n Node) (*Running, error) {
	if err := n.prepare(); err != nil {
		return nil, err
	}
	r, err := n.spawn()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", n.Name(), err)
	}
	err = network.Plug(n.Index, r.Init.PID)
	if err == nil {
		err = r.send(wordStart)
	}
	if err != nil {
		_ = r.leash.Close()
		<-r.Ended
		return nil, fmt.Errorf("start %s: %w", n.Name(), err)
	}
	return r, nil
}

// prepare makes the node's folders and files anew; only its image store stays.
func (n Node) prepare() error {
	for _, dir := range []string{n.Dir, n.Logs} {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove what is left of %s: %w", n.Name(), err)
		}
	}
	for _, dir := range []string{"var/lib/kubelet", "var/log", "var/cache", "var/tmp"} {
		if err := os.MkdirAll(n.path(dir), 0o755); err != nil {
			return fmt.Errorf("make the folders of %s: %w", n.Name(), err)
		}
	}
	if err := os.Chmod(n.path("var/tmp"), os.ModeSticky|0o777); err != nil {
		return err
	}
	for link, target := range map[string]string{"var/run": "/run", "var/lock": "/run/lock"} {
		if err := os.Symlink(target, n.path(link)); err != nil {
			return err
		}
	}
	for _, dir := range []string{n.Logs, n.Store} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make the folders of %s: %w", n.Name(), err)
		}
	}
	if err := n.writeConfigs(); err != nil {
		return err
	}
	return state.WriteJSON(n.specFile(), n)
}

// spawn starts the node's first process. Its own session keeps it out of reach
// of the terminal's interrupt.
func (n Node) spawn() (*Running, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	held, leash, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = held.Close() }()
	log, err := os.OpenFile(filepath.Join(n.Logs, "init.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(self, Command, n.specFile())
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles, cmd.Dir = log, log, []*os.File{held}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid:     true,
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC,
	}
	if err := cmd.Start(); err != nil {
		_ = leash.Close()
		return nil, err
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	id, err := process.Of(cmd.Process.Pid)
	if err != nil {
		_ = leash.Close()
		<-ended
		return nil, err
	}
	return &Running{Node: n, Init: id, Ended: ended, leash: leash}, nil
}

func (r *Running) send(word string) error {
	_, err := r.leash.WriteString(word + "\n")
	return err
}

// Detach lets the node live on without this process.
func (r *Running) Detach() error {
	if err := r.send(wordDetach); err != nil {
		return fmt.Errorf("%s ended: %s", r.Name(), LastLines(filepath.Join(r.Logs, "init.log"), 5))
	}
	return r.leash.Close()
}

// LastLines returns the end of a log, for error messages.
func LastLines(path string, n int) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
