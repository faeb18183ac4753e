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
	if !fs.ValidPath(name) {
		return "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	w := linkWalk{confinedFS: c, at: ".", rest: strings.Split(name, "/")}
	for err == nil && len(w.rest) > 0 {
		err = w.step()
	}
	if err != nil {
		return "", &fs.PathError{Op: op, Path: name, Err: w.explain(err)}
	}
	return w.at, nil
}

// linkWalk follows a path.
type linkWalk struct {
	confinedFS
	// at has no links in it; rest are the parts that follow.
	at   string
	rest []string
	// link is the last link, target where it leads, behind how many parts follow it.
	link, target  string
	behind, links int
}

func (w *linkWalk) step() error {
	part := w.rest[0]
	next := path.Join(w.at, part)
	switch {
	case part == ".." && w.at == ".":
		return ErrOutside
	case part == "" || part == "." || part == "..":
		w.at, w.rest = next, w.rest[1:]
		return nil
	case w.hidden(part):
		return ErrHidden
	}
	info, err := fs.Lstat(w.files, next)
	if err != nil {
		return Reason(err)
	}
	if w.rest = w.rest[1:]; info.Mode()&fs.ModeSymlink != 0 {
		return w.follow(next)
	}
	w.at = next
	return nil
}

func (w *linkWalk) follow(link string) (err error) {
	if w.target, err = fs.ReadLink(w.files, link); err != nil {
		return Reason(err)
	}
	w.link, w.behind = link, len(w.rest)
	w.rest = append(strings.Split(w.target, "/"), w.rest...)
	switch w.links++; {
	case w.links > maxLinks:
		return ErrTooManyLinks
	case path.IsAbs(w.target):
		return ErrOutside
	}
	return nil
}

// explain names the link whose target could not be followed.
func (w *linkWalk) explain(err error) error {
	if len(w.rest) <= w.behind || w.link == "" {
		return err
	}
	return fmt.Errorf("the symbolic link `%s` leads to `%s`: %w", w.link, w.target, err)
}
