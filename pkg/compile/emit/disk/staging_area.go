package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// stagingArea is where files wait for their turn. It is made when the first one comes.
type stagingArea struct {
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

func (s *stagingArea) treePath() string { return filepath.Join(s.place, treeFolder) }

// write writes a file to the tree.
func (s *stagingArea) write(name string, data []byte) error {
	target, err := s.prepareTarget(name)
	if err != nil {
		return err
	}
	return os.WriteFile(target, data, 0o644)
}

// prepareTarget makes the folders of a file and returns where it goes.
func (s *stagingArea) prepareTarget(name string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.createArea(); err != nil {
		return "", err
	}
	target := filepath.Join(s.treePath(), filepath.FromSlash(name))
	if folder := filepath.Dir(target); !s.folders[folder] {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return "", err
		}
		s.folders[folder] = true
	}
	s.files[name] = true
	return target, nil
}

// createArea makes the area at the first place where that is possible.
func (s *stagingArea) createArea() error {
	if s.place != "" {
		return nil
	}
	var first error
	for _, place := range s.places {
		err := createAreaAt(place)
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

func createAreaAt(place string) error {
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
func (s *stagingArea) discard() error {
	if s.place == "" {
		return nil
	}
	err := os.RemoveAll(s.place)
	s.place = ""
	return err
}

// leftAreas returns the areas that an earlier build has left.
func (s *stagingArea) leftAreas() []string {
	var found []string
	for _, place := range s.places {
		if _, err := os.Lstat(place); !errors.Is(err, fs.ErrNotExist) {
			found = append(found, place)
		}
	}
	return found
}
