// Package disk is the output folder on a real file system, the only package below pkg/compile that writes.
//
// It never leaves its folder and the staging area beside it, not even through symbolic links. While a folder is open nobody else
// can open it: two builds into one folder would mix their files.
//
// Whoever reads the folder finds the old tree or the new one, never a mixture, whenever the process is killed:
//
//   - Staging. New files are written to `.<name>.lockstep` beside the folder, or to `.lockstep-next` in it where nothing can be made
//     beside it, or where it is a mount. A full disk is noticed here, when nothing has changed yet.
//   - One changed file takes its place by a rename.
//   - More take theirs by an exchange: the smallest folder that holds all of them is made a second time, from what is staged and
//     from hard links to all other files, whoever owns them, and the two change places in one step. Files that stay are the same files
//     as before, with the same time of modification.
//   - Where an exchange is impossible, or would link thousands of files for a handful of changed ones, files are renamed one by one,
//     which takes some microseconds each. A journal lets the next Open finish what was interrupted: this is the only way to see a
//     mixture, and it does not outlive the next build.
//
// What an interruption leaves in the staging area goes with the next Open.
package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"lockstep.dev/lockstep/pkg/compile/source"
)

// Dir is an open output folder; it implements emit.Dir.
type Dir struct {
	// name is how the caller calls the folder, path where it is: absolute and without symbolic links.
	name, path string
	root       *os.Root
	// locks are the folder itself, and what an exchange puts in its place. The kernel drops a lock when the file is closed or the
	// process ends, however it ends.
	locks []*os.File
	stage stagingArea
	// created says that Open has made the folder.
	created bool
}

// ErrBusy says that another build has the folder open.
var ErrBusy = errors.New("another build is writing to")

// Open opens a folder, which is created where it does not exist, and finishes or discards what an interrupted build has left. The
// error is ErrBusy while another build has it open.
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
	dir := &Dir{name: name, path: absolute, created: missing != nil}
	if err := dir.lockAndOpen(); err != nil {
		return nil, err
	}
	dir.stage.places = stagingPlaces(absolute)
	if err := dir.recoverInterrupted(); err != nil {
		dir.Close()
		return nil, fmt.Errorf("repair output folder `%s`: %w", name, err)
	}
	return dir, nil
}

// stagingPlaces are where the staging area of a folder can be, the best one first. Nothing can be renamed into a folder that is a mount, such
// as a volume of a container, from beside it.
func stagingPlaces(folder string) []string {
	beside, inside := filepath.Join(filepath.Dir(folder), "."+filepath.Base(folder)+".lockstep"), filepath.Join(folder, ".lockstep-next")
	if isMount(folder) {
		return []string{inside}
	}
	return []string{beside, inside}
}

// WasInterrupted reports whether a build into an output folder has left something that the next Open finishes or discards.
func WasInterrupted(output string) bool {
	folder, err := filepath.EvalSymlinks(output)
	if err == nil {
		folder, err = filepath.Abs(folder)
	}
	return err == nil && len((&stagingArea{places: stagingPlaces(folder)}).leftAreas()) > 0
}

// lockAndOpen locks the folder. Another build may exchange it between opening and locking, so that the lock is on what was there before.
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
		if now, err := os.Stat(d.path); err != nil || !os.SameFile(now, locked) {
			folder.Close()
			continue
		}
		d.locks = []*os.File{folder}
		if d.root, err = os.OpenRoot(d.path); err != nil {
			folder.Close()
			return fmt.Errorf("open output folder: %w", err)
		}
		return nil
	}
}

// lockFolder locks the folder and no file in it, so that nothing is left behind that somebody would commit.
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

// Close discards what is staged, closes the folder and lets others open it. A folder that Open has made and that is still empty goes.
func (d *Dir) Close() error {
	errs := []error{d.stage.discard(), d.root.Close()}
	if d.created {
		// It fails where the folder is in use.
		_ = os.Remove(d.path)
	}
	for _, lock := range d.locks {
		errs = append(errs, lock.Close())
	}
	return errors.Join(errs...)
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

// Stage writes the next content of a file to the staging area.
func (d *Dir) Stage(name string, data []byte) error {
	return d.nameFolderInError(d.stage.write(name, data))
}

// nameFolderInError names the folder as the caller calls it: that the staging area is elsewhere is of no interest.
func (d *Dir) nameFolderInError(err error) error {
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
	return fmt.Errorf("output folder `%s`, which stays as it was: %w", d.name, err)
}
