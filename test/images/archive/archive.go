// Package archive writes container images as docker-archive tar files, without a registry or a container engine.
//
// Duty: turn files on disk, or root file systems packed as tar files, plus a configuration, into one image
// that `ctr images import`, `docker load` and go-containerregistry read.
//
// Flow: files become a sorted list of tar entries; entries become a layer; layers and configuration become an
// image; the image is written beside its destination and renamed.
//
// Invariants: equal inputs give equal bytes, whatever the order of Files, the umask, the clock or the owner of
// the sources. Layers are stored uncompressed, because an image that is imported once on the same machine only
// pays for compression. Names, links and modes come from the Spec alone, never from the source files.
package archive

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Spec is what an image is called, holds and runs. The platform is linux on the architecture of this program.
type Spec struct {
	// Reference is registry/repository:tag, all three parts given; the registry need not exist.
	Reference string
	// Files make one layer, on top of all others; their order does not matter. Missing parent directories are
	// added with mode 0755.
	Files []File
	// Entrypoint, Cmd and Env ("NAME=value") are those of the OCI image configuration.
	Entrypoint, Cmd, Env []string
	// User is a user name or numeric id, with an optional :group; empty means root.
	User string
	// WorkingDir is absolute; empty means "/".
	WorkingDir string
}

// File is one file, symbolic link or directory of an image, owned by 0:0 and dated to the epoch.
type File struct {
	// Path in the image; a leading slash changes nothing.
	Path string
	// Source is the regular file on disk that holds the contents.
	Source string
	// Link, if set, makes Path a symbolic link to it; Source is then empty. With neither, Path is a directory.
	Link string
	// Mode holds permission bits, fs.ModeSetuid, fs.ModeSetgid and fs.ModeSticky; zero means 0755.
	Mode fs.FileMode
}

// Scratch writes an image to out that holds spec.Files and the least that a program expects around it: /tmp
// with mode 1777, and /etc/passwd and /etc/group naming root and nonroot (65532). Files may replace these three.
// The digest is the image ID ("sha256:…" of the image configuration): what a container runtime reports for an
// imported archive, and what changes whenever contents or configuration do.
func Scratch(spec Spec, out string) (digest string, err error) {
	entries, err := entriesOf(spec.Files, scratchBase()...)
	if err != nil {
		return "", fmt.Errorf("image %s: %w", spec.Reference, err)
	}
	return write(spec, []opener{entries.open}, out)
}

// RootFS writes an image to out whose lowest layers are root file systems packed as tar files, bottom first, and
// whose top layer, if there are any, is spec.Files. The tar files are taken byte for byte and may not be
// compressed. The digest is the image ID, as for Scratch.
func RootFS(spec Spec, layers []string, out string) (digest string, err error) {
	if len(layers) == 0 {
		return "", fmt.Errorf("image %s: no root file system given: name at least one tar file, or use Scratch", spec.Reference)
	}
	var openers []opener
	for _, path := range layers {
		openers = append(openers, func() (io.ReadCloser, error) { return openTar(path) })
	}
	if len(spec.Files) > 0 {
		entries, err := entriesOf(spec.Files)
		if err != nil {
			return "", fmt.Errorf("image %s: %w", spec.Reference, err)
		}
		openers = append(openers, entries.open)
	}
	return write(spec, openers, out)
}

// Layer writes files as one tar file to out, for use by RootFS.
func Layer(files []File, out string) error {
	list, err := entriesOf(files)
	if err != nil {
		return err
	}
	return replaceFile(out, func(w io.Writer) error {
		tw := tar.NewWriter(w)
		return errors.Join(list.writeTo(tw), tw.Close())
	})
}

// write assembles the image and puts it at out in one step: a reader finds the old archive or the new one.
func write(spec Spec, layers []opener, out string) (digest string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("image %s: %w", spec.Reference, err)
		}
	}()
	tag, err := name.NewTag(spec.Reference, name.StrictValidation)
	if err != nil {
		return "", fmt.Errorf("reference must read registry/repository:tag: %w", err)
	}
	img, err := assemble(spec, layers)
	if err != nil {
		return "", err
	}
	id, err := img.ConfigName()
	if err != nil {
		return "", err
	}
	return id.String(), replaceFile(out, func(w io.Writer) error { return tarball.Write(tag, img, w) })
}

func assemble(spec Spec, openers []opener) (v1.Image, error) {
	var layers []v1.Layer
	for _, open := range openers {
		l, err := newLayer(open)
		if err != nil {
			return nil, err
		}
		layers = append(layers, l)
	}
	img, err := mutate.AppendLayers(empty.Image, layers...)
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config = v1.Config{
		Entrypoint: spec.Entrypoint, Cmd: spec.Cmd, Env: spec.Env,
		User: spec.User, WorkingDir: spec.WorkingDir,
	}
	return mutate.ConfigFile(img, config)
}

// replaceFile writes a temporary file beside path and renames it over path once it is complete and on disk.
func replaceFile(path string, write func(io.Writer) error) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name()) // the error that led here matters more
		}
	}()
	err = errors.Join(write(tmp), tmp.Chmod(0o644), tmp.Sync(), tmp.Close())
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.Rename(tmp.Name(), path)
}
