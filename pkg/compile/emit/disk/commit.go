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
	if err := d.stage.begin(); err != nil {
		return d.failed(err)
	}
	if err := d.commit(written, removed, others); err != nil {
		return err
	}
	return d.stage.discard()
}

func (d *Dir) commit(written, removed []string, others int) error {
	changed := len(written) + len(removed)
	if changed == 1 {
		return d.failed(d.rename(d.stage.tree(), written, removed))
	}
	if changed > handful || others < thousands {
		if err := d.exchange(written, removed); !errors.Is(err, errNotAtOnce) {
			return d.failed(err)
		}
	}
	if err := (journal{written: written, removed: removed}).write(d.stage.place); err != nil {
		return d.failed(err)
	}
	if err := d.rename(d.stage.tree(), written, removed); err != nil {
		// The journal stays.
		d.stage.place = ""
		return fmt.Errorf("output folder `%s`, which the next build completes: %w", d.name, err)
	}
	return nil
}

// exchange makes the next generation of the smallest folder that holds all changes, and lets the two change places.
func (d *Dir) exchange(written, removed []string) error {
	folder := common(written, removed)
	next := filepath.Join(d.stage.tree(), folder)
	g := generation{old: filepath.Join(d.path, folder), next: next, folder: folder, staged: d.stage.files, removed: map[string]bool{}}
	for _, name := range removed {
		g.removed[name] = true
	}
	if err := g.complete(); err != nil {
		return err
	}
	info, err := os.Lstat(next)
	if err != nil {
		return err
	}
	j := journal{folder: folder, inode: inode(info), written: written, removed: removed}
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
	if err := exchange(next, g.old); err != nil {
		return err
	}
	if g.touched(next) {
		return rescue(next, g.old, j.changed())
	}
	return nil
}

// common returns the deepest folder that all files are in.
func common(lists ...[]string) string {
	folder := ""
	for _, names := range lists {
		for _, name := range names {
			if folder == "" {
				folder = path.Dir(name)
			}
			for folder != "." && !below(folder, name) {
				folder = path.Dir(folder)
			}
		}
	}
	return folder
}

func below(folder, name string) bool {
	return len(name) > len(folder) && name[len(folder)] == '/' && name[:len(folder)] == folder
}
