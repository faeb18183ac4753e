// Package incremental remembers what a build has read and made, so that the next one does nothing where nothing changed.
//
// A Recorder notes everything that a compilation reads of the repository: content, listings of folders, and what was looked for and
// missed. A BuildRecord holds that beside the stamps of the files that were made, and the findings. The next build compares stamps, as git
// does with its index: where nothing changed it reads no file and compiles nothing; otherwise it compiles everything.
//
// A record is never trusted further than what it can prove. It is bound to the program that wrote it and to the options of the build;
// stamps that are so young that a later write may have given the same are checked against contents; a record that is damaged, of
// another version or of another build counts as none. What is compiled never depends on it: only whether something is compiled does.
//
// The package is pure: reading, writing and looking at files is the caller's.
package incremental

import (
	"cmp"
	"hash/crc32"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
)

// BuildRecord is what a build that succeeded leaves for the next one.
type BuildRecord struct {
	// Key is all that the result depends on beside the inputs: the program and the options.
	Key string
	// Began is when the build began to read, Ended when it looked at its outputs, in nanoseconds since 1970.
	Began, Ended int64
	// Inputs are sorted by path.
	Inputs []Input
	// Outputs are sorted by path.
	Outputs []OutputFile
	// Clusters are sorted by name.
	Clusters []ClusterCounts
	Findings []*diag.Diagnostic
}

// OutputFile is a file that the build has made, or found to be right.
type OutputFile struct {
	Path  string
	Stamp Stamp
	// Sum is the checksum of the content.
	Sum uint32
}

// ClusterCounts counts what there is of one cluster.
type ClusterCounts struct {
	Name           string
	Objects, Files int
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum returns the checksum of a content. It guards against accidents, in the moment when stamps do not.
func Checksum(data []byte) uint32 { return crc32.Checksum(data, castagnoli) }

// Repository looks at inputs. Names are as a Recorder has noted them.
type Repository interface {
	// Stamp follows symbolic links; it is Absent for what does not exist.
	Stamp(name string) (Stamp, error)
	Content(name string) (Digest, error)
	Listing(name string) (Digest, error)
}

// Changed returns the inputs that are not as they were, and whether the record should be written again, with the moment before this
// call as Began, because many others had to be read to know that they are.
func (m *BuildRecord) Changed(now Repository) (changed []*Input, refresh bool) {
	read := 0
	for i := range m.Inputs {
		input := &m.Inputs[i]
		stamp, err := now.Stamp(input.Path)
		switch {
		case err != nil:
			changed = append(changed, input)
		case input.Kind == Presence:
			if stamp.fileType() != input.Stamp.fileType() {
				changed = append(changed, input)
			}
		case stamp == input.Stamp && stamp.settled(m.Began):
		case input.isUnchanged(now):
			read++
			input.Stamp = stamp
		default:
			changed = append(changed, input)
		}
	}
	return changed, read > worthwhile
}

// worthwhile is how many files may be read again every time before the record is written again.
const worthwhile = 16

func (i *Input) isUnchanged(now Repository) bool {
	var digest Digest
	var err error
	if i.Kind == Folder {
		digest, err = now.Listing(i.Path)
	} else {
		digest, err = now.Content(i.Path)
	}
	return err == nil && digest == i.Digest
}

// OutputTree looks at outputs.
type OutputTree interface {
	// Stamp does not follow symbolic links; it is Absent for what does not exist.
	Stamp(name string) (Stamp, error)
	Sum(name string) (uint32, error)
}

// Intact reports whether all outputs are as they were, and whether the record should be written again, with the moment before this call as
// Ended.
func (m *BuildRecord) Intact(now OutputTree) (intact, refresh bool) {
	read := 0
	for i := range m.Outputs {
		output := &m.Outputs[i]
		stamp, err := now.Stamp(output.Path)
		if err != nil || stamp != output.Stamp {
			return false, false
		}
		if stamp.settled(m.Ended) {
			continue
		}
		read++
		if sum, err := now.Sum(output.Path); err != nil || sum != output.Sum {
			return false, false
		}
	}
	return true, read > worthwhile
}

func compareInputs(a, b Input) int {
	return cmp.Or(strings.Compare(a.Path, b.Path), int(a.Kind)-int(b.Kind))
}
