package programs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// pins is what determines a family's programs.
type pins struct {
	version string
	hash    string
}

// readPins hashes the family's module files, its own sources, its flags and
// the Go version.
func readPins(source string, f family, goVersion string) (pins, error) {
	dir := filepath.Join(source, "programs", f.folder)
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return pins{}, fmt.Errorf("read the pins of %s: %w", f.folder, err)
	}
	version, err := pinned(mod, f.module)
	if err != nil {
		return pins{}, fmt.Errorf("read the pins of %s: %w", f.folder, err)
	}
	files, err := inputs(dir)
	if err != nil {
		return pins{}, fmt.Errorf("read the pins of %s: %w", f.folder, err)
	}
	h := sha256.New()
	for _, part := range append([]string{goVersion, strings.Join(flags(f, version), "\n"), fmt.Sprint(f.cgo)}, files...) {
		_, _ = fmt.Fprintf(h, "%d\n%s", len(part), part)
	}
	return pins{version: version, hash: hex.EncodeToString(h.Sum(nil))[:16]}, nil
}

// inputs are the contents of go.mod, go.sum and the sources, with their names.
func inputs(dir string) ([]string, error) {
	var contents []string
	for _, pattern := range []string{"go.mod", "go.sum", "*.go"} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return nil, err
		}
		slices.Sort(paths)
		for _, path := range paths {
			content, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			contents = append(contents, filepath.Base(path), string(content))
		}
	}
	return contents, nil
}

// pinned reads the version that a go.mod requires of a module. Our own sources
// have version 1.
func pinned(mod []byte, module string) (string, error) {
	if module == "" {
		return "1", nil
	}
	file, err := modfile.Parse("go.mod", mod, nil)
	if err != nil {
		return "", err
	}
	for _, r := range file.Require {
		if r.Mod.Path == module {
			return r.Mod.Version, nil
		}
	}
	return "", fmt.Errorf("go.mod does not require %s", module)
}

// flags are the arguments of `go build` that change the result. Everything but
// the linker's flags is the same for all families that do not use cgo, so that
// they share compiled packages.
func flags(f family, version string) []string {
	link := []string{"-s", "-w"}
	if f.ldflags != nil {
		link = append(link, f.ldflags(version)...)
	}
	args := []string{"-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags=" + strings.Join(link, " ")}
	return append(args, tags(f)...)
}

// tags is the flag that says which files of the family's packages count.
func tags(f family) []string {
	if len(f.tags) == 0 {
		return nil
	}
	return []string{"-tags=" + strings.Join(f.tags, ",")}
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:16]
}
