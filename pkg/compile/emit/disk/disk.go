// Package disk is the output folder on a real file system, the only package below pkg/compile that writes.
//
// It never leaves its folder, not even through symbolic links. While a folder is open no other process can open it: two
// builds into one folder would mix their files.
//
// New files wait in `.lockstep-next` in the folder until all are there, so that a full disk or a mistake in the specs
// leaves the old tree. Commit then renames them into their places, one by one. A reader in this moment, and a process
// that is killed in it, sees files of both trees. The record owns the files of both meanwhile, so that the next build
// replaces and removes them as its own.
package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"lockstep.dev/lockstep/pkg/compile/emit"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// area is the folder in which files wait. Their names are numbers there, so that no reader of manifests takes them for
// some, and git does not see them.
const area = ".lockstep-next"

// Dir is an open output folder. It implements emit.Dir.
type Dir struct {
	// name is the folder as the caller calls it, path its absolute path without symbolic links.
	name, path string
	root       *os.Root
	// lock is the folder itself. The kernel drops the lock when the process ends, however it ends.
	lock *os.File
	// created is true if Open has made the folder.
	created bool

	mu sync.Mutex
	// staged are the files that wait: by their name in the folder, the name in the area.
	staged map[string]string
}

// ErrBusy is the error of Open while another build has the folder open.
var ErrBusy = errors.New("another build is writing to")

// Open opens a folder, which it creates if it does not exist, and discards what an interrupted build has left waiting.
func Open(name string) (*Dir, error) {
	_, missing := os.Lstat(name)
	if err := os.MkdirAll(name, 0o755); err != nil {
		return nil, fmt.Errorf("create the output folder `%s`: %w", name, source.Reason(err))
	}
	absolute, err := filepath.Abs(name)
	if err == nil {
		absolute, err = filepath.EvalSymlinks(absolute)
	}
	if err != nil {
		return nil, fmt.Errorf("open output folder: %w", err)
	}
	dir := &Dir{name: name, path: absolute, created: missing != nil, staged: map[string]string{}}
	if err := dir.lockAndOpen(); err != nil {
		return nil, err
	}
	if err := dir.discardArea(); err != nil {
		dir.Close()
		return nil, fmt.Errorf("repair output folder `%s`: %w", name, err)
	}
	return dir, nil
}

// lockAndOpen locks the folder. Another build may remove its new and empty folder between opening and locking.
func (d *Dir) lockAndOpen() error {
	for {
		folder, err := lockFolder(d.path, d.name)
		if err != nil {
			return err
		}
		locked, err := folder.Stat()
		if err != nil {
			folder.Close()
			return fmt.Errorf("open output folder: %w", err)
		}
		if now, err := os.Stat(d.path); err == nil && !os.SameFile(now, locked) {
			folder.Close()
			continue
		}
		d.lock = folder
		if d.root, err = os.OpenRoot(d.path); err != nil {
			folder.Close()
			return fmt.Errorf("open output folder: %w", err)
		}
		return nil
	}
}

