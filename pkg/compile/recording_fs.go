package compile

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"sync"
)

// recordingFS is a repository that records what is looked at. Two states of it can be compared there and nowhere else, which is enough to know
// that what was made of them is the same.
type recordingFS struct {
	fs.FS
	mu    sync.Mutex
	names map[string]bool
}

func (r *recordingFS) record(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names[name] = true
}

// Open implements fs.FS.
func (r *recordingFS) Open(name string) (fs.File, error) {
	r.record(name)
	return r.FS.Open(name)
}

// Stat implements fs.StatFS.
func (r *recordingFS) Stat(name string) (fs.FileInfo, error) {
	r.record(name)
	return fs.Stat(r.FS, name)
}

// ReadDir implements fs.ReadDirFS.
func (r *recordingFS) ReadDir(name string) ([]fs.DirEntry, error) {
	r.record(name)
	return fs.ReadDir(r.FS, name)
}

// recordAll records a folder to its depths.
func (r *recordingFS) recordAll(folder string) {
	// What cannot be read is recorded, and is the same nowhere.
	_ = fs.WalkDir(r.FS, folder, func(name string, _ fs.DirEntry, _ error) error {
		r.record(name)
		return nil
	})
}

// differingNames are the names at which another state is not the same, of those where somebody looked at one of the two.
func (r *recordingFS) differingNames(other *recordingFS) []string {
	var different []string
	for _, names := range []map[string]bool{r.names, other.names} {
		for name := range names {
			if !sameAt(r.FS, other.FS, name) {
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
		return sameDirEntries(a, b, name)
	}
	return one.Mode().IsRegular() && one.Size() == two.Size() && sameContent(a, b, name)
}

func sameDirEntries(a, b fs.FS, name string) bool {
	one, failed := fs.ReadDir(a, name)
	two, alsoFailed := fs.ReadDir(b, name)
	return failed == nil && alsoFailed == nil && slices.EqualFunc(one, two, func(x, y fs.DirEntry) bool { return x.Name() == y.Name() && x.Type() == y.Type() })
}

func sameContent(a, b fs.FS, name string) bool {
	one, failed := fs.ReadFile(a, name)
	two, alsoFailed := fs.ReadFile(b, name)
	return failed == nil && alsoFailed == nil && bytes.Equal(one, two)
}
