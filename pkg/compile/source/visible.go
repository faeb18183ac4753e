package source

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Why a path is not followed.
var (
	// ErrHidden means that a part of the path begins with a dot, as in `.git/config`, which may hold credentials.
	ErrHidden = errors.New("hidden files are not read: name a file without a part that begins with `.`")
	// ErrOutside means that a link leads out of the repository, or to an absolute path.
	ErrOutside = errors.New("files outside the repository are not read: copy the file into it, and name the copy")
	// ErrTooManyLinks means that a path has more links than Linux follows, or a loop of them.
	ErrTooManyLinks = errors.New("there are more than 40 links, or a loop of them: name the file itself")
)

const maxLinks = 40

// Visible returns the files of a repository that specs may name, on disk or in a revision. Links are followed part by
// part: neither a name nor a link leads out of the repository or to a hidden file. Folders are listed without hidden
// files.
func Visible(files fs.FS) fs.FS {
	return confinedFS{files, func(part string) bool { return strings.HasPrefix(part, ".") }}
}

// Whole returns all files of a repository but git's own, in the same way: files that set up pipelines are hidden.
func Whole(files fs.FS) fs.FS {
	return confinedFS{files, func(part string) bool { return strings.EqualFold(part, ".git") }}
}

// confinedFS follows links itself, so that files only ever opens paths without links. It shows none: there is no Lstat.
type confinedFS struct {
	files  fs.FS
	hidden func(part string) bool
}

// Open implements fs.FS.
func (c confinedFS) Open(name string) (fs.File, error) {
	found, err := c.resolve("open", name)
	if err != nil {
		return nil, err
	}
	return c.files.Open(found)
}

// Stat implements fs.StatFS.
func (c confinedFS) Stat(name string) (fs.FileInfo, error) {
	found, err := c.resolve("stat", name)
	if err != nil {
		return nil, err
	}
	return fs.Stat(c.files, found)
}

// ReadDir implements fs.ReadDirFS.
func (c confinedFS) ReadDir(name string) ([]fs.DirEntry, error) {
	found, err := c.resolve("readdir", name)
	if err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(c.files, found)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return c.hidden(e.Name()) }), err
}

func (c confinedFS) resolve(op, name string) (found string, err error) {
	links := maxLinks
	if err = fs.ErrInvalid; fs.ValidPath(name) {
		found, err = c.follow(".", name, &links)
	}
	if err != nil {
		return "", &fs.PathError{Op: op, Path: name, Err: err}
	}
	return found, nil
}

// follow returns where a path leads from a folder that has no links in its own path. It counts down the links that may
// still follow.
func (c confinedFS) follow(at, name string, links *int) (string, error) {
	for part := range strings.SplitSeq(name, "/") {
		next := path.Join(at, part)
		switch {
		case part == ".." && at == ".":
			return "", ErrOutside
		case part == "" || part == "." || part == "..":
			at = next
			continue
		case c.hidden(part):
			return "", ErrHidden
		}
		info, err := fs.Lstat(c.files, next)
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			next, err = c.followLink(at, next, links)
		}
		if err != nil {
			return "", Reason(err)
		}
		at = next
	}
	return at, nil
}

func (c confinedFS) followLink(at, link string, links *int) (found string, err error) {
	target, err := fs.ReadLink(c.files, link)
	switch *links--; {
	case err != nil:
		return "", err
	case *links < 0:
		return "", ErrTooManyLinks
	case path.IsAbs(target):
		err = ErrOutside
	default:
		found, err = c.follow(at, target, links)
	}
	if err != nil && *links >= 0 {
		err = fmt.Errorf("the symbolic link `%s` leads to `%s`: %w", link, target, err)
	}
	return found, err
}