// lockFolder locks the folder and no file in it, so that no file is left that a user would commit.
func lockFolder(path, name string) (*os.File, error) {
	folder, err := os.Open(path)
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

// discardArea removes the area. On a read-only file system it fails only if there is one.
func (d *Dir) discardArea() error {
	if _, err := d.root.Lstat(area); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return d.root.RemoveAll(area)
}

// Close discards the files that wait, closes the folder and lets others open it. A folder that Open has made and that is
// still empty goes.
func (d *Dir) Close() error {
	err := errors.Join(d.discardArea(), d.root.Close())
	if d.created {
		// It fails if the folder is in use.
		_ = os.Remove(d.path)
	}
	return errors.Join(err, d.lock.Close())
}

// ReadFile returns the content of a file.
func (d *Dir) ReadFile(name string) ([]byte, error) { return d.root.ReadFile(name) }

// Same compares the content of a file. It reads no file of another size.
func (d *Dir) Same(name string, data []byte) (found, same bool, err error) {
	file, err := d.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size() != int64(len(data)) {
		return true, false, err
	}
	same, err = equalContent(file, data)
	return true, same, err
}

func equalContent(file io.Reader, data []byte) (bool, error) {
	var buffer [32 << 10]byte
	for {
		n, err := file.Read(buffer[:])
		if n > len(data) || !bytes.Equal(buffer[:n], data[:n]) {
			return false, nil
		}
		data = data[n:]
		switch {
		case errors.Is(err, io.EOF):
			return len(data) == 0, nil
		case err != nil:
			return false, err
		}
	}
}

// Stage writes the next content of a file to the area.
func (d *Dir) Stage(name string, data []byte) error {
	waiting, err := d.nextPlace(name)
	if err == nil {
		err = os.WriteFile(filepath.Join(d.path, waiting), data, 0o644) //nolint:gosec // others read it
	}
	return d.nameFolderInError("which stays as it was", err)
}

// nextPlace returns the name in the area for a file. It makes the area for the first one.
func (d *Dir) nextPlace(name string) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.staged) == 0 {
		if err := d.root.Mkdir(area, 0o755); err != nil {
			return "", err
		}
		if err := d.root.WriteFile(path.Join(area, ".gitignore"), []byte("*\n"), 0o644); err != nil {
			return "", err
		}
	}
	place := path.Join(area, strconv.Itoa(len(d.staged)))
	d.staged[name] = place
	return place, nil
}

// Commit brings the staged files into the folder, the record last, and removes others. It is the last use of a Dir.
func (d *Dir) Commit(interim []byte, removed []string) error {
	if len(d.staged)+len(removed) == 0 {
		return nil
	}
	if err := d.prepare(interim); err != nil {
		return d.nameFolderInError("which stays as it was", err)
	}
	if err := d.move(interim != nil, removed); err != nil {
		return d.nameFolderInError("which holds files of two builds until the next one", err)
	}
	return nil
}

// interimRecord is the name under which the record for the time of the commit waits.
const interimRecord = "interim"

// prepare makes all that needs room on the disk: the record in between, and folders.
func (d *Dir) prepare(interim []byte) error {
	if interim != nil {
		waiting, err := d.nextPlace(interimRecord)
		if err != nil {
			return err
		}
		if err := d.root.WriteFile(waiting, interim, 0o644); err != nil {
			return err
		}
	}
	folders := map[string]bool{}
	for name := range d.staged {
		folder := path.Dir(name)
		if folders[folder] {
			continue
		}
		folders[folder] = true
		// It does not follow a link out of the folder.
		if err := d.root.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	return nil
}

func (d *Dir) move(interim bool, removed []string) error {
	if interim {
		if err := d.root.Rename(d.staged[interimRecord], emit.Record); err != nil {
			return err
		}
		delete(d.staged, interimRecord)
	}
	for _, name := range slices.Sorted(maps.Keys(d.staged)) {
		if name == emit.Record {
			continue
		}
		if err := d.root.Rename(d.staged[name], name); err != nil {
			return err
		}
	}
	for _, name := range removed {
		if err := d.removeWithEmptyFolders(name); err != nil {
			return err
		}
	}
	if record, changed := d.staged[emit.Record]; changed {
		if err := d.root.Rename(record, emit.Record); err != nil {
			return err
		}
	}
	return d.discardArea()
}

// removeWithEmptyFolders removes a file and the folders above it that are empty then.
func (d *Dir) removeWithEmptyFolders(name string) error {
	if err := d.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		if d.root.Remove(folder) != nil {
			return nil //nolint:nilerr // not empty
		}
	}
	return nil
}

// nameFolderInError names the folder as the caller calls it, in what state it is, and why.
func (d *Dir) nameFolderInError(state string, err error) error {
	var at *fs.PathError
	var link *os.LinkError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &at):
		err = at.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return fmt.Errorf("output folder `%s`, %s: %w", d.name, state, err)
}
