package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// release is what is made, of what, and where.
type release struct {
	version string
	arches  []string
	// out is the folder of the finished files, url where people fetch them from.
	out, url string
	source   sourceCommit
}

// makeFiles makes all files of the release.
func (r release) makeFiles() error {
	if err := errors.Join(os.RemoveAll(r.out), os.MkdirAll(r.out, 0o755)); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	programs, err := compilerPrograms()
	if err != nil {
		return err
	}
	builds, err := r.buildPrograms(append(programs, podPrograms()...), []string{"linux"}, work)
	if err != nil {
		return err
	}
	plugins, err := r.buildPrograms([]string{plugin}, pluginSystems, work)
	if err != nil {
		return err
	}
	builds = append(builds, plugins...)
	manual, err := r.manualPages(work)
	if err != nil {
		return err
	}
	// What is linked decides the licences, which archives and images hold.
	modules, err := linkedModules(builds)
	if err != nil {
		return err
	}
	legal, err := licenceFiles(modules)
	if err != nil {
		return err
	}
	return errors.Join(
		r.writeArchives(builds, programs, legal),
		r.writePlugins(builds, manual, legal),
		r.writeImages(builds, legal, work),
		r.packageChart("charts/mpi-controller"),
		r.packageChart("charts/mpi-dashboard"),
		r.writeFile("NOTICE", legal[1].data),
		r.writeBillOfMaterials(builds, modules),
		r.writeChecksums(),
	)
}

// writeFile writes one of the files of the release.
func (r release) writeFile(name string, data []byte) error {
	fmt.Printf("%s (%d KiB)\n", name, (len(data)+1023)/1024)
	return os.WriteFile(filepath.Join(r.out, name), data, 0o644)
}

// writeChecksums writes the checksums of all files, as sha256sum checks them.
func (r release) writeChecksums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(r.out, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(data), entry.Name())
	}
	return r.writeFile("SHA256SUMS", []byte(lines.String()))
}
