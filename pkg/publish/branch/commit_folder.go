package branch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"

	"lockstep.dev/lockstep/pkg/compile/emit"
	"lockstep.dev/lockstep/pkg/publish"
)

// commitFolder is the files of a commit, one folder of which is an emit.Dir: who owns what there, a build and a publication decide in the
// same way.
type commitFolder struct {
	at      string
	objects storer.EncodedObjectStorer
	// entries are all files of the commit by path, staged what shall be written.
	entries map[string]object.TreeEntry
	staged  map[string][]byte
}

// openFolder returns the files of a commit; nil has none.
func (b *Branch) openFolder(c *object.Commit, at string) (*commitFolder, error) {
	f := &commitFolder{at: at, objects: b.git.Storer, entries: map[string]object.TreeEntry{}, staged: map[string][]byte{}}
	if c == nil {
		return f, nil
	}
	tree, err := c.Tree()
	if err != nil {
		return nil, fmt.Errorf("read the files of `%s`: %w", b.name, err)
	}
	walker := object.NewTreeWalker(tree, true, nil)
	defer walker.Close()
	for {
		name, entry, err := walker.Next()
		if errors.Is(err, io.EOF) {
			return f, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the files of `%s`: %w", b.name, err)
		}
		if entry.Mode != filemode.Dir {
			f.entries[name] = entry
		}
	}
}

// writeTree puts a tree into the folder.
func (f *commitFolder) writeTree(tree *publish.Tree, only string) (emit.Result, error) {
	if blocked := f.blockingFiles(tree); len(blocked) > 0 {
		return emit.Result{Foreign: blocked}, nil
	}
	w, err := emit.NewWriter(f)
	if err != nil {
		return emit.Result{}, err
	}
	if err := w.Add(tree.Files); err != nil {
		return emit.Result{}, err
	}
	return w.Finish(func(name string) bool { return only != "" && !strings.HasPrefix(name, only+"/") })
}

// otherRecordFolders are the other folders that have a record of files that the compiler owns, sorted.
func (f *commitFolder) otherRecordFolders() []string {
	var folders []string
	for name := range f.entries {
		if at := path.Dir(name); path.Base(name) == emit.Record && at != f.at {
			folders = append(folders, at)
		}
	}
	slices.Sort(folders)
	return folders
}

// blockingFiles are files where the tree needs folders, and files in folders where it needs files.
func (f *commitFolder) blockingFiles(tree *publish.Tree) []string {
	found := map[string]bool{}
	wanted := map[string]bool{}
	for _, file := range tree.Files {
		wanted[tree.PublishedPath(file)] = true
		for up := path.Dir(tree.PublishedPath(file)); up != "."; up = path.Dir(up) {
			if _, isFile := f.entries[up]; isFile {
				found[up] = true
			}
		}
	}
	for name := range f.entries {
		for up := path.Dir(name); up != "."; up = path.Dir(up) {
			if wanted[up] {
				found[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// ReadFile implements emit.Dir.
func (f *commitFolder) ReadFile(name string) ([]byte, error) {
	entry, found := f.entries[path.Join(f.at, name)]
	if !found {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	blob, err := object.GetBlob(f.objects, entry.Hash)
	if err != nil {
		return nil, err
	}
	reader, err := blob.Reader()
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	return io.ReadAll(reader)
}

// Same implements emit.Dir.
func (f *commitFolder) Same(name string, data []byte) (found, same bool, err error) {
	entry, found := f.entries[path.Join(f.at, name)]
	return found, found && entry.Mode == filemode.Regular && entry.Hash == plumbing.ComputeHash(plumbing.BlobObject, data), nil
}

// Stage implements emit.Dir.
func (f *commitFolder) Stage(name string, data []byte) error {
	f.staged[path.Join(f.at, name)] = data
	return nil
}

// Commit implements emit.Dir.
func (f *commitFolder) Commit(removed []string, _ int) error {
	for _, name := range removed {
		delete(f.entries, path.Join(f.at, name))
	}
	for name, data := range f.staged {
		f.entries[name] = object.TreeEntry{Name: path.Base(name), Mode: filemode.Regular, Hash: plumbing.ComputeHash(plumbing.BlobObject, data)}
	}
	return nil
}

// storeRootTree stores what is not in the repository yet, and returns the tree of all files.
func (f *commitFolder) storeRootTree() (plumbing.Hash, error) {
	for _, name := range slices.Sorted(maps.Keys(f.staged)) {
		if err := f.storeBlob(f.staged[name]); err != nil {
			return plumbing.ZeroHash, err
		}
	}
	return f.storeTree("", slices.Sorted(maps.Keys(f.entries)))
}

func (f *commitFolder) storeBlob(data []byte) error {
	if f.objects.HasEncodedObject(plumbing.ComputeHash(plumbing.BlobObject, data)) == nil {
		return nil
	}
	blob := f.objects.NewEncodedObject()
	blob.SetType(plumbing.BlobObject)
	w, err := blob.Writer()
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	_, err = f.objects.SetEncodedObject(blob)
	return err
}

// storeTree stores the tree of a folder, whose files are sorted by path.
func (f *commitFolder) storeTree(prefix string, names []string) (plumbing.Hash, error) {
	var made object.Tree
	for len(names) > 0 {
		first, _, isFolder := strings.Cut(strings.TrimPrefix(names[0], prefix), "/")
		if !isFolder {
			entry := f.entries[names[0]]
			made.Entries = append(made.Entries, object.TreeEntry{Name: first, Mode: entry.Mode, Hash: entry.Hash})
			names = names[1:]
			continue
		}
		below := prefix + first + "/"
		n := 1
		for n < len(names) && strings.HasPrefix(names[n], below) {
			n++
		}
		hash, err := f.storeTree(below, names[:n])
		if err != nil {
			return plumbing.ZeroHash, err
		}
		made.Entries = append(made.Entries, object.TreeEntry{Name: first, Mode: filemode.Dir, Hash: hash})
		names = names[n:]
	}
	slices.SortFunc(made.Entries, func(a, b object.TreeEntry) int { return strings.Compare(treeSortKey(a), treeSortKey(b)) })
	encoded := f.objects.NewEncodedObject()
	if err := made.Encode(encoded); err != nil {
		return plumbing.ZeroHash, err
	}
	if f.objects.HasEncodedObject(encoded.Hash()) == nil {
		return encoded.Hash(), nil
	}
	return f.objects.SetEncodedObject(encoded)
}

// treeSortKey orders entries as git does: folders as if their names ended with a slash.
func treeSortKey(e object.TreeEntry) string {
	if e.Mode == filemode.Dir {
		return e.Name + "/"
	}
	return e.Name
}
