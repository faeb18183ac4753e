package publish

import (
	"io/fs"
	"maps"
	"slices"
	"sync"
)

// OpenRecordingFS is a repository that notes which of its files are read.
type OpenRecordingFS struct {
	fs.FS
	mu    sync.Mutex
	files map[string]bool
}

// NewRecordingFS returns a repository in which nothing was read yet.
func NewRecordingFS(root fs.FS) *OpenRecordingFS {
	return &OpenRecordingFS{FS: root, files: map[string]bool{}}
}

// Files are the files that were read, sorted.
func (r *OpenRecordingFS) Files() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.files))
}

// Open implements fs.FS.
func (r *OpenRecordingFS) Open(name string) (fs.File, error) {
	opened, err := r.FS.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := opened.Stat(); err == nil && info.Mode().IsRegular() {
		r.mu.Lock()
		r.files[name] = true
		r.mu.Unlock()
	}
	return opened, nil
}

// Stat implements fs.StatFS.
func (r *OpenRecordingFS) Stat(name string) (fs.FileInfo, error) { return fs.Stat(r.FS, name) }

// ReadDir implements fs.ReadDirFS.
func (r *OpenRecordingFS) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(r.FS, name) }
