package store

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// offsetReader counts what was read. gzip takes no byte too many from a reader that has ReadByte.
type offsetReader struct {
	in     *bufio.Reader
	offset int64
}

func (r *offsetReader) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	r.offset += int64(n)
	return n, err
}

// ReadByte is for gzip.
func (r *offsetReader) ReadByte() (byte, error) {
	b, err := r.in.ReadByte()
	if err == nil {
		r.offset++
	}
	return b, err
}

// scanSegments gives the segments of a log, each with the offset behind it, until visit is false, and returns where
// the last whole one ends. What follows is the rest of a write that was cut off, and no part of the log.
func scanSegments(r io.Reader, visit func(text []byte, end int64) bool) (whole int64) {
	in := &offsetReader{in: bufio.NewReader(r)}
	var segment gzip.Reader
	for segment.Reset(in) == nil {
		segment.Multistream(false)
		text, err := io.ReadAll(&segment)
		if err != nil {
			return whole
		}
		whole = in.offset
		if !visit(text, whole) {
			return whole
		}
	}
	return whole
}

func compressSegment(text []byte) []byte {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	_, _ = zip.Write(text) // into memory
	_ = zip.Close()
	return out.Bytes()
}

// replaceFile writes a file so that it is there whole or not at all.
func replaceFile(path string, parts ...io.Reader) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = io.Copy(file, io.MultiReader(parts...))
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
