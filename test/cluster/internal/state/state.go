// Package state is the memory of the cluster between commands: one record, a
// lock that covers the machine, and files that are written whole or not at
// all.
package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"lockstep.dev/lockstep/test/cluster/internal/process"
)

// Stage says how far the cluster got.
type Stage string

const (
	// Starting means that `up` is at work, or died at work.
	Starting Stage = "starting"
	// Running means that `up` finished.
	Running Stage = "running"
)

// Record is what a later command must know about the cluster.
type Record struct {
	Stage Stage `json:"phase"`
	// Boot is the boot that the cluster was started in; after another boot
	// nothing of it can be left.
	Boot string `json:"boot"`
	// Bin holds links to every program.
	Bin   string `json:"bin"`
	Nodes []Node `json:"nodes"`
}

// Node is one running node.
type Node struct {
	Name string `json:"name"`
	// Init is the node's first process, as the machine numbers it.
	Init process.Identity `json:"init"`
}

const recordFile = "cluster.json"

// Read returns the record in a state folder, or nil when there is none.
func Read(dir string) (*Record, error) {
	content, err := os.ReadFile(filepath.Join(dir, recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the cluster's state: %w", err)
	}
	var r Record
	if err := json.Unmarshal(content, &r); err != nil {
		return nil, fmt.Errorf("read the cluster's state in %s: %w", filepath.Join(dir, recordFile), err)
	}
	return &r, nil
}

// Write replaces the record.
func (r Record) Write(dir string) error {
	return WriteJSON(filepath.Join(dir, recordFile), r)
}

// Remove forgets the record.
func Remove(dir string) error {
	err := os.Remove(filepath.Join(dir, recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// WriteJSON replaces a file durably: it holds the old or the new content at
// every moment, and the new one after WriteJSON returned.
func WriteJSON(path string, value any) error {
	content, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return WriteFile(path, append(content, '\n'), 0o600)
}

// WriteFile is WriteJSON for bytes.
func WriteFile(path string, content []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("write %s: %w", path, err)
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes a rename durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// BootID identifies the running boot (random(4)).
func BootID() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("identify this boot: %w", err)
	}
	return strings.TrimSpace(string(id)), nil
}
