package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// opener starts reading the tar bytes of a layer from the beginning; every call yields the same bytes.
type opener func() (io.ReadCloser, error)

// plainLayer is a layer that is stored as it is: go-containerregistry's own tarball layer always compresses.
type plainLayer struct {
	open opener
	hash v1.Hash
	size int64
}

func newLayer(open opener) (*plainLayer, error) {
	r, err := open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // only read
	hash, size, err := v1.SHA256(r)
	if err != nil {
		return nil, fmt.Errorf("read layer: %w", err)
	}
	return &plainLayer{open: open, hash: hash, size: size}, nil
}

func (l *plainLayer) Digest() (v1.Hash, error)             { return l.hash, nil }
func (l *plainLayer) DiffID() (v1.Hash, error)             { return l.hash, nil }
func (l *plainLayer) Size() (int64, error)                 { return l.size, nil }
func (l *plainLayer) MediaType() (types.MediaType, error)  { return types.DockerUncompressedLayer, nil }
func (l *plainLayer) Compressed() (io.ReadCloser, error)   { return l.open() }
func (l *plainLayer) Uncompressed() (io.ReadCloser, error) { return l.open() }

// openTar opens a tar file, and refuses anything else (a compressed one would get a wrong DiffID): POSIX puts the
// magic "ustar" at byte 257 of the first header.
func openTar(path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	magic := make([]byte, len("ustar"))
	if _, err := f.ReadAt(magic, 257); err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, f.Close())
	}
	if !bytes.Equal(magic, []byte("ustar")) {
		return nil, errors.Join(fmt.Errorf("layer %s is not an uncompressed tar file", path), f.Close())
	}
	return f, nil
}
