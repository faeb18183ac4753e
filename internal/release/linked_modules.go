package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/schema/pinned"
)

// module is something of others that a release contains: a module that is linked, Go's standard library, or one that schemas come from.
type module struct {
	path, version string
	// sum is that of go.sum, "" for the standard library.
	sum string
	// folder is the module in the module cache; packages are the folders of what is linked of it.
	folder   string
	packages []string
	// schemas is true for a module of which only the schemas are in a release, as tables.
	schemas bool
	// licence is an SPDX expression, and texts are those of licences and notices by their path in the module.
	licence string
	texts   map[string]string
}

// standardLibrary is the path of Go's own module in bills of materials.
const standardLibrary = "stdlib"

func (m *module) String() string { return m.path + " " + m.version }

// linkedModules returns all modules that programs contain, with their licences. One without a licence that we know is an error.
func linkedModules(builds []programBuild) ([]*module, error) {
	known := map[string]*module{}
	for _, b := range builds {
		if err := readPackages(b, known); err != nil {
			return nil, err
		}
	}
	for _, b := range builds {
		for _, dependency := range b.info.Deps {
			m := known[dependency.Path+" "+dependency.Version]
			if m == nil || dependency.Replace != nil {
				return nil, fmt.Errorf("%s links %s %s, which go list does not name", b.program, dependency.Path, dependency.Version)
			}
			m.sum = dependency.Sum
		}
	}
	for _, s := range pinned.Sources {
		folder, err := s.Folder()
		if err != nil {
			return nil, err
		}
		m := &module{path: s.Module, version: s.Version, sum: s.Sum, folder: folder, schemas: true}
		if known[m.String()] == nil {
			known[m.String()] = m
		}
	}
	modules := slices.SortedFunc(maps.Values(known), func(a, b *module) int {
		return cmp.Or(strings.Compare(a.path, b.path), strings.Compare(a.version, b.version))
	})
	var failed []error
	for _, m := range modules {
		failed = append(failed, m.readLicences())
	}
	return modules, errors.Join(failed...)
}

// readPackages adds the modules of a program, and which packages of them it has.
func readPackages(b programBuild, known map[string]*module) error {
	cmd := exec.Command("go", "list", "-deps", "-f", "{{.Dir}}\t{{.Standard}}\t{{with .Module}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{.Main}}{{end}}", "./cmd/"+b.program)
	cmd.Env = b.goEnvironment()
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("list the packages of %s: %w", b.program, err)
	}
	root, err := commandOutput("go", "env", "GOROOT")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		m := &module{path: standardLibrary, version: runtime.Version(), folder: root}
		if fields[1] == "false" {
			m = &module{path: fields[2], version: fields[3], folder: fields[4]}
			if fields[5] == "true" {
				continue
			}
		}
		if known[m.String()] == nil {
			known[m.String()] = m
		}
		known[m.String()].packages = append(known[m.String()].packages, fields[0])
	}
	return nil
}

// readLicences reads the licences and notices beside the packages of a module, and above them.
func (m *module) readLicences() error {
	m.texts = map[string]string{}
	seen := map[string]bool{}
	for _, folder := range append(m.packages, m.folder) {
		for ; !seen[folder] && strings.HasPrefix(folder, m.folder); folder = filepath.Dir(folder) {
			seen[folder] = true
			if err := m.readTexts(folder); err != nil {
				return err
			}
		}
	}
	var licences []string
	for name, text := range m.texts {
		if isNotice(name) {
			continue
		}
		found := identifyLicences(text)
		if len(found) == 0 {
			return fmt.Errorf("nobody knows the licence %s of %s: look at it, and teach it to identify", name, m)
		}
		licences = append(licences, found...)
	}
	if len(licences) == 0 {
		return fmt.Errorf("%s has no licence: nobody may pass it on", m)
	}
	slices.Sort(licences)
	m.licence = strings.Join(slices.Compact(licences), " AND ")
	return nil
}

func (m *module) readTexts(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !legal.MatchString(entry.Name()) || entry.IsDir() || entry.Type()&fs.ModeSymlink != 0 {
			continue
		}
		data, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return err
		}
		name, err := filepath.Rel(m.folder, filepath.Join(folder, entry.Name()))
		if err != nil {
			return err
		}
		m.texts[filepath.ToSlash(name)] = string(data)
	}
	return nil
}

// linksModule reports whether a program contains code of a module.
func (b programBuild) linksModule(m *module) bool {
	return m.path == standardLibrary || slices.ContainsFunc(b.info.Deps, func(d *debug.Module) bool { return d.Path == m.path && d.Version == m.version })
}
