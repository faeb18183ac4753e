package state

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// LockFile is the machine's one lock, because addresses, links and cgroups of
// the cluster exist once per machine. While a cluster runs, or its remains lie
// about, the file names the state folder that owns them. It lies in /run and
// is gone after a boot, as they are.
const LockFile = "/run/lockstep-cluster.lock"

// Lock is held by the one command that changes the cluster.
type Lock struct {
	file *os.File
	path string
}

// BusyError says that another command holds the lock.
type BusyError struct{ PID string }

func (e BusyError) Error() string {
	return "another cluster command (pid " + e.PID + ") is changing the cluster: wait for it, or interrupt it"
}

// ForeignError says that the machine's cluster belongs to another state folder.
type ForeignError struct{ Owner, Own string }

func (e ForeignError) Error() string {
	return fmt.Sprintf("this machine already runs a cluster whose state is in %s, not in %s: stop it first with XDG_STATE_HOME=%s",
		e.Owner, e.Own, filepath.Dir(filepath.Dir(e.Owner)))
}

// Acquire takes the lock in a file for a state folder. It never waits. The
// kernel drops the lock when the process ends, however it ends.
func Acquire(path, stateDir string) (*Lock, error) {
	for {
		l, err := open(path)
		if err != nil {
			return nil, err
		}
		owner, held, err := l.try()
		switch {
		case err != nil:
			_ = l.file.Close()
			return nil, err
		case !held: // the file was removed between open and lock
			_ = l.file.Close()
			continue
		case owner != "" && owner != stateDir:
			_ = l.file.Close()
			return nil, ForeignError{Owner: owner, Own: stateDir}
		}
		return l, l.write(owner)
	}
}

func open(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the cluster's lock: %w", err)
	}
	return &Lock{file: f, path: path}, nil
}

// try takes the lock; held is false when the locked file is no longer the one
// at the path.
func (l *Lock) try() (owner string, held bool, err error) {
	lockErr := unix.Flock(int(l.file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	content, err := io.ReadAll(l.file)
	if err != nil {
		return "", false, fmt.Errorf("read the cluster's lock: %w", err)
	}
	owner, pid, _ := strings.Cut(strings.TrimSuffix(string(content), "\n"), "\n")
	if errors.Is(lockErr, unix.EWOULDBLOCK) {
		return "", false, BusyError{PID: pid}
	}
	if lockErr != nil {
		return "", false, fmt.Errorf("lock %s: %w", l.path, lockErr)
	}
	mine, err := l.file.Stat()
	if err != nil {
		return "", false, err
	}
	there, err := os.Stat(l.path)
	return owner, err == nil && os.SameFile(mine, there), nil
}

// write records owner and holder. Failing to name the holder harms nobody.
func (l *Lock) write(owner string) error {
	content := fmt.Sprintf("%s\n%d\n", owner, os.Getpid())
	if err := l.file.Truncate(0); err != nil {
		return fmt.Errorf("write the cluster's lock: %w", err)
	}
	if _, err := l.file.WriteAt([]byte(content), 0); err != nil {
		return fmt.Errorf("write the cluster's lock: %w", err)
	}
	return nil
}

// Own records that whatever is found of a cluster on this machine belongs to
// a state folder.
func (l *Lock) Own(stateDir string) error { return l.write(stateDir) }

// Release gives the lock back and keeps the owner.
func (l *Lock) Release() error { return l.file.Close() }

// Disown gives the lock back and removes every trace of it.
func (l *Lock) Disown() error {
	return errors.Join(os.Remove(l.path), l.file.Close())
}

// Owner reads, without the lock, which state folder owns the machine's
// cluster; empty when none does.
func Owner(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	owner, _, _ := strings.Cut(string(content), "\n")
	return owner
}
