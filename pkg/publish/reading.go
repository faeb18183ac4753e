package publish

import (
	"io/fs"
	"maps"
	"slices"
	"sync"
)

// Reading is a repository that notes which of its files are read.
type Reading struct {
	fs.FS
	mu    sync.Mutex
	files map[string]bool
}

// NewReading returns a repository in which nothing was read yet.
func NewReading(root fs.FS) *Reading { return &Reading{FS: root, files: map[string]bool{}} }

// Files are the files that were read, sorted.
func (r *Reading) Files() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.files))
}

// Open implements fs.FS.
func (r *Reading) Open(name string) (fs.File, error) {
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
func (r *Reading) Stat(name string) (fs.FileInfo, error) { return fs.Stat(r.FS, name) }

// ReadDir implements fs.ReadDirFS.
func (r *Reading) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(r.FS, name) }

// Lstat implements fs.ReadLinkFS.
func (r *Reading) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(r.FS, name) }

// ReadLink implements fs.ReadLinkFS.
func (r *Reading) ReadLink(name string) (string, error) { return fs.ReadLink(r.FS, name) }
