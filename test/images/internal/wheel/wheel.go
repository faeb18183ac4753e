// Package wheel puts files of Python's package index into root file systems.
//
// Duty: have pip download a wheel or a source distribution at a pinned hash, once for all checkouts (Fetch, FetchSource), and unpack those files of a
// wheel that an image needs (Unpack).
//
// Invariants: no registry is named here, pip asks the one that the machine is set up for; a file with another hash is never used. Nothing is run of a
// wheel. Of a source distribution pip itself runs setup.py, which tells it the metadata, once the hash is right.
package wheel

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"lockstep.dev/lockstep/test/images/internal/pinned"
)

// kind is what pip is asked for, and how the names of such files end.
type kind struct{ option, suffix string }

// Fetch returns the file of a wheel in the folder cache, which pip downloads first if it is not there. Of the builds of a version it is the one
// with the hash.
func Fetch(ctx context.Context, name, version, hash, cache string, report func(string)) (file string, err error) {
	return kind{"--only-binary=:all:", ".whl"}.fetch(ctx, name, version, hash, cache, report)
}

// FetchSource does the same for a source distribution.
func FetchSource(ctx context.Context, name, version, hash, cache string, report func(string)) (file string, err error) {
	return kind{"--no-binary=" + name, ".tar.gz"}.fetch(ctx, name, version, hash, cache, report)
}

func (k kind) fetch(ctx context.Context, name, version, hash, cache string, report func(string)) (file string, err error) {
	return pinned.File{Name: name, Version: version, SHA256: hash, Suffix: k.suffix}.Fetch(cache, report, func(folder string) error {
		return k.download(ctx, name, version, hash, folder)
	})
}

func (k kind) download(ctx context.Context, name, version, hash, to string) error {
	pinned := filepath.Join(to, "requirements.txt")
	if err := os.WriteFile(pinned, fmt.Appendf(nil, "%s==%s --hash=sha256:%s\n", name, version, hash), 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "python3", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-cache-dir", "--no-deps",
		k.option, "--require-hashes", "--requirement="+pinned, "--dest="+to)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// Modules is where Debian's Python looks for modules, whatever its version.
const Modules = "/usr/lib/python3/dist-packages"

// Unpack writes files of a wheel below the folder root, and returns their paths as seen from inside: data below /usr/local, modules where Debian's
// Python finds them. With patterns (path.Match) it writes only what one of them matches, and each has to match something.
func Unpack(file, root string, patterns []string) ([]string, error) {
	z, err := zip.OpenReader(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = z.Close() }() // only read
	var paths []string
	unused := slices.Clone(patterns)
	for _, f := range z.File {
		to, err := destination(f.Name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
		matches := func(pattern string) bool { match, err := path.Match(pattern, to); return match && err == nil }
		if strings.HasSuffix(f.Name, "/") || len(patterns) > 0 && !slices.ContainsFunc(patterns, matches) {
			continue
		}
		unused = slices.DeleteFunc(unused, matches)
		if err := unpackOne(f, filepath.Join(root, to)); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", filepath.Base(file), f.Name, err)
		}
		paths = append(paths, to)
	}
	if len(unused) > 0 {
		return nil, fmt.Errorf("%s has nothing at %s", filepath.Base(file), strings.Join(unused, ", "))
	}
	return paths, nil
}

// destination is where a file of a wheel belongs (https://packaging.python.org/en/latest/specifications/binary-distribution-format/).
func destination(name string) (string, error) {
	if !filepath.IsLocal(name) {
		return "", fmt.Errorf("%q leaves the folder that it is unpacked to", name)
	}
	first, rest, _ := strings.Cut(name, "/")
	if !strings.HasSuffix(first, ".data") {
		return path.Join(Modules, name), nil
	}
	kind, below, _ := strings.Cut(rest, "/")
	switch kind {
	case "data":
		return path.Join("/usr/local", below), nil
	case "purelib", "platlib":
		return path.Join(Modules, below), nil
	}
	return "", fmt.Errorf("%q: want data, purelib or platlib: scripts would have to be written anew for the Python of the image", name)
}

func unpackOne(f *zip.File, to string) (err error) {
	from, err := f.Open()
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // only read
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if f.Mode()&0o111 != 0 {
		mode = 0o755
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, from)
	return errors.Join(err, out.Chmod(mode), out.Close())
}
