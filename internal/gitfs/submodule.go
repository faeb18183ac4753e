package gitfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/source"
)

// ErrSubmodule says that files are in a submodule, whose content is in another repository.
var ErrSubmodule = errors.New("is a git submodule")

// submoduleError is the error about a submodule, by its path from the top of the repository.
func submoduleError(full string) error {
	return fmt.Errorf("`%s` %w: its files are in another repository, and a revision has no more of them than the name of a commit. Move them into this repository, for example with `git subtree add`; diff can also compare two folders, in which submodules are checked out", full, ErrSubmodule)
}

// WorkingTree returns the files of the folder that the repository was opened with, as they are on disk and as far as
// specs may name them. Submodules are refused as in a revision: specs that are not checked out would look like specs
// that do not exist, and a commit would not have them.
func (r *Repository) WorkingTree(files FolderFS) fs.FS {
	return source.Visible(&fsWithoutSubmodules{files, r.Prefix(), r.submodulePaths()})
}

// submodulePaths returns the submodules of the index below the folder, relative to it.
func (r *Repository) submodulePaths() []string {
	listed, _, err := run(r.folder, "ls-files", "--stage", "-z")
	if err != nil {
		return nil
	}
	var found []string
	for line := range strings.SplitSeq(listed, "\x00") {
		facts, name, _ := strings.Cut(line, "\t")
		if strings.HasPrefix(facts, submoduleMode+" ") {
			found = append(found, name)
		}
	}
	return found
}

// FolderFS is the file system of package os.
type FolderFS interface {
	fs.StatFS
	fs.ReadDirFS
	fs.ReadLinkFS
}

// fsWithoutSubmodules are files without submodules, for Visible, which looks at all parts of a path.
type fsWithoutSubmodules struct {
	FolderFS
	prefix     string
	submodules []string
}

// refuseSubmodule refuses what is in a submodule, and to list a folder with one in it, but for the top.
func (w *fsWithoutSubmodules) refuseSubmodule(op, name string) error {
	for _, at := range w.submodules {
		inside := name == at || strings.HasPrefix(name, at+"/")
		if inside || op == "readdir" && name != "." && path.Dir(at) == name {
			return &fs.PathError{Op: op, Path: name, Err: submoduleError(w.prefix + at)}
		}
	}
	return nil
}

// ReadDir implements fs.ReadDirFS.
func (w *fsWithoutSubmodules) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := w.refuseSubmodule("readdir", name); err != nil {
		return nil, err
	}
	return w.FolderFS.ReadDir(name)
}

// Lstat implements fs.ReadLinkFS.
func (w *fsWithoutSubmodules) Lstat(name string) (fs.FileInfo, error) {
	if err := w.refuseSubmodule("lstat", name); err != nil {
		return nil, err
	}
	return w.FolderFS.Lstat(name)
}
