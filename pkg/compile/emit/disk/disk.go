// Package disk is the output folder on a real file system, the only package below pkg/compile that writes.
//
// It never leaves its folder, not even through symbolic links. While a folder is open nobody else can open it: two builds into
// one folder would mix their files.
package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// temporary is the name under which a file is written before it takes its place. Files are written one after another, so one
// name is enough, and an interrupted build leaves at most this file.
const temporary = ".lockstep-tmp"

// Dir is an open output folder; it implements emit.Dir.
type Dir struct {
	root *os.Root
	// lock is the folder itself. The kernel drops the lock when the file is closed or the process ends, however it ends.
	lock *os.File
}

// ErrBusy says that another build has the folder open.
var ErrBusy = errors.New("another build is writing to")

// Open opens a folder, which is created where it does not exist. The error is ErrBusy while another build has it open.
func Open(name string) (*Dir, error) {
	if err := os.MkdirAll(name, 0o755); err != nil {
		return nil, fmt.Errorf("create output folder: %w", err)
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("open output folder: %w", err)
	}
	lock, err := lockFolder(root, name)
	if err != nil {
		root.Close()
		return nil, err
	}
	dir := &Dir{root: root, lock: lock}
	if err := root.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		dir.Close()
		return nil, fmt.Errorf("clear output folder: %w", err)
	}
	return dir, nil
}

// lockFolder locks the folder and no file in it, so that nothing is left behind that somebody would commit.
func lockFolder(root *os.Root, name string) (*os.File, error) {
	folder, err := root.Open(".")
	if err != nil {
		return nil, fmt.Errorf("open output folder: %w", err)
	}
	err = syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		err = fmt.Errorf("%w `%s`: wait for it, or choose another --out", ErrBusy, name)
	case err != nil:
		err = fmt.Errorf("lock output folder: %w", err)
	default:
		return folder, nil
	}
	folder.Close()
	return nil, err
}

// Close closes the folder and lets others open it.
func (d *Dir) Close() error { return errors.Join(d.root.Close(), d.lock.Close()) }

// ReadFile returns the content of a file.
func (d *Dir) ReadFile(name string) ([]byte, error) { return d.root.ReadFile(name) }

// WriteFile replaces a file by renaming a finished one over it.
func (d *Dir) WriteFile(name string, data []byte) error {
	if err := d.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	if err := d.root.WriteFile(temporary, data, 0o644); err != nil {
		return err
	}
	return d.root.Rename(temporary, name)
}

// Remove removes a file and the folders above it that are empty then.
func (d *Dir) Remove(name string) error {
	if err := d.root.Remove(name); err != nil {
		return err
	}
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		if d.root.Remove(folder) != nil {
			return nil //nolint:nilerr // not empty
		}
	}
	return nil
}
