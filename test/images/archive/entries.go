package archive

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// entries are the contents of a layer, sorted by name, so that a directory comes before what it holds.
type entries []entry

// entry is one tar entry. A regular file has its contents in data or, when source is set, on disk.
type entry struct {
	name   string // relative and clean; directories without a trailing slash
	kind   byte   // tar.TypeReg, tar.TypeDir or tar.TypeSymlink
	mode   fs.FileMode
	link   string
	data   string
	source string
}

// scratchBase is what an image without a root file system needs anyway: somewhere to write, and names for its users.
func scratchBase() []entry {
	return []entry{
		{name: "tmp", kind: tar.TypeDir, mode: 0o777 | fs.ModeSticky},
		{name: "etc/passwd", kind: tar.TypeReg, mode: 0o644,
			data: "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n"},
		{name: "etc/group", kind: tar.TypeReg, mode: 0o644, data: "root:x:0:\nnonroot:x:65532:\n"},
	}
}

// entriesOf returns the entries for files on top of base, with every parent directory. Two files with one path,
// and a file below something that is not a directory, are errors.
func entriesOf(files []File, base ...entry) (entries, error) {
	byName := map[string]entry{}
	for _, e := range base {
		byName[e.name] = e
	}
	given := map[string]bool{}
	for _, f := range files {
		e, err := entryOf(f)
		if err != nil {
			return nil, err
		}
		if given[e.name] {
			return nil, fmt.Errorf("file /%s is given twice", e.name)
		}
		given[e.name] = true
		byName[e.name] = e
	}
	if err := addParents(byName); err != nil {
		return nil, err
	}
	var list entries
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		list = append(list, byName[name])
	}
	return list, nil
}

func entryOf(f File) (entry, error) {
	e := entry{name: path.Clean(strings.TrimLeft(f.Path, "/")), kind: tar.TypeReg, mode: f.Mode, link: f.Link, source: f.Source}
	if !fs.ValidPath(e.name) || e.name == "." {
		return entry{}, fmt.Errorf("file path %q must name something below the root, without climbing out of it", f.Path)
	}
	if e.mode == 0 {
		e.mode = 0o755
	}
	switch {
	case f.Link != "" && f.Source != "":
		return entry{}, fmt.Errorf("file /%s is both a link to %q and a copy of %q: give one", e.name, f.Link, f.Source)
	case f.Link != "":
		e.kind, e.mode = tar.TypeSymlink, 0o777
	case f.Source == "":
		e.kind = tar.TypeDir
	}
	return e, nil
}

func addParents(byName map[string]entry) error {
	for _, name := range slices.Collect(maps.Keys(byName)) {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			parent, found := byName[dir]
			if found && parent.kind != tar.TypeDir {
				return fmt.Errorf("file /%s lies below /%s, which is not a directory", name, dir)
			}
			if !found {
				byName[dir] = entry{name: dir, kind: tar.TypeDir, mode: 0o755}
			}
		}
	}
	return nil
}

// open streams the layer; closing the reader early ends the writer.
func (list entries) open() (io.ReadCloser, error) {
	r, w := io.Pipe()
	go func() {
		tw := tar.NewWriter(w)
		w.CloseWithError(errors.Join(list.writeTo(tw), tw.Close()))
	}()
	return r, nil
}

func (list entries) writeTo(tw *tar.Writer) error {
	for _, e := range list {
		if err := e.writeTo(tw); err != nil {
			return fmt.Errorf("file /%s: %w", e.name, err)
		}
	}
	return nil
}

func (e entry) writeTo(tw *tar.Writer) error {
	contents, size, err := e.open()
	if err != nil {
		return err
	}
	defer func() { _ = contents.Close() }() // only read
	if err := tw.WriteHeader(e.header(size)); err != nil {
		return err
	}
	_, err = io.Copy(tw, contents)
	return err
}

func (e entry) open() (contents io.ReadCloser, size int64, err error) {
	if e.source == "" {
		return io.NopCloser(strings.NewReader(e.data)), int64(len(e.data)), nil
	}
	f, err := os.Open(e.source)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", e.source)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

func (e entry) header(size int64) *tar.Header {
	h := &tar.Header{
		Typeflag: e.kind, Name: e.name, Linkname: e.link, Size: size,
		Mode: unixMode(e.mode), ModTime: time.Unix(0, 0), Format: tar.FormatPAX,
	}
	if e.kind == tar.TypeDir {
		h.Name += "/"
	}
	return h
}

// unixMode translates the bits that Go keeps elsewhere to where tar expects them.
func unixMode(m fs.FileMode) int64 {
	mode := int64(m.Perm())
	for bit, unix := range map[fs.FileMode]int64{fs.ModeSetuid: 0o4000, fs.ModeSetgid: 0o2000, fs.ModeSticky: 0o1000} {
		if m&bit != 0 {
			mode |= unix
		}
	}
	return mode
}
