// Package pinned keeps files of registries, each at a pinned hash.
//
// Duty: have a file downloaded once for all checkouts (Fetch).
//
// Invariants: no registry is named here; a file with another hash is never used, wherever it comes from.
package pinned

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// File is one version of something that a registry has.
type File struct {
	Name, Version string
	// SHA256 is its hash, in hexadecimal digits, and Suffix how its name ends.
	SHA256, Suffix string
}

// Fetch returns the file in the folder cache. If it is not there, download leaves it first in an empty folder, as the only one with the suffix.
func (f File) Fetch(cache string, report func(string), download func(folder string) error) (file string, err error) {
	file = filepath.Join(cache, f.Name+"-"+f.Version+"-"+f.SHA256[:16]+f.Suffix)
	if sum, err := Hash(file); err == nil && sum == f.SHA256 {
		return file, nil
	}
	report("downloading " + f.Name + " " + f.Version)
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	folder, err := os.MkdirTemp(cache, ".tmp-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if err := download(folder); err != nil {
		return "", fmt.Errorf("download %s %s: %w", f.Name, f.Version, err)
	}
	found, err := filepath.Glob(filepath.Join(folder, "*"+f.Suffix))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("download %s %s: there is %q: want one file *%s", f.Name, f.Version, found, f.Suffix)
	}
	if sum, err := Hash(found[0]); err != nil || sum != f.SHA256 {
		return "", errors.Join(err, fmt.Errorf("download %s %s: the file has SHA-256 %s, want %s", f.Name, f.Version, sum, f.SHA256))
	}
	return file, os.Rename(found[0], file)
}

// Hash is the SHA-256 of a file, in hexadecimal digits.
func Hash(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // only read
	h := sha256.New()
	_, err = io.Copy(h, f)
	return fmt.Sprintf("%x", h.Sum(nil)), err
}
