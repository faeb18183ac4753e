package incremental

import (
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync"
)

// InputKind is what was read.
type InputKind uint8

// The kinds. A folder counts by the names and types in it, not by its stamp alone: an editor that saves a file touches the folder.
const (
	File InputKind = iota + 1
	Folder
	// Presence means that only the file's stamp was looked at, or that it was missed.
	Presence
)

// Digest is the SHA-256 of a content.
type Digest [sha256.Size]byte

// DigestOf returns the digest of a content.
func DigestOf(data []byte) Digest { return sha256.Sum256(data) }

// Input is something that a compilation has read.
type Input struct {
	Path   string
	Kind   InputKind
	Stamp  Stamp
	Digest Digest
}

// Recorder is a repository that notes what is read of it. It is for use by several goroutines.
type Recorder struct {
	root fs.FS

	mu     sync.Mutex
	inputs map[string]Input
	// failed says that something could not be read, so that nothing follows from what could.
	failed bool
}

// NewRecorder returns a recorder for a repository.
func NewRecorder(root fs.FS) *Recorder {
	return &Recorder{root: root, inputs: map[string]Input{}}
}

// Inputs returns what was read so far, sorted by path. False means that it cannot be compared with another time.
func (r *Recorder) Inputs() ([]Input, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedFunc(maps.Values(r.inputs), compareInputs), !r.failed
}

// noteStamp keeps the first stamp of a path and kind: what was read later may be newer, and then differs from it.
func (r *Recorder) noteStamp(name string, kind InputKind, info fs.FileInfo, err error) {
	stamp, ok := Absent, true
	if err == nil {
		stamp, ok = StampOf(info)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !ok || err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.failed = true
		return
	}
	key := string('0'+kind) + name
	if _, known := r.inputs[key]; !known {
		r.inputs[key] = Input{Path: name, Kind: kind, Stamp: stamp}
	}
}

// noteDigest keeps the first digest of a path and kind, too: a compilation that has read two contents is not one of either, and whoever compares
// it with what there is now must find a difference.
func (r *Recorder) noteDigest(name string, kind InputKind, digest Digest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := string('0'+kind) + name
	input := r.inputs[key]
	if input.Digest != (Digest{}) {
		r.failed = r.failed || input.Digest != digest
		return
	}
	input.Digest = digest
	r.inputs[key] = input
}

func (r *Recorder) noteFailure() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
}

// Open opens a file, whose content counts as far as it is read, or a folder.
func (r *Recorder) Open(name string) (fs.File, error) {
	file, err := r.root.Open(name)
	if err != nil {
		r.noteStamp(name, Presence, nil, err)
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		r.noteFailure()
		return nil, err
	}
	if info.IsDir() {
		// Whoever reads a folder does so with ReadDir, which fs.ReadDir and fs.WalkDir prefer.
		r.noteStamp(name, Presence, info, nil)
		return file, nil
	}
	r.noteStamp(name, File, info, nil)
	return &recordedFile{File: file, name: name, of: r, sum: sha256.New()}, nil
}

// recordedFile is a file whose content is digested while it is read.
type recordedFile struct {
	fs.File
	name string
	of   *Recorder
	sum  hash.Hash
	done bool
}

func (f *recordedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.sum.Write(p[:n])
	if errors.Is(err, io.EOF) && !f.done {
		f.done = true
		f.of.noteDigest(f.name, File, Digest(f.sum.Sum(nil)))
	}
	return n, err
}

// Close closes the file. One that was not read to its end is not known.
func (f *recordedFile) Close() error {
	if !f.done {
		f.of.noteFailure()
	}
	return f.File.Close()
}

// Stat implements fs.StatFS.
func (r *Recorder) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(r.root, name)
	r.noteStamp(name, Presence, info, err)
	return info, err
}

// ReadDir implements fs.ReadDirFS.
func (r *Recorder) ReadDir(name string) ([]fs.DirEntry, error) {
	info, err := fs.Stat(r.root, name)
	var entries []fs.DirEntry
	if err == nil {
		entries, err = fs.ReadDir(r.root, name)
	}
	if err != nil {
		r.noteStamp(name, Presence, nil, err)
		return entries, err
	}
	r.noteStamp(name, Folder, info, nil)
	r.noteDigest(name, Folder, ListingDigest(entries))
	return entries, nil
}

// ListingDigest returns the digest of a sorted listing.
func ListingDigest(entries []fs.DirEntry) Digest {
	sum := sha256.New()
	for _, entry := range entries {
		_, _ = io.WriteString(sum, entry.Name()+"\x00"+entry.Type().String()+"\x00")
	}
	return Digest(sum.Sum(nil))
}
