package gitfs

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// cachedBlob returns a content that was read before.
func (r *Repository) cachedBlob(hash plumbing.Hash) ([]byte, bool) {
	r.lock.Lock()
	defer r.lock.Unlock()
	data, found := r.blobs[hash]
	return data, found
}

// cacheBlob remembers a content.
func (r *Repository) cacheBlob(hash plumbing.Hash, data []byte) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.blobs[hash] = data
}

// readBlob reads a content from git's storage. It is never nil.
func (r *Repository) readBlob(hash plumbing.Hash) ([]byte, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	blob, err := r.git.BlobObject(hash)
	if err != nil {
		return nil, r.explainByClone(err)
	}
	reader, err := blob.Reader()
	if err != nil {
		return nil, fmt.Errorf("unpack %s: %w", hash, err)
	}
	defer reader.Close()
	data := bytes.NewBuffer(make([]byte, 0, blob.Size+bytes.MinRead))
	if _, err := io.Copy(data, reader); err != nil {
		return nil, fmt.Errorf("unpack %s: %w", hash, err)
	}
	return data.Bytes(), nil
}

// blobSize returns the size of a content in bytes, 0 where git does not have it.
func (r *Repository) blobSize(hash plumbing.Hash) int64 {
	r.lock.Lock()
	defer r.lock.Unlock()
	if data, found := r.blobs[hash]; found {
		return int64(len(data))
	}
	size, err := r.git.Storer.EncodedObjectSize(hash)
	if err != nil {
		return 0
	}
	return size
}

// folderEntries returns the entries of a folder, sorted by name: git sorts folders as if their names ended with a slash.
func (r *Repository) folderEntries(hash plumbing.Hash) ([]object.TreeEntry, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if entries, found := r.folders[hash]; found {
		return entries, nil
	}
	tree, err := r.git.TreeObject(hash)
	if err != nil {
		return nil, r.explainByClone(err)
	}
	entries := slices.Clone(tree.Entries)
	slices.SortFunc(entries, func(a, b object.TreeEntry) int { return strings.Compare(a.Name, b.Name) })
	r.folders[hash] = entries
	return entries, nil
}
