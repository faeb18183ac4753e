package gitfs

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"lockstep.dev/lockstep/pkg/compile/source"
)

// Revision is the content of a repository at a commit.
type Revision struct {
	// Name is how it was asked for.
	Name       string
	repository *Repository
	commit     *object.Commit
	// tree is the top of its files.
	tree plumbing.Hash
}

// Hash names the commit, in 40 hexadecimal digits.
func (v *Revision) Hash() string { return v.commit.Hash.String() }

// FS returns the files of the folder that the repository was opened with, as they are in the revision and as far as
// specs may name them. Where beside is not nil, it is another state of the same folder: a file that is the same there
// is read there, which is much cheaper than unpacking it.
func (v *Revision) FS(beside fs.FS) fs.FS {
	return source.Visible(&treeFS{revision: v, prefix: v.repository.prefix, beside: beside})
}

// Top returns the files of the whole repository, as they are in the revision.
func (v *Revision) Top() fs.FS { return source.Whole(&treeFS{revision: v, prefix: "."}) }

// treeFS is a revision as a file system without symbolic links: what is around it follows them.
type treeFS struct {
	revision *Revision
	// prefix is the way from the top of the repository to the folder.
	prefix string
	beside fs.FS
}

// Open opens a file or a folder.
func (t *treeFS) Open(name string) (fs.File, error) {
	found, err := t.nodeAt(name)
	if err != nil {
		return nil, err
	}
	if found.IsDir() {
		return &openFolder{treeNode: found}, nil
	}
	// Whoever opens a file asks for its size first, and git finds that by unpacking it.
	found.takeFromBeside()
	return &openFile{treeNode: found}, nil
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

// ReadLink returns where a symbolic link leads.
func (t *treeFS) ReadLink(name string) (string, error) {
	found, err := t.nodeAt(name)
	if err != nil {
		return "", err
	}
	target, err := found.readContent()
	return string(target), err
}

// nodeAt finds an entry by a path without links.
func (t *treeFS) nodeAt(name string) (*treeNode, error) {
	full := path.Join(t.prefix, name)
	if full == "." {
		return &treeNode{in: t, path: ".", entry: object.TreeEntry{Name: ".", Mode: filemode.Dir, Hash: t.revision.tree}}, nil
	}
	entry, err := t.revision.treeEntryAt(full)
	if err != nil {
		return nil, err
	}
	return &treeNode{in: t, path: name, entry: entry}, nil
}

// treeEntryAt finds an entry by its path from the top of the repository.
func (v *Revision) treeEntryAt(full string) (object.TreeEntry, error) {
	at, way := object.TreeEntry{Mode: filemode.Dir, Hash: v.tree}, ""
	for element := range strings.SplitSeq(full, "/") {
		if at.Mode != filemode.Dir {
			return at, fs.ErrNotExist
		}
		entries, err := v.repository.folderEntries(at.Hash)
		if err != nil {
			return at, err
		}
		i, found := slices.BinarySearchFunc(entries, element, func(e object.TreeEntry, name string) int { return strings.Compare(e.Name, name) })
		if !found {
			return at, fs.ErrNotExist
		}
		way = path.Join(way, element)
		if at = entries[i]; at.Mode == filemode.Submodule {
			return at, submoduleError(way)
		}
	}
	return at, nil
}

// treeNode is one entry of a tree: a file, a folder or a symbolic link. It is what fs calls its information, too.
type treeNode struct {
	in    *treeFS
	path  string
	entry object.TreeEntry
}

// The methods of fs.FileInfo. Everything is as old as the commit.
func (n *treeNode) Name() string       { return path.Base(n.path) }
func (n *treeNode) ModTime() time.Time { return n.in.revision.commit.Committer.When }
func (n *treeNode) IsDir() bool        { return n.entry.Mode == filemode.Dir }
func (n *treeNode) Sys() any           { return nil }

// Size is the size of a file in bytes, 0 where git does not have it.
func (n *treeNode) Size() int64 {
	if n.IsDir() {
		return 0
	}
	return n.in.revision.repository.blobSize(n.entry.Hash)
}

func (n *treeNode) Mode() fs.FileMode {
	switch n.entry.Mode {
	case filemode.Dir:
		return fs.ModeDir | 0o755
	case filemode.Symlink:
		return fs.ModeSymlink | 0o777
	case filemode.Executable:
		return 0o755
	case filemode.Submodule:
		return fs.ModeIrregular
	}
	return 0o644
}

// listFolder lists a folder. One with a submodule in it is refused, but for the top, of which only named folders are read: whoever lists a folder
// would take the submodule for nothing.
func (n *treeNode) listFolder() ([]fs.DirEntry, error) {
	if !n.IsDir() {
		return nil, &fs.PathError{Op: "readdir", Path: n.path, Err: errors.New("not a directory")}
	}
	listed, err := n.in.revision.repository.folderEntries(n.entry.Hash)
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: n.path, Err: err}
	}
	entries := make([]fs.DirEntry, len(listed))
	for i, entry := range listed {
		if entry.Mode == filemode.Submodule && n.path != "." {
			full := path.Join(n.in.revision.repository.prefix, n.path, entry.Name)
			return nil, &fs.PathError{Op: "readdir", Path: n.path, Err: submoduleError(full)}
		}
		entries[i] = fs.FileInfoToDirEntry(&treeNode{in: n.in, path: path.Join(n.path, entry.Name), entry: entry})
	}
	return entries, nil
}

// readContent returns what is in a file, or where a symbolic link leads. Nobody changes it.
func (n *treeNode) readContent() ([]byte, error) {
	n.takeFromBeside()
	r := n.in.revision.repository
	if data, found := r.cachedBlob(n.entry.Hash); found {
		return data, nil
	}
	data, err := r.readBlob(n.entry.Hash)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: n.path, Err: err}
	}
	r.cacheBlob(n.entry.Hash, data)
	return data, nil
}

// maxBeside is the size in bytes up to which a file of the other state is read to see whether it is the same.
const maxBeside = 4 << 20

// takeFromBeside takes the content from the other state, where it is the same there.
func (n *treeNode) takeFromBeside() {
	r := n.in.revision.repository
	if _, found := r.cachedBlob(n.entry.Hash); found || n.in.beside == nil || !n.Mode().IsRegular() {
		return
	}
	info, err := fs.Stat(n.in.beside, n.path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxBeside {
		return
	}
	data, err := fs.ReadFile(n.in.beside, n.path)
	if err == nil && plumbing.ComputeHash(plumbing.BlobObject, data) == n.entry.Hash {
		r.cacheBlob(n.entry.Hash, data)
	}
}
