package emit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Dir is an output folder. Names are slash-separated and relative to it.
type Dir interface {
	// ReadFile returns an error that is fs.ErrNotExist when there is no such file.
	ReadFile(name string) ([]byte, error)
	// WriteFile replaces a file as a whole, or leaves it as it was, and makes the folders above it.
	WriteFile(name string, data []byte) error
	// Remove removes a file, and the folders above it that are empty then.
	Remove(name string) error
}

// Result is what Write did, each list sorted.
type Result struct {
	Written, Unchanged, Removed []string
	// Foreign are files that are in the way and do not belong to the compiler. If there is one, nothing was changed.
	Foreign []string
}

// Record is the file in the output folder that lists the owned files, one path per line, so that git merges it well.
const Record = ".lockstep-owned"

const recordHeader = "# The files below belong to runtime-compiler: it replaces and removes them. It touches no others.\n"

// Write brings a folder to the state that files describe. Owned files for which keep is true stay although they are not in
// files: those of clusters that were not compiled this time.
func Write(dir Dir, files []File, keep func(path string) bool) (Result, error) {
	owned, err := readRecord(dir)
	if err != nil {
		return Result{}, err
	}
	todo, err := compare(dir, files, owned, keep)
	if err != nil || len(todo.result.Foreign) > 0 {
		return todo.result, err
	}
	// What is about to be written is owned from now on: an interruption must not leave files that look foreign.
	if err := writeRecord(dir, owned, union(owned, todo.owned)); err != nil {
		return Result{}, err
	}
	if err := todo.apply(dir); err != nil {
		return Result{}, err
	}
	return todo.result, writeRecord(dir, union(owned, todo.owned), todo.owned)
}

// changes is the difference between a folder and its wanted state.
type changes struct {
	result Result
	write  []File
	owned  map[string]bool
}

func compare(dir Dir, files []File, owned map[string]bool, keep func(string) bool) (changes, error) {
	todo := changes{owned: map[string]bool{}}
	for _, file := range files {
		todo.owned[file.Path] = true
		present, err := dir.ReadFile(file.Path)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return changes{}, fmt.Errorf("read output: %w", err)
		case err == nil && bytes.Equal(present, file.Data):
			todo.result.Unchanged = append(todo.result.Unchanged, file.Path)
		case err == nil && !owned[file.Path]:
			todo.result.Foreign = append(todo.result.Foreign, file.Path)
		default:
			todo.result.Written = append(todo.result.Written, file.Path)
			todo.write = append(todo.write, file)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(owned)) {
		switch {
		case todo.owned[path]:
		case keep(path):
			todo.owned[path] = true
		default:
			todo.result.Removed = append(todo.result.Removed, path)
		}
	}
	return todo, nil
}

func (c changes) apply(dir Dir) error {
	for _, file := range c.write {
		if err := dir.WriteFile(file.Path, file.Data); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
	}
	for _, path := range c.result.Removed {
		if err := dir.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove output: %w", err)
		}
	}
	return nil
}

func readRecord(dir Dir) (map[string]bool, error) {
	data, err := dir.ReadFile(Record)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read output: %w", err)
	}
	owned := map[string]bool{}
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		path := strings.TrimSpace(line)
		switch {
		case path == "" || strings.HasPrefix(path, "#"):
		case !compiledPath(path):
			return nil, fmt.Errorf("read output: line %d of %s, %q, is not the path of a compiled file: restore %s from git, or remove it "+
				"and the compiled files", number, Record, path, Record)
		default:
			owned[path] = true
		}
	}
	return owned, nil
}

// compiledPath says whether the compiler could have written a file: YAML below the folder of a cluster. Everything else in a
// record, such as what a merge left there, must not make the compiler remove a file.
func compiledPath(name string) bool {
	cluster, _, below := strings.Cut(name, "/")
	return below && fs.ValidPath(name) && path.Ext(name) == ".yaml" && len(validation.IsDNS1123Label(cluster)) == 0
}

func writeRecord(dir Dir, present, wanted map[string]bool) error {
	if maps.Equal(present, wanted) {
		return nil
	}
	lines := recordHeader + strings.Join(slices.Sorted(maps.Keys(wanted)), "\n") + "\n"
	if err := dir.WriteFile(Record, []byte(lines)); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

func union(a, b map[string]bool) map[string]bool {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}
