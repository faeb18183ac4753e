package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// folderGeneration is the next state of a folder: what is staged, and all else that is in the folder now.
type folderGeneration struct {
	old, next string
	// folder is where the folder is in the output.
	folder string
	// staged and removed are names in the output.
	staged, removed map[string]bool

	device uint64
	seen   []linkedFolder
}

// linkedFolder is a folder of the old generation and when it was changed before we read it.
type linkedFolder struct {
	name    string
	changed time.Time
}

// linkUnchanged links into the next generation what it shares with the old one. Folders come with their mode and owner.
func (g *folderGeneration) linkUnchanged() error {
	if strings.HasPrefix(g.next, g.old+"/") || hasACL(g.old) {
		return errNotAtOnce
	}
	// A folder behind a link is not ours to replace.
	if real, err := filepath.EvalSymlinks(g.old); err != nil || real != g.old {
		return errNotAtOnce
	}
	info, err := os.Lstat(g.old)
	if err != nil {
		return asNotAtOnce(err)
	}
	g.device = device(info)
	if err := os.MkdirAll(g.next, 0o755); err != nil {
		return asNotAtOnce(err)
	}
	_, _, err = g.linkEntries("", info)
	return asNotAtOnce(err)
}

// linkEntries links the entries of a folder. It returns how many the next generation has, of how many.
func (g *folderGeneration) linkEntries(name string, info fs.FileInfo) (kept, of int, err error) {
	old, next := filepath.Join(g.old, name), filepath.Join(g.next, name)
	if err := copyModeAndOwner(next, info); err != nil {
		return 0, 0, err
	}
	g.seen = append(g.seen, linkedFolder{name, info.ModTime()})
	folder, err := os.Open(old)
	if err != nil {
		return 0, 0, err
	}
	entries, err := folder.ReadDir(-1)
	folder.Close()
	if err != nil {
		return 0, 0, err
	}
	for _, entry := range entries {
		shared, err := g.linkEntry(path.Join(name, entry.Name()), entry)
		if err != nil {
			return 0, 0, err
		}
		if shared {
			kept++
		}
	}
	return kept, len(entries), nil
}

// linkEntry reports whether the next generation has an entry of the old one.
func (g *folderGeneration) linkEntry(name string, entry fs.DirEntry) (bool, error) {
	output := path.Join(g.folder, name)
	switch {
	case entry.IsDir():
		return g.linkSubfolder(name)
	case g.removed[output]:
		return false, nil
	case g.staged[output]:
		return true, nil
	}
	return true, unix.Linkat(unix.AT_FDCWD, filepath.Join(g.old, name), unix.AT_FDCWD, filepath.Join(g.next, name), 0)
}

// linkSubfolder leaves a folder out whose files are all removed. What belongs to git or to another file system stays in its place.
func (g *folderGeneration) linkSubfolder(name string) (bool, error) {
	info, err := os.Lstat(filepath.Join(g.old, name))
	switch {
	case err != nil:
		return false, err
	case path.Base(name) == ".git" || device(info) != g.device:
		return false, fmt.Errorf("%s: %w", name, errNotAtOnce)
	}
	next := filepath.Join(g.next, name)
	err = os.Mkdir(next, 0o755)
	staged := errors.Is(err, fs.ErrExist)
	if err != nil && !staged {
		return false, err
	}
	kept, of, err := g.linkEntries(name, info)
	if err != nil || kept > 0 || of == 0 || staged {
		return true, err
	}
	return false, os.Remove(next)
}

// copyModeAndOwner gives a folder the mode and the owner of another.
func copyModeAndOwner(name string, other fs.FileInfo) error {
	info, err := os.Lstat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s: %w", name, errNotAtOnce)
	}
	is, want := info.Sys().(*syscall.Stat_t), other.Sys().(*syscall.Stat_t)
	if is.Uid != want.Uid || is.Gid != want.Gid {
		if err := os.Lchown(name, int(want.Uid), int(want.Gid)); err != nil {
			return err
		}
	}
	if info.Mode() != other.Mode() {
		return os.Chmod(name, other.Mode())
	}
	return nil
}

// touchedSinceLinked reports whether something came into the old generation, or went, after it was linked. It is now at name.
func (g *folderGeneration) touchedSinceLinked(name string) bool {
	for _, folder := range g.seen {
		if info, err := os.Lstat(filepath.Join(name, folder.name)); err != nil || !info.ModTime().Equal(folder.changed) {
			return true
		}
	}
	return false
}

// rescueForeignFiles moves what others have put into a generation that was replaced to the one in its place. Changed are the names of ours.
func rescueForeignFiles(old, next string, changed map[string]bool) error {
	return filepath.WalkDir(old, func(name string, entry fs.DirEntry, err error) error {
		relative, _ := filepath.Rel(old, name)
		if err != nil || entry.IsDir() || changed[relative] {
			return err
		}
		target := filepath.Join(next, relative)
		lost, err := os.Lstat(name)
		if err != nil {
			return err
		}
		present, err := os.Lstat(target)
		switch {
		case err == nil && (os.SameFile(lost, present) || !lost.ModTime().After(present.ModTime())):
			return nil
		case err == nil || errors.Is(err, fs.ErrNotExist):
			if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
				return err
			}
			return os.Rename(name, target)
		}
		return err
	})
}

// exchangeFolders lets two folders change places in one step.
func exchangeFolders(a, b string) error { return asNotAtOnce(renameExchange(a, b)) }

// asNotAtOnce returns errors that say that nothing can be written as they are, all others as errNotAtOnce: without links or an exchange
// there is another way.
func asNotAtOnce(err error) error {
	for _, final := range []error{nil, syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO} {
		if errors.Is(err, final) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", errNotAtOnce, err)
}

func inode(info fs.FileInfo) uint64 { return info.Sys().(*syscall.Stat_t).Ino }

func device(info fs.FileInfo) uint64 { return uint64(info.Sys().(*syscall.Stat_t).Dev) } //nolint:unconvert // a signed number on other systems
