package emit

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Dir is an output folder. Names are slash-separated and relative to it. It is for use by several goroutines, but for Commit.
type Dir interface {
	// ReadFile returns an error that is fs.ErrNotExist when there is no such file.
	ReadFile(name string) ([]byte, error)
	// Same reports whether there is a file of this name, and whether it has this content.
	Same(name string, data []byte) (found, same bool, err error)
	// Stage keeps the next content of a file apart, until Commit.
	Stage(name string, data []byte) error
	// Commit brings all that is staged into the folder, the record last, and removes other files, and the folders that are
	// empty then. If interim is not nil it is the record until then: it owns the files of the old tree and of the new one.
	// An error reports whether the folder is as it was.
	Commit(interim []byte, removed []string) error
}

// Result is what a Writer did, each list sorted.
type Result struct {
	Written, Unchanged, Removed []string
	// Foreign are files that are in the way and do not belong to the compiler. If there is one, nothing was changed.
	Foreign []string
}

// Record is the file in the output folder that lists the owned files, one path per line, so that git merges it well.
const Record = ".lockstep-owned"

const recordHeader = "# The files below belong to runtime-compiler: it replaces and removes them. It touches no others.\n"

// Writer brings a folder to the state that files describe. Nothing in the folder changes before Finish.
type Writer struct {
	dir   Dir
	owned map[string]bool

	mu     sync.Mutex
	next   map[string]bool
	result Result
}

// NewWriter returns a writer for a folder whose record can be read.
func NewWriter(dir Dir) (*Writer, error) {
	owned, err := readRecord(dir)
	if err != nil {
		return nil, err
	}
	return &Writer{dir: dir, owned: owned, next: make(map[string]bool, len(owned))}, nil
}

// Add compares files with those in the folder, and stages those that differ. It is safe for several goroutines.
func (w *Writer) Add(files []File) error {
	for _, file := range files {
		found, same, err := w.dir.Same(file.Path, file.Data)
		if err != nil {
			return fmt.Errorf("read output: %w", err)
		}
		foreign := found && !same && !w.owned[file.Path]
		if !same && !foreign {
			if err := w.dir.Stage(file.Path, file.Data); err != nil {
				return fmt.Errorf("write output: %w", err)
			}
		}
		w.noteOutcome(file.Path, same, foreign)
	}
	return nil
}

func (w *Writer) noteOutcome(name string, same, foreign bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next[name] = true
	switch {
	case same:
		w.result.Unchanged = append(w.result.Unchanged, name)
	case foreign:
		w.result.Foreign = append(w.result.Foreign, name)
	default:
		w.result.Written = append(w.result.Written, name)
	}
}

// Finish replaces, adds and removes what has changed. Owned files for which keep is true stay although nobody added them: those of
// clusters that were not compiled this time.
func (w *Writer) Finish(keep func(path string) bool) (Result, error) {
	for _, name := range slices.Sorted(maps.Keys(w.owned)) {
		switch {
		case w.next[name]:
		case keep(name):
			w.next[name] = true
		default:
			w.result.Removed = append(w.result.Removed, name)
		}
	}
	for _, paths := range [][]string{w.result.Written, w.result.Unchanged, w.result.Foreign} {
		slices.Sort(paths)
	}
	if len(w.result.Foreign) > 0 {
		return w.result, nil
	}
	if !maps.Equal(w.owned, w.next) {
		if err := w.dir.Stage(Record, encodeRecord(w.next)); err != nil {
			return Result{}, fmt.Errorf("write output: %w", err)
		}
	}
	if err := w.dir.Commit(w.interimRecord(), w.result.Removed); err != nil {
		return Result{}, fmt.Errorf("write output: %w", err)
	}
	return w.result, nil
}

// interimRecord owns the files of both trees, so that the next build can repair a mixture. It is nil if the old record
// does so.
func (w *Writer) interimRecord() []byte {
	if !slices.ContainsFunc(w.result.Written, func(name string) bool { return !w.owned[name] }) {
		return nil
	}
	both := maps.Clone(w.owned)
	maps.Copy(both, w.next)
	return encodeRecord(both)
}

func encodeRecord(owned map[string]bool) []byte {
	return []byte(recordHeader + strings.Join(slices.Sorted(maps.Keys(owned)), "\n") + "\n")
}

func readRecord(dir Dir) (map[string]bool, error) {
	data, err := dir.ReadFile(Record)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read output: %w", err)
	}
	owned := map[string]bool{}
	number, cluster := 0, ""
	for line := range strings.Lines(string(data)) {
		number++
		name := strings.TrimSpace(line)
		switch {
		case name == "" || strings.HasPrefix(name, "#"):
		case cluster != "" && strings.HasPrefix(name, cluster) && isCompiledName(name):
			owned[name] = true
		case !isCompiledPath(name):
			return nil, fmt.Errorf("read output: line %d of %s, %q, is not the path of a compiled file: restore %s from git, or remove it "+
				"and the compiled files", number, Record, name, Record)
		default:
			owned[name] = true
			// Lines of one cluster follow each other; judging its name takes longer than all the rest.
			cluster = name[:strings.IndexByte(name, '/')+1]
		}
	}
	return owned, nil
}

// isCompiledPath reports whether the compiler could have written a file: YAML below the folder of a cluster. Everything else in a
// record, such as what a merge left there, must not make the compiler remove a file.
func isCompiledPath(name string) bool {
	cluster, _, below := strings.Cut(name, "/")
	return below && isCompiledName(name) && len(validation.IsDNS1123Label(cluster)) == 0
}

func isCompiledName(name string) bool { return path.Ext(name) == ".yaml" && fs.ValidPath(name) }
