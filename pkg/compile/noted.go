package compile

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"sync"
)

// noted is a repository that notes what is looked at. Two states of it can be compared there and nowhere else, which is enough to know
// that what was made of them is the same.
type noted struct {
	fs.FS
	mu    sync.Mutex
	names map[string]bool
}

func (n *noted) note(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.names[name] = true
}

// Open implements fs.FS.
func (n *noted) Open(name string) (fs.File, error) {
	n.note(name)
	return n.FS.Open(name)
}

// Stat implements fs.StatFS.
func (n *noted) Stat(name string) (fs.FileInfo, error) {
	n.note(name)
	return fs.Stat(n.FS, name)
}

// ReadDir implements fs.ReadDirFS.
func (n *noted) ReadDir(name string) ([]fs.DirEntry, error) {
	n.note(name)
	return fs.ReadDir(n.FS, name)
}

// Lstat implements fs.ReadLinkFS.
func (n *noted) Lstat(name string) (fs.FileInfo, error) {
	n.note(name)
	return fs.Lstat(n.FS, name)
}

// ReadLink implements fs.ReadLinkFS.
func (n *noted) ReadLink(name string) (string, error) {
	n.note(name)
	return fs.ReadLink(n.FS, name)
}

// all notes a folder to its depths.
func (n *noted) all(folder string) {
	// What cannot be read is noted, and is the same nowhere.
	_ = fs.WalkDir(n.FS, folder, func(name string, _ fs.DirEntry, _ error) error {
		n.note(name)
		return nil
	})
}

// differences are the names at which another state is not the same, of those where somebody looked at one of the two.
func (n *noted) differences(other *noted) []string {
	var different []string
	for _, names := range []map[string]bool{n.names, other.names} {
		for name := range names {
			if !sameAt(n.FS, other.FS, name) {
				different = append(different, name)
			}
		}
	}
	return different
}

func sameAt(a, b fs.FS, name string) bool {
	one, failed := fs.Stat(a, name)
	two, alsoFailed := fs.Stat(b, name)
	switch {
	case failed != nil || alsoFailed != nil:
		return errors.Is(failed, fs.ErrNotExist) && errors.Is(alsoFailed, fs.ErrNotExist)
	case one.Mode().Type() != two.Mode().Type():
		return false
	case one.IsDir():
		return sameFolder(a, b, name)
	}
	return one.Mode().IsRegular() && one.Size() == two.Size() && sameContent(a, b, name)
}

func sameFolder(a, b fs.FS, name string) bool {
	one, failed := fs.ReadDir(a, name)
	two, alsoFailed := fs.ReadDir(b, name)
	return failed == nil && alsoFailed == nil && slices.EqualFunc(one, two, func(x, y fs.DirEntry) bool { return x.Name() == y.Name() && x.Type() == y.Type() })
}

func sameContent(a, b fs.FS, name string) bool {
	one, failed := fs.ReadFile(a, name)
	two, alsoFailed := fs.ReadFile(b, name)
	return failed == nil && alsoFailed == nil && bytes.Equal(one, two)
}
