// Package disk is the output folder on a real file system, the only package below pkg/compile that writes.
//
// It never leaves its folder, not even through symbolic links.
package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// temporary is the name under which a file is written before it takes its place. Files are written one after another, so one
// name is enough, and an interrupted build leaves at most this file.
const temporary = ".lockstep-tmp"

// Dir is an open output folder; it implements emit.Dir.
type Dir struct {
	root *os.Root
}

// Open opens a folder, which is created where it does not exist.
func Open(name string) (*Dir, error) {
	if err := os.MkdirAll(name, 0o755); err != nil {
		return nil, fmt.Errorf("create output folder: %w", err)
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("open output folder: %w", err)
	}
	if err := root.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("clear output folder: %w", err)
	}
	return &Dir{root: root}, nil
}

// Close closes the folder.
func (d *Dir) Close() error { return d.root.Close() }

// ReadFile returns the content of a file.
func (d *Dir) ReadFile(name string) ([]byte, error) { return d.root.ReadFile(name) }

// WriteFile replaces a file by renaming a finished one over it.
func (d *Dir) WriteFile(name string, data []byte) error {
	if err := d.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	if err := d.root.WriteFile(temporary, data, 0o644); err != nil {
		return err
	}
	return d.root.Rename(temporary, name)
}

// Remove removes a file and the folders above it that are empty then.
func (d *Dir) Remove(name string) error {
	if err := d.root.Remove(name); err != nil {
		return err
	}
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		if d.root.Remove(folder) != nil {
			return nil //nolint:nilerr // not empty
		}
	}
	return nil
}
