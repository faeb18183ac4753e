package scaffold

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// overlayFS is a file system with one file that is not written yet on top of another.
type overlayFS struct {
	base fs.FS
	file File
}

// Open opens the new file, a folder that it is in, or what was there before.
func (o overlayFS) Open(name string) (fs.File, error) {
	if name == o.file.Path {
		return &newFile{newEntry: newEntry{name: path.Base(name), size: len(o.file.Data)}, Reader: bytes.NewReader(o.file.Data)}, nil
	}
	if _, above := o.childEntry(name); !above {
		return o.base.Open(name)
	}
	entries, err := o.ReadDir(name)
	if err != nil {
		return nil, err
	}
	return &mergedFolder{newEntry: newEntry{name: path.Base(name), folder: true}, rest: entries}, nil
}

// ReadDir lists what was there before and what is new, sorted.
func (o overlayFS) ReadDir(name string) ([]fs.DirEntry, error) {
	added, above := o.childEntry(name)
	entries, err := fs.ReadDir(o.base, name)
	if err != nil && (!above || !errors.Is(err, fs.ErrNotExist)) {
		return nil, err
	}
	if above {
		entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.Name() == added.name })
		entries = append(entries, added)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// childEntry returns the entry of a folder that is the new file or leads to it.
func (o overlayFS) childEntry(name string) (newEntry, bool) {
	rest, below := strings.CutPrefix(o.file.Path, name+"/")
	if name == "." {
		rest, below = o.file.Path, true
	}
	child, _, isFolder := strings.Cut(rest, "/")
	if isFolder {
		return newEntry{name: child, folder: true}, below
	}
	return newEntry{name: child, size: len(o.file.Data)}, below
}

// newEntry describes a new file or folder.
type newEntry struct {
	name   string
	size   int
	folder bool
}

func (e newEntry) Name() string               { return e.name }
func (e newEntry) Size() int64                { return int64(e.size) }
func (e newEntry) ModTime() time.Time         { return time.Time{} }
func (e newEntry) IsDir() bool                { return e.folder }
func (e newEntry) Sys() any                   { return nil }
func (e newEntry) Type() fs.FileMode          { return e.Mode().Type() }
func (e newEntry) Info() (fs.FileInfo, error) { return e, nil }
func (e newEntry) Stat() (fs.FileInfo, error) { return e, nil }
func (e newEntry) Close() error               { return nil }

func (e newEntry) Mode() fs.FileMode {
	if e.folder {
		return fs.ModeDir | 0o755
	}
	return 0o644
}

type newFile struct {
	newEntry
	*bytes.Reader
}

func (f *newFile) Size() int64 { return f.newEntry.Size() }

type mergedFolder struct {
	newEntry
	rest []fs.DirEntry
}

func (f *mergedFolder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: f.name, Err: errors.New("is a folder")}
}

func (f *mergedFolder) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 || n > len(f.rest) {
		if n > 0 && len(f.rest) == 0 {
			return nil, io.EOF
		}
		n = len(f.rest)
	}
	entries := f.rest[:n]
	f.rest = f.rest[n:]
	return entries, nil
}
