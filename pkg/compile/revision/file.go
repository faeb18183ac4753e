package revision

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
)

// file is an open file. Its content is read from git when somebody reads it: files that are too large are only looked at.
type file struct {
	*node
	reader *bytes.Reader
}

func (f *file) Stat() (fs.FileInfo, error) { return f.node, nil }
func (f *file) Close() error               { return nil }

func (f *file) Read(p []byte) (int, error) {
	if f.reader == nil {
		data, err := f.content()
		if err != nil {
			return 0, err
		}
		f.reader = bytes.NewReader(data)
	}
	return f.reader.Read(p)
}

// folder is an open folder.
type folder struct {
	*node
	entries []fs.DirEntry
	listed  bool
}

func (f *folder) Stat() (fs.FileInfo, error) { return f.node, nil }
func (f *folder) Close() error               { return nil }

func (f *folder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: f.path, Err: errors.New("is a directory")}
}

// ReadDir returns the next n entries, or all that are left where n is not positive.
func (f *folder) ReadDir(n int) ([]fs.DirEntry, error) {
	if !f.listed {
		entries, err := f.list()
		if err != nil {
			return nil, err
		}
		f.entries, f.listed = entries, true
	}
	if n <= 0 {
		rest := f.entries
		f.entries = nil
		return rest, nil
	}
	if len(f.entries) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(f.entries))
	next := f.entries[:n]
	f.entries = f.entries[n:]
	return next, nil
}
