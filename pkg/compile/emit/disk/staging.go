package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// staging is where files wait for their turn. It is made when the first one comes.
type staging struct {
	// places are where it can be, the best one first.
	places []string

	mu sync.Mutex
	// place is the one that was chosen; empty before.
	place string
	// folders are those that exist, files those that wait.
	folders, files map[string]bool
}

// In a staging area are tree, which has the shape of the output folder, the journal, and a file that hides all from git.
const (
	treeFolder  = "tree"
	journalFile = "journal"
	ignoreFile  = ".gitignore"
)

func (s *staging) tree() string { return filepath.Join(s.place, treeFolder) }

// write writes a file to the tree.
func (s *staging) write(name string, data []byte) error {
	target, err := s.add(name)
	if err != nil {
		return err
	}
	return os.WriteFile(target, data, 0o644)
}

// add makes the folders of a file and returns where it goes.
func (s *staging) add(name string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begin(); err != nil {
		return "", err
	}
	target := filepath.Join(s.tree(), filepath.FromSlash(name))
	if folder := filepath.Dir(target); !s.folders[folder] {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return "", err
		}
		s.folders[folder] = true
	}
	s.files[name] = true
	return target, nil
}

// begin makes the area at the first place where that is possible.
func (s *staging) begin() error {
	if s.place != "" {
		return nil
	}
	var first error
	for _, place := range s.places {
		err := begin(place)
		if err == nil {
			s.place, s.folders, s.files = place, map[string]bool{}, map[string]bool{}
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

func begin(place string) error {
	if err := os.MkdirAll(filepath.Join(place, treeFolder), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(place, ignoreFile), []byte("*\n"), 0o644); err != nil {
		_ = os.RemoveAll(place)
		return err
	}
	return nil
}

// discard removes the area.
func (s *staging) discard() error {
	if s.place == "" {
		return nil
	}
	err := os.RemoveAll(s.place)
	s.place = ""
	return err
}

// left returns the areas that an earlier build has left.
func (s *staging) left() []string {
	var found []string
	for _, place := range s.places {
		if _, err := os.Lstat(place); !errors.Is(err, fs.ErrNotExist) {
			found = append(found, place)
		}
	}
	return found
}
