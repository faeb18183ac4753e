package gitfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
)

// openFile is an open file. Its content is read from git when somebody reads it: files that are too large are only looked at.
type openFile struct {
	*treeNode
	reader *bytes.Reader
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.treeNode, nil }
func (f *openFile) Close() error               { return nil }

func (f *openFile) Read(p []byte) (int, error) {
	if f.reader == nil {
		data, err := f.readContent()
		if err != nil {
			return 0, err
		}
		f.reader = bytes.NewReader(data)
	}
	return f.reader.Read(p)
}

// openFolder is an open folder.
type openFolder struct {
	*treeNode
	entries []fs.DirEntry
	listed  bool
}

func (f *openFolder) Stat() (fs.FileInfo, error) { return f.treeNode, nil }
func (f *openFolder) Close() error               { return nil }

func (f *openFolder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: f.path, Err: errors.New("is a directory")}
}

// ReadDir returns the next n entries, or all that are left where n is not positive.
func (f *openFolder) ReadDir(n int) ([]fs.DirEntry, error) {
	if !f.listed {
		entries, err := f.listFolder()
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
