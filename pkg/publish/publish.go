// Package publish holds what is common to the places that compiled trees are brought to: a branch of git (package branch), an artifact of an
// OCI registry (package artifact), and the statement about how a tree came to be (package provenance).
//
// What is published was compiled from a commit, never from a working tree. Nothing in it depends on when or where it is published: the
// only time is that of the commit, so that the same commit and the same compiler give the same bytes.
package publish

import (
	"path"
	"time"

	"lockstep.dev/lockstep/pkg/compile/emit"
)

// Source is the commit that a tree was compiled from.
type Source struct {
	// Repository is its address without credentials; "" where nobody knows.
	Repository string
	// Commit is its name in 40 hexadecimal digits, Subject its first line, Time when it was committed.
	Commit, Subject string
	Time            time.Time
}

// Tree is a compiled tree, as `build` writes it.
type Tree struct {
	Source Source
	// Files are sorted by path, their paths relative to Folder. The record of owned files is not among them.
	Files []emit.File
	// Folder is where the tree lies in what is published, "." for its top: the path that the specs of clusters name.
	Folder string
}

// PublishedPath returns where a file lies in what is published.
func (t *Tree) PublishedPath(file emit.File) string { return path.Join(t.Folder, file.Path) }
