package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/pkg/compile/schema/pinned"
	"lockstep.dev/lockstep/pkg/compile/schema/shape"
)

// tableArchive is what is written: tables by name in the archive.
type tableArchive struct {
	want   map[string]bool
	tables map[string]*shape.Table
	// schemas are those of the newest Kubernetes, for the metadata of custom resources.
	schemas map[string]json.RawMessage
}

func generateArchive(file string) error {
	a := tableArchive{want: wantedKinds(), tables: map[string]*shape.Table{}, schemas: map[string]json.RawMessage{}}
	contents, err := readAll(pinned.Sources)
	if err != nil {
		return err
	}
	for i, s := range pinned.Sources {
		for _, name := range slices.Sorted(maps.Keys(contents[i])) {
			if err := a.readSource(s, contents[i][name]); err != nil {
				return fmt.Errorf("%s@%s/%s: %w", s.Module, s.Version, name, err)
			}
		}
	}
	if err := a.checkComplete(); err != nil {
		return err
	}
	data, err := packArchive(a.tables)
	if err != nil {
		return err
	}
	return replaceFile(file, data)
}

// readAll reads all sources at once: with an empty module cache it waits for downloads.
func readAll(sources []pinned.Source) ([]map[string][]byte, error) {
	contents, errs := make([]map[string][]byte, len(sources)), make([]error, len(sources))
	var reading sync.WaitGroup
	for i, s := range sources {
		reading.Go(func() { contents[i], errs[i] = s.Read() })
	}
	reading.Wait()
	return contents, errors.Join(errs...)
}

func (a *tableArchive) readSource(s pinned.Source, data []byte) error {
	if s.Minor == 0 {
		return a.readCRDs(data)
	}
	var file openAPI
	if err := json.Unmarshal(data, &file); err != nil {
		return err
	}
	maps.Copy(a.schemas, file.Components.Schemas)
	tables, err := nativeTables(data, a.want)
	a.addTables(fmt.Sprintf("1.%d", s.Minor), tables)
	return err
}

func (a *tableArchive) readCRDs(data []byte) error {
	for _, document := range strings.Split("\n"+string(data), "\n---\n") {
		var definition crd
		if err := yaml.Unmarshal([]byte(document), &definition); err != nil {
			return err
		}
		if definition.Kind != "CustomResourceDefinition" {
			continue
		}
		tables, err := crdTables(definition, a.want, a.schemas)
		if err != nil {
			return err
		}
		a.addTables("crd", tables)
	}
	return nil
}

func (a *tableArchive) addTables(folder string, tables map[string]*shape.Table) {
	for kind, table := range tables {
		a.tables[folder+"/"+kind] = table
	}
}

// checkComplete makes sure that every kind is there: a custom one once, a native one for every minor version.
func (a *tableArchive) checkComplete() error {
	var missing []error
	for _, kind := range kinds {
		if a.tables["crd/"+kind] != nil {
			continue
		}
		for _, s := range pinned.Sources {
			if s.Minor != 0 && s.Minor >= youngKinds[kind] && a.tables[fmt.Sprintf("1.%d/%s", s.Minor, kind)] == nil {
				missing = append(missing, fmt.Errorf("no source has %s for Kubernetes 1.%d", kind, s.Minor))
			}
		}
	}
	return errors.Join(missing...)
}

// replaceFile writes a file in one step.
func replaceFile(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // everybody may read a cache of public schemas
		return err
	}
	partial := fmt.Sprintf("%s.%d", file, os.Getpid())
	if err := os.WriteFile(partial, data, 0o644); err != nil { //nolint:gosec // everybody may read a cache of public schemas
		return err
	}
	return os.Rename(partial, file)
}
