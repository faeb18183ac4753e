package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// commitJournal says what a commit of several files is about to do. It is complete or counts as none, and is there before the first step.
type commitJournal struct {
	// folder changes places with its next generation, whose inode is inode. Empty means that files are renamed one by one.
	folder string
	inode  uint64
	// written and removed are relative to the output folder.
	written, removed []string
}

const (
	journalEnd = "end"
	byRename   = "rename"
	byExchange = "exchange"
)

func (j commitJournal) write(place string) error {
	var text strings.Builder
	if j.folder == "" {
		text.WriteString(byRename)
	} else {
		fmt.Fprintf(&text, "%s %d %s", byExchange, j.inode, j.folder)
	}
	text.WriteByte('\n')
	for _, name := range j.written {
		text.WriteString("+" + name + "\n")
	}
	for _, name := range j.removed {
		text.WriteString("-" + name + "\n")
	}
	text.WriteString(journalEnd + "\n")
	return os.WriteFile(filepath.Join(place, journalFile), []byte(text.String()), 0o644)
}

// readJournal reports whether a staging area has a whole journal, and returns it.
func readJournal(place string) (commitJournal, bool) {
	data, err := os.ReadFile(filepath.Join(place, journalFile))
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if err != nil || len(lines) < 2 || lines[len(lines)-1] != journalEnd {
		return commitJournal{}, false
	}
	var j commitJournal
	if words := strings.SplitN(lines[0], " ", 3); len(words) == 3 && words[0] == byExchange {
		j.inode, _ = strconv.ParseUint(words[1], 10, 64)
		j.folder = words[2]
	} else if lines[0] != byRename {
		return commitJournal{}, false
	}
	for _, line := range lines[1 : len(lines)-1] {
		written, isWritten := strings.CutPrefix(line, "+")
		removed, isRemoved := strings.CutPrefix(line, "-")
		switch {
		case isWritten && fs.ValidPath(written):
			j.written = append(j.written, written)
		case isRemoved && fs.ValidPath(removed):
			j.removed = append(j.removed, removed)
		default:
			return commitJournal{}, false
		}
	}
	return j, j.folder == "" || fs.ValidPath(j.folder)
}

// recoverInterrupted finishes or discards what an interrupted build has left.
func (d *Dir) recoverInterrupted() error {
	for _, place := range d.stage.leftAreas() {
		if j, whole := readJournal(place); whole {
			if err := d.finishInterrupted(place, j); err != nil {
				return err
			}
		}
		if err := os.RemoveAll(place); err != nil {
			return err
		}
	}
	return nil
}

// finishInterrupted goes on where a commit was interrupted. An exchange has happened or not; what came into the folder since belongs to
// whoever put it there.
func (d *Dir) finishInterrupted(place string, j commitJournal) error {
	tree := filepath.Join(place, treeFolder)
	if j.folder == "" {
		return d.commitByRename(tree, j.written, j.removed)
	}
	if now, err := os.Lstat(filepath.Join(d.path, j.folder)); err != nil || inode(now) != j.inode {
		return nil //nolint:nilerr // it did not happen
	}
	return rescueForeignFiles(filepath.Join(tree, j.folder), filepath.Join(d.path, j.folder), j.changedNames())
}

// changedNames are the names, relative to the folder, that are ours to lose.
func (j commitJournal) changedNames() map[string]bool {
	changed := make(map[string]bool, len(j.written)+len(j.removed))
	for _, names := range [][]string{j.written, j.removed} {
		for _, name := range names {
			relative, err := filepath.Rel(j.folder, name)
			if err == nil {
				changed[relative] = true
			}
		}
	}
	return changed
}

// commitByRename brings staged files to their places one by one, and removes others. What is done already is done.
func (d *Dir) commitByRename(tree string, written, removed []string) error {
	for _, name := range written {
		staged := filepath.Join(tree, name)
		if _, err := os.Lstat(staged); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		// Unlike the rename it does not follow a link out of the folder.
		if err := d.root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.Rename(staged, filepath.Join(d.path, name)); err != nil {
			return err
		}
	}
	for _, name := range removed {
		if err := d.removeWithEmptyFolders(name); err != nil {
			return err
		}
	}
	return nil
}

// removeWithEmptyFolders removes a file and the folders above it that are empty then.
func (d *Dir) removeWithEmptyFolders(name string) error {
	if err := d.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for folder := filepath.Dir(name); folder != "."; folder = filepath.Dir(folder) {
		if d.root.Remove(folder) != nil {
			return nil //nolint:nilerr // not empty
		}
	}
	return nil
}
