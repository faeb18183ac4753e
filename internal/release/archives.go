package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// archiveFile is an entry of an archive or of a layer. It belongs to root.
type archiveFile struct {
	name string
	mode int64
	data []byte
	// link is the target of a symbolic link; a name that ends with a slash is a folder.
	link string
}

// writeTar writes files, all of them with one time, in the order of their names.
func writeTar(w io.Writer, files []archiveFile, modified time.Time) error {
	slices.SortFunc(files, func(a, b archiveFile) int { return strings.Compare(a.name, b.name) })
	archive := tar.NewWriter(w)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: modified, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		switch {
		case f.link != "":
			header.Typeflag, header.Linkname = tar.TypeSymlink, f.link
		case strings.HasSuffix(f.name, "/"):
			header.Typeflag = tar.TypeDir
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(f.data); err != nil {
			return err
		}
	}
	return archive.Close()
}

// tarGzip returns files as a .tar.gz.
func tarGzip(files []archiveFile, modified time.Time) ([]byte, error) {
	var out bytes.Buffer
	// The best level exists, and a buffer takes everything.
	zipped, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
	err := errors.Join(writeTar(zipped, files, modified), zipped.Close())
	return out.Bytes(), err
}

// readFolder returns the files below a folder, named from the name of the folder on.
func readFolder(folder string) ([]archiveFile, error) {
	var files []archiveFile
	root := os.DirFS(folder)
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, name)
		files = append(files, archiveFile{name: path.Join(filepath.Base(folder), name), mode: 0o644, data: data})
		return err
	})
	return files, err
}

// writeArchives writes an archive per architecture with the programs for people.
func (r release) writeArchives(builds []programBuild, programs []string, legal []archiveFile) error {
	for _, arch := range r.arches {
		name := "lockstep-" + r.version + "-linux-" + arch
		var files []archiveFile
		for _, f := range legal {
			f.name = name + "/" + f.name
			files = append(files, f)
		}
		for _, b := range builds {
			if b.arch != arch || !slices.Contains(programs, b.program) {
				continue
			}
			data, err := os.ReadFile(b.file)
			if err != nil {
				return err
			}
			files = append(files, archiveFile{name: name + "/" + b.program, mode: 0o755, data: data})
		}
		data, err := tarGzip(files, r.source.time)
		if err = errors.Join(err, r.writeFile(name+".tar.gz", data)); err != nil {
			return err
		}
	}
	return nil
}
