package disk

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// A handful of changed files among thousands are renamed one by one: linking thousands takes longer than all the rest of a build.
const (
	handful   = 16
	thousands = 1000
)

// errNotAtOnce says that a folder cannot be exchanged.
var errNotAtOnce = errors.New("the folder cannot be exchanged")

// Commit brings the staged files into the folder and removes others. It is the last use of a Dir.
func (d *Dir) Commit(removed []string, others int) error {
	written := slices.Sorted(maps.Keys(d.stage.files))
	if len(written)+len(removed) == 0 {
		return nil
	}
	if err := d.stage.createArea(); err != nil {
		return d.nameFolderInError(err)
	}
	if err := d.commit(written, removed, others); err != nil {
		return err
	}
	return d.stage.discard()
}

func (d *Dir) commit(written, removed []string, others int) error {
	changed := len(written) + len(removed)
	if changed == 1 {
		return d.nameFolderInError(d.commitByRename(d.stage.treePath(), written, removed))
	}
	if changed > handful || others < thousands {
		if err := d.commitByExchange(written, removed); !errors.Is(err, errNotAtOnce) {
			return d.nameFolderInError(err)
		}
	}
	if err := (commitJournal{written: written, removed: removed}).write(d.stage.place); err != nil {
		return d.nameFolderInError(err)
	}
	if err := d.commitByRename(d.stage.treePath(), written, removed); err != nil {
		// The journal stays.
		d.stage.place = ""
		return fmt.Errorf("output folder `%s`, which the next build completes: %w", d.name, err)
	}
	return nil
}

// commitByExchange makes the next generation of the smallest folder that holds all changes, and lets the two change places.
func (d *Dir) commitByExchange(written, removed []string) error {
	folder := commonFolder(written, removed)
	next := filepath.Join(d.stage.treePath(), folder)
	g := folderGeneration{old: filepath.Join(d.path, folder), next: next, folder: folder, staged: d.stage.files, removed: map[string]bool{}}
	for _, name := range removed {
		g.removed[name] = true
	}
	if err := g.linkUnchanged(); err != nil {
		return err
	}
	info, err := os.Lstat(next)
	if err != nil {
		return err
	}
	j := commitJournal{folder: folder, inode: inode(info), written: written, removed: removed}
	if err := j.write(d.stage.place); err != nil {
		return err
	}
	if folder == "." {
		lock, err := lockFolder(next, d.name)
		if err != nil {
			return err
		}
		d.locks = append(d.locks, lock)
	}
	if err := exchangeFolders(next, g.old); err != nil {
		return err
	}
	if g.touchedSinceLinked(next) {
		return rescueForeignFiles(next, g.old, j.changedNames())
	}
	return nil
}

// commonFolder returns the deepest folder that all files are in.
func commonFolder(lists ...[]string) string {
	folder := ""
	for _, names := range lists {
		for _, name := range names {
			if folder == "" {
				folder = path.Dir(name)
			}
			for folder != "." && !isBelow(folder, name) {
				folder = path.Dir(folder)
			}
		}
	}
	return folder
}

func isBelow(folder, name string) bool {
	return len(name) > len(folder) && name[len(folder)] == '/' && name[:len(folder)] == folder
}
