package incremental

import (
	"encoding/binary"
	"hash/crc32"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// magic begins a memory. The number counts the versions of the format.
const magic = "lockstep memory 1\n"

// Encode returns a memory as bytes. The checksum at the end finds what is cut or damaged.
func (m *Memory) Encode() []byte {
	w := writer{out: make([]byte, 0, m.size())}
	w.out = append(w.out, magic...)
	w.text(m.Key)
	w.number(m.Began)
	w.number(m.Ended)
	w.length(len(m.Clusters))
	for _, c := range m.Clusters {
		w.text(c.Name)
		w.length(c.Objects)
		w.length(c.Files)
	}
	w.length(len(m.Findings))
	for _, d := range m.Findings {
		w.finding(d)
	}
	w.length(len(m.Inputs))
	for i := range m.Inputs {
		w.input(&m.Inputs[i])
	}
	w.length(len(m.Outputs))
	for i := range m.Outputs {
		output := &m.Outputs[i]
		w.text(output.Path)
		w.stamp(output.Stamp)
		w.out = binary.LittleEndian.AppendUint32(w.out, output.Sum)
	}
	return seal(w.out)
}

func seal(out []byte) []byte {
	return binary.LittleEndian.AppendUint32(out, crc32.Checksum(out, castagnoli))
}

// size is about how long a memory is as bytes.
func (m *Memory) size() int {
	size := 4<<10 + 192*(len(m.Inputs)+len(m.Outputs))
	for i := range m.Inputs {
		size += len(m.Inputs[i].Content)
	}
	return size
}

// writer appends values. Everything has a fixed size or its length before it.
type writer struct{ out []byte }

func (w *writer) length(n int)   { w.out = binary.AppendUvarint(w.out, uint64(n)) }
func (w *writer) number(n int64) { w.out = binary.LittleEndian.AppendUint64(w.out, uint64(n)) }

func (w *writer) text(s string) {
	w.length(len(s))
	w.out = append(w.out, s...)
}

func (w *writer) stamp(s Stamp) {
	for _, n := range [...]int64{s.Size, s.Modified, s.Changed, int64(s.Inode), int64(s.Device)} {
		w.number(n)
	}
	w.out = binary.LittleEndian.AppendUint32(w.out, s.Mode)
}

func (w *writer) input(i *Input) {
	w.text(i.Path)
	w.length(int(i.Kind))
	w.stamp(i.Stamp)
	w.out = append(w.out, i.Digest[:]...)
	w.text(i.Content)
}

func (w *writer) finding(d *diag.Diagnostic) {
	w.text(string(d.Code))
	w.text(string(d.Severity))
	w.text(d.Message)
	w.span(d.Span)
	w.length(len(d.Related))
	for _, r := range d.Related {
		w.span(r.Span)
		w.text(r.Message)
	}
	for _, texts := range [][]string{d.Notes, d.Help} {
		w.length(len(texts))
		for _, text := range texts {
			w.text(text)
		}
	}
	if w.present(d.Edit != nil) {
		w.span(d.Edit.Span)
		w.text(d.Edit.Text)
	}
	w.present(d.Secret)
	if w.present(d.Waived != nil) {
		w.text(d.Waived.Reason)
		w.text(d.Waived.Until)
	}
}

func (w *writer) present(yes bool) bool {
	if yes {
		w.length(1)
	} else {
		w.length(0)
	}
	return yes
}

func (w *writer) span(s source.Span) {
	if w.present(s.File != nil) {
		w.text(s.File.Path)
		w.length(s.Line)
		w.length(s.Column)
		w.length(s.Length)
	}
}
