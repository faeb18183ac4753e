package gitfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"lockstep.dev/lockstep/pkg/compile/source"
)

// Revision is the content of a repository at a commit.
type Revision struct {
	// Name is how it was asked for.
	Name       string
	repository *Repository
	hash       string
	// entries are all entries by their path from the top of the repository, and "." for the top. folders are the names
	// in each folder, sorted.
	entries map[string]entry
	folders map[string][]string
}

// entry is one line of a tree: the mode in git's words, and the hash of the content.
type entry struct{ mode, hash string }

// The modes of entries that are no ordinary files.
const (
	folderMode     = "040000"
	linkMode       = "120000"
	executableMode = "100755"
	submoduleMode  = "160000"
)

// newRevision reads the names of all files of a commit.
func (r *Repository) newRevision(name, hash string) (*Revision, error) {
	listed, _, err := run(r.folder, "ls-tree", "-r", "-t", "-z", "--full-tree", hash)
	if err != nil {
		return nil, r.explainByClone(fmt.Errorf("read the files of `%s`: %w", name, err))
	}
	v := &Revision{
		Name: name, repository: r, hash: hash,
		entries: map[string]entry{".": {mode: folderMode}}, folders: map[string][]string{},
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(listed, "\x00"), "\x00") {
		facts, full, _ := strings.Cut(line, "\t")
		if fields := strings.Fields(facts); len(fields) == 3 {
			v.entries[full] = entry{fields[0], fields[2]}
			v.folders[path.Dir(full)] = append(v.folders[path.Dir(full)], path.Base(full))
		}
	}
	for _, names := range v.folders {
		// Git sorts folders as if their names ended with a slash.
		slices.Sort(names)
	}
	return v, nil
}

// Hash names the commit, in 40 hexadecimal digits.
func (v *Revision) Hash() string { return v.hash }

// FS returns the files of the folder that the repository was opened with, as they are in the revision and as far as
// specs may name them.
func (v *Revision) FS() fs.FS {
	return source.Visible(&treeFS{revision: v, prefix: strings.TrimSuffix(v.repository.prefix, "/")})
}

// Top returns the files of the whole repository, as they are in the revision.
func (v *Revision) Top() fs.FS { return source.Whole(&treeFS{revision: v}) }

// treeFS is a revision as a file system without symbolic links: its user follows them.
type treeFS struct {
	revision *Revision
	// prefix leads from the top of the repository to the folder.
	prefix string
}

// Open opens a file or a folder.
func (t *treeFS) Open(name string) (fs.File, error) {
	found, err := t.nodeAt(name)
	if err != nil {
		return nil, err
	}
	return &openNode{treeNode: found}, nil
}

// Stat is Lstat: no path has a link in it.
func (t *treeFS) Stat(name string) (fs.FileInfo, error) { return t.nodeAt(name) }

// Lstat is about a symbolic link itself.
func (t *treeFS) Lstat(name string) (fs.FileInfo, error) { return t.nodeAt(name) }

// ReadDir lists a folder, sorted by name.
func (t *treeFS) ReadDir(name string) ([]fs.DirEntry, error) {
	found, err := t.nodeAt(name)
	if err != nil {
		return nil, err
	}
	return found.listFolder()
}

// ReadLink returns the target of a symbolic link.
func (t *treeFS) ReadLink(name string) (string, error) {
	found, err := t.nodeAt(name)
	if err != nil {
		return "", err
	}
	target, err := found.readContent()
	return string(target), err
}

// nodeAt finds an entry by a path without links. Whatever is in a submodule is an error.
func (t *treeFS) nodeAt(name string) (*treeNode, error) {
	full := path.Join(t.prefix, name)
	found, exists := t.revision.entries[full]
	for up := full; up != "."; up = path.Dir(up) {
		if t.revision.entries[up].mode == submoduleMode {
			return nil, submoduleError(up)
		}
	}
	if !exists {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &treeNode{in: t, path: name, full: full, entry: found}, nil
}

// treeNode is one entry of a tree: a file, a folder or a symbolic link. It is its own fs.FileInfo.
type treeNode struct {
	in         *treeFS
	path, full string
	entry      entry
}

// The methods of fs.FileInfo. Git records no times of files.
func (n *treeNode) Name() string       { return path.Base(n.path) }
func (n *treeNode) ModTime() time.Time { return time.Time{} }
func (n *treeNode) IsDir() bool        { return n.entry.mode == folderMode }
func (n *treeNode) Sys() any           { return nil }

// Size is the size of a file in bytes, 0 if git does not have it.
func (n *treeNode) Size() int64 {
	if n.IsDir() {
		return 0
	}
	return n.in.revision.repository.objects.size(n.entry.hash)
}

func (n *treeNode) Mode() fs.FileMode {
	switch n.entry.mode {
	case folderMode:
		return fs.ModeDir | 0o755
	case linkMode:
		return fs.ModeSymlink | 0o777
	case executableMode:
		return 0o755
	case submoduleMode:
		return fs.ModeIrregular
	}
	return 0o644
}

// listFolder lists a folder. One with a submodule in it is refused, because its caller would take the submodule for
// nothing; not so the top, of which only named folders are read.
func (n *treeNode) listFolder() ([]fs.DirEntry, error) {
	if !n.IsDir() {
		return nil, &fs.PathError{Op: "readdir", Path: n.path, Err: errors.New("not a directory")}
	}
	names := n.in.revision.folders[n.full]
	entries := make([]fs.DirEntry, len(names))
	for i, name := range names {
		full := path.Join(n.full, name)
		below := n.in.revision.entries[full]
		if below.mode == submoduleMode && n.path != "." {
			return nil, &fs.PathError{Op: "readdir", Path: n.path, Err: submoduleError(full)}
		}
		entries[i] = fs.FileInfoToDirEntry(&treeNode{in: n.in, path: path.Join(n.path, name), full: full, entry: below})
	}
	return entries, nil
}

// readContent returns the content of a file, or the target of a symbolic link.
func (n *treeNode) readContent() ([]byte, error) {
	r := n.in.revision.repository
	data, err := r.objects.read(n.entry.hash)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: n.path, Err: r.explainByClone(err)}
	}
	return data, nil
}

// openNode is an open file or folder. A content is read from git when it is asked for: of files that are too large only
// the size is.
type openNode struct {
	*treeNode
	reader  *bytes.Reader
	entries []fs.DirEntry
	listed  bool
}

func (f *openNode) Stat() (fs.FileInfo, error) { return f.treeNode, nil }
func (f *openNode) Close() error               { return nil }

func (f *openNode) Read(p []byte) (int, error) {
	if f.IsDir() {
		return 0, &fs.PathError{Op: "read", Path: f.path, Err: errors.New("is a directory")}
	}
	if f.reader == nil {
		data, err := f.readContent()
		if err != nil {
			return 0, err
		}
		f.reader = bytes.NewReader(data)
	}
	return f.reader.Read(p)
}

// ReadDir returns the next n entries, or all that are left if n is not positive.
func (f *openNode) ReadDir(n int) ([]fs.DirEntry, error) {
	if !f.listed {
		entries, err := f.listFolder()
		if err != nil {
			return nil, err
		}
		f.entries, f.listed = entries, true
	}
	if n > 0 && len(f.entries) == 0 {
		return nil, io.EOF
	}
	if n <= 0 || n > len(f.entries) {
		n = len(f.entries)
	}
	next := f.entries[:n]
	f.entries = f.entries[n:]
	return next, nil
}
