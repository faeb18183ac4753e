// Package archive prints files as text, so that the users who may read a log can copy them.
package archive

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
)

const (
	// partBytes in base64, with their mark, fit into PIPE_BUF, so that a pipe takes a line as a whole.
	partBytes = 3000
	// Kubelet rotates a log at 10 MiB, and a reader must never be two rotations behind: after so many lines, 2 MB, there
	// is a pause.
	linesAtOnce = 512
	pause       = time.Second
)

// Print writes a file or a folder as lines of a log.
func Print(out io.Writer, path string) error {
	err := printParts(out, path)
	reason := ""
	if err != nil {
		reason = err.Error()
	}
	_, last := fmt.Fprintln(out, mpi.ArchiveEnd+reason)
	return errors.Join(err, last)
}

func printParts(out io.Writer, path string) error {
	lines := &lineWriter{out: out}
	zipped := gzip.NewWriter(lines)
	packed := tar.NewWriter(zipped)
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	parent := filepath.Dir(target)
	var unread error // the first of them; the others are copied
	err = filepath.WalkDir(target, func(file string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = add(packed, parent, file)
		}
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
			unread, err = cmp.Or(unread, err), nil
		}
		return err
	})
	if err != nil {
		return err
	}
	return cmp.Or(packed.Close(), zipped.Close(), lines.flush(), unread)
}

func add(packed *tar.Writer, parent, path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	link := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		if link, err = os.Readlink(path); err != nil {
			return err
		}
	}
	header, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return nil // a socket, which no archive holds
	}
	if header.Name, err = filepath.Rel(parent, path); err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return packed.WriteHeader(header)
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := packed.WriteHeader(header); err != nil {
		return err
	}
	if _, err := io.CopyN(packed, file, info.Size()); err != nil {
		return fmt.Errorf("read %s, which may have changed meanwhile: %w", path, err)
	}
	return nil
}

// lineWriter writes lines of base64.
type lineWriter struct {
	out   io.Writer
	part  []byte
	lines int
}

func (w *lineWriter) Write(data []byte) (int, error) {
	for rest := data; len(rest) > 0; {
		n := min(partBytes-len(w.part), len(rest))
		w.part, rest = append(w.part, rest[:n]...), rest[n:]
		if len(w.part) < partBytes {
			continue
		}
		if err := w.flush(); err != nil {
			return 0, err
		}
		if w.lines++; w.lines%linesAtOnce == 0 {
			time.Sleep(pause)
		}
	}
	return len(data), nil
}

func (w *lineWriter) flush() error {
	_, err := io.WriteString(w.out, mpi.ArchiveMark+base64.StdEncoding.EncodeToString(w.part)+"\n")
	w.part = w.part[:0]
	return err
}
