package incremental

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"hash/crc32"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/source"
)

// magic begins a record. The number counts the versions of the format.
const magic = "lockstep build record 3\n"

// errDamaged says that bytes are not a record of this version.
var errDamaged = errors.New("no record of a build, or a damaged one")

// Encode returns a record as bytes. The checksum at the end finds what is cut or damaged.
func (m *BuildRecord) Encode() ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(magic)
	if err := gob.NewEncoder(&out).Encode(m); err != nil {
		return nil, err
	}
	return binary.LittleEndian.AppendUint32(out.Bytes(), Checksum(out.Bytes())), nil
}

// Decode reads what Encode has written. Open returns the file that a finding is in.
func Decode(data []byte, open func(name string) *source.File) (*BuildRecord, error) {
	end := len(data) - crc32.Size
	if end < 0 || !strings.HasPrefix(string(data[:min(end, len(magic))]), magic) || Checksum(data[:end]) != binary.LittleEndian.Uint32(data[end:]) {
		return nil, errDamaged
	}
	m := &BuildRecord{}
	if err := gob.NewDecoder(bytes.NewReader(data[len(magic):end])).Decode(m); err != nil {
		return nil, errDamaged
	}
	m.openFindingFiles(open)
	return m, nil
}

// openFindingFiles gives findings their files, of which the record has the paths: one that is named twice is one file.
func (m *BuildRecord) openFindingFiles(open func(name string) *source.File) {
	files := map[string]*source.File{}
	visit := func(s *source.Span) {
		if s.File == nil {
			return
		}
		name := s.File.Path
		if files[name] == nil {
			files[name] = open(name)
		}
		s.File = files[name]
	}
	for _, d := range m.Findings {
		visit(&d.Span)
		for i := range d.Related {
			visit(&d.Related[i].Span)
		}
		if d.Edit != nil {
			visit(&d.Edit.Span)
		}
	}
}
