package incremental

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"unsafe"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// errDamaged says that bytes are no memory of this version.
var errDamaged = errors.New("no memory of a build, or a damaged one")

// Decode reads what Encode has written; the data must not change afterwards. Open returns the file that a finding is in.
func Decode(data []byte, open func(name string) *source.File) (*Memory, error) {
	end := len(data) - 4
	if end <= len(magic) || string(data[:len(magic)]) != magic || crc32.Checksum(data[:end], castagnoli) != binary.LittleEndian.Uint32(data[end:]) {
		return nil, errDamaged
	}
	r := reader{rest: data[len(magic):end], open: open, files: map[string]*source.File{}}
	m := &Memory{Key: r.text(), Began: r.number(), Ended: r.number()}
	m.Clusters = list(&r, func() Cluster { return Cluster{Name: r.text(), Objects: r.length(), Files: r.length()} })
	m.Findings = list(&r, r.finding)
	m.Inputs = list(&r, r.input)
	m.Outputs = list(&r, func() Output { return Output{Path: r.text(), Stamp: r.stamp(), Sum: r.fixed32()} })
	if r.failed || len(r.rest) > 0 {
		return nil, errDamaged
	}
	return m, nil
}

// reader takes values from the front of what is left. After the first that is not whole all are zero.
type reader struct {
	rest   []byte
	failed bool
	open   func(string) *source.File
	files  map[string]*source.File
}

// take returns nil where so much is not left.
func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.failed, r.rest = true, nil
		return nil
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *reader) length() int {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > math.MaxInt32 {
		r.failed, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[size:]
	return int(n)
}

func (r *reader) fixed64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) fixed32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) number() int64 { return int64(r.fixed64()) }

// text shares the memory of the data.
func (r *reader) text() string {
	b := r.take(r.length())
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// list reads values behind their number. None is smaller than a byte.
func list[T any](r *reader, one func() T) []T {
	n := r.length()
	if n > len(r.rest) {
		r.failed = true
		return nil
	}
	values := make([]T, 0, n)
	for range n {
		values = append(values, one())
	}
	return values
}

func (r *reader) stamp() Stamp {
	return Stamp{
		Size: r.number(), Modified: r.number(), Changed: r.number(), Inode: r.fixed64(), Device: r.fixed64(), Mode: r.fixed32(),
	}
}

func (r *reader) input() Input {
	input := Input{Path: r.text(), Kind: Kind(r.length()), Stamp: r.stamp()}
	copy(input.Digest[:], r.take(len(input.Digest)))
	input.Content = r.text()
	return input
}

func (r *reader) finding() *diag.Diagnostic {
	d := &diag.Diagnostic{Code: diag.Code(r.text()), Severity: diag.Severity(r.text()), Message: r.text(), Span: r.span()}
	d.Related = list(r, func() diag.Related { return diag.Related{Span: r.span(), Message: r.text()} })
	d.Notes, d.Help = list(r, r.text), list(r, r.text)
	if r.present() {
		d.Edit = &diag.Edit{Span: r.span(), Text: r.text()}
	}
	d.Secret = r.present()
	if r.present() {
		d.Waived = &diag.Waiver{Reason: r.text(), Until: r.text()}
	}
	return d
}

func (r *reader) present() bool { return r.length() == 1 }

func (r *reader) span() source.Span {
	if !r.present() {
		return source.Span{}
	}
	name := r.text()
	file := r.files[name]
	if file == nil && !r.failed {
		file = r.open(name)
		r.files[name] = file
	}
	return source.Span{File: file, Line: r.length(), Column: r.length(), Length: r.length()}
}
