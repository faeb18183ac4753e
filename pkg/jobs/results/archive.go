package results

import (
	"archive/tar"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"lockstep.dev/lockstep/pkg/jobs/logs"
	"lockstep.dev/lockstep/pkg/mpi"
)

// Archive writes the content of the lines of a copy.
type Archive struct {
	To io.Writer
	// Ended: nothing follows. Failure is why the files could not be read to their end.
	Ended   bool
	Failure string
}

// Take reads lines of the log.
func (a *Archive) Take(lines []logs.Line) error {
	for _, line := range lines {
		if data, is := strings.CutPrefix(line.Raw, mpi.ArchiveMark); is {
			decoded, err := base64.StdEncoding.DecodeString(data)
			if err != nil {
				return fmt.Errorf("the log holds no archive: %w", err)
			}
			if _, err := a.To.Write(decoded); err != nil {
				return err
			}
		} else if reason, is := strings.CutPrefix(line.Raw, mpi.ArchiveEnd); is {
			a.Ended, a.Failure = true, reason
		}
	}
	return nil
}

// Copied counts the files that were written.
type Copied struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	// Skipped are devices, pipes and links that lead out of the folder.
	Skipped []string `json:"skipped,omitempty"`
}

// Extract writes the files of an archive below root. The file or folder that was copied is called name there. A file is
// there as a whole or not at all.
func Extract(archive io.Reader, root *os.Root, name string) (Copied, error) {
	var done Copied
	zipped, err := gzip.NewReader(archive)
	if err != nil {
		return done, err
	}
	defer zipped.Close()
	for entries := tar.NewReader(zipped); ; {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, zipped) // up to the checksum
			return done, err
		}
		if err != nil {
			return done, err
		}
		_, inside, _ := strings.Cut(path.Clean(entry.Name), "/")
		target := path.Join(name, inside)
		switch entry.Typeflag {
		case tar.TypeDir:
			err = root.MkdirAll(target, 0o755)
		case tar.TypeReg:
			done.Files, done.Bytes = done.Files+1, done.Bytes+entry.Size
			err = writeFile(root, target, entries, fs.FileMode(entry.Mode)&0o777)
		case tar.TypeSymlink:
			if !filepath.IsLocal(entry.Linkname) {
				done.Skipped = append(done.Skipped, target)
				continue
			}
			if err = root.Remove(target); err == nil || errors.Is(err, fs.ErrNotExist) {
				err = root.Symlink(entry.Linkname, target)
			}
		default:
			done.Skipped = append(done.Skipped, target)
		}
		if err != nil {
			return done, err
		}
	}
}

func writeFile(root *os.Root, name string, content io.Reader, mode fs.FileMode) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	part := name + ".part"
	file, err := root.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode|0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	if err = errors.Join(err, file.Close()); err == nil {
		err = root.Rename(part, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(part))
	}
	return nil
}
