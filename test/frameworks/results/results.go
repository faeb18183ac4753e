// Package results is what `make frameworks` has found: a file of rows, and docs/catalog.md, which is made of it and of the catalog.
//
// What is in the document was seen, or it says never: a runtime of the catalog without a row has not run.
package results

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"lockstep.dev/lockstep/test/testjob"
)

// File has the rows and Page is made of them, in the root of the repository.
const (
	File = "test/frameworks/results.json"
	Page = "docs/catalog.md"
)

const (
	// Never is said of what did not run.
	Never = "never"
	// NotApplicable is said of what a program does not do: a benchmark learns nothing, and mpi-train has no way to fail.
	NotApplicable = "–"
)

// Row is one way to start a framework.
type Row struct {
	Framework, Launcher, MPI string
	// Runtime is that of the catalog, Image its image, and Digest the image ID that ran.
	Runtime, Image, Digest string
	// Nodes is how many it ran on, each with 2 slots.
	Nodes int32
	// Command is what the launcher's container ran, and Date the day.
	Command, Date string
	// Runs, Learns, Exit, Killed and Memory are "yes", Never, or what was seen instead: all ranks ran on their nodes; they learned together what one
	// process learns; a rank that exited with 3, one that was killed, and one that took too much memory, were named.
	Runs, Learns, Exit, Killed, Memory string
	// Companion is Runs and Learns where Kubeflow Trainer runs the job, and Resumes whether it went on from a checkpoint after a preemption. Empty is never.
	Companion, Resumes string
}

func (r Row) key() string {
	return strings.Join([]string{r.Runtime, r.Framework, r.Launcher, r.MPI, strconv.Itoa(int(r.Nodes))}, "\x00")
}

// Read reads the rows of a file; one that is not there has none.
func Read(path string) ([]Row, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var rows []Row
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, fmt.Errorf("decode %s: %w", path, err)
	}
	return rows, nil
}

// or is r with what it leaves out as it was.
func (r Row) or(old Row) Row {
	fields, before := reflect.ValueOf(&r).Elem(), reflect.ValueOf(old)
	for i := range fields.NumField() {
		if fields.Field(i).IsZero() {
			fields.Field(i).Set(before.Field(i))
		}
	}
	return r
}

// Merge writes rows to a file, over those about the same: what a row leaves out stays.
func Merge(path string, rows []Row) error {
	all, err := Read(path)
	if err != nil {
		return err
	}
	for _, row := range rows {
		same := func(old Row) bool { return old.key() == row.key() }
		if i := slices.IndexFunc(all, same); i >= 0 {
			all[i] = row.or(all[i])
		} else {
			all = append(all, row)
		}
	}
	slices.SortFunc(all, func(a, b Row) int { return cmp.Compare(a.key(), b.key()) })
	return testjob.WriteJSON(path, all)
}
