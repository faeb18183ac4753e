package data

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// Store is the volume in which data is kept for all jobs of a namespace:
//
//	sets/<key>/data           the files of one version of one source, whole
//	sets/<key>/manifest.json  which they are
//	staging/<key>             what is still being fetched
//	jobs/<uid>/<step>         a link of a job to its set
//
// A set gets its name when it is whole, and never changes after that.
type Store struct {
	Root string
	// Print takes a line about progress.
	Print func(format string, args ...any)
	// Patience is how long a source that gives nothing is tried.
	Patience time.Duration
}

// Manifest lists a set.
type Manifest struct {
	URI    string    `json:"uri"`
	Digest string    `json:"digest"`
	Time   time.Time `json:"time"`
	Files  []Entry   `json:"files"`
}

// Entry is a file of a set.
type Entry struct {
	Name    string `json:"name"`
	Size    int64  `json:"size"`
	Version string `json:"version,omitempty"`
	SHA256  string `json:"sha256"`
}

const (
	manifestFile = "manifest.json"
	journalFile  = "journal"
)

// Fetch makes link lead to the files of a source. It fetches what no job has fetched before, and goes on where an
// attempt was ended.
func (s Store) Fetch(
	ctx context.Context, source Source, uri, origin, link string,
) (mpi.FetchReport, error) {
	files, err := s.list(ctx, source, uri)
	if err != nil {
		return mpi.FetchReport{}, err
	}
	key := keyOf(uri, origin, files, link)
	set := filepath.Join(s.Root, "sets", key)
	manifest, err := readManifest(set)
	cached := err == nil
	if !cached {
		if manifest, cached, err = s.fetchSet(ctx, source, uri, files, key); err != nil {
			return mpi.FetchReport{}, err
		}
	}
	if err := s.link(key, link); err != nil {
		return mpi.FetchReport{}, diskFailure(err)
	}
	report := mpi.FetchReport{Files: len(manifest.Files), Digest: manifest.Digest, Cached: cached}
	for _, f := range manifest.Files {
		report.Bytes += f.Size
	}
	return report, nil
}

func (s Store) list(ctx context.Context, source Source, uri string) ([]File, error) {
	var files []File
	err := s.patiently(ctx, func() (bool, error) {
		listed, err := source.List(ctx)
		files = listed
		return false, err
	})
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, final(diagnose.DataNotFound, "there is nothing at %s", uri)
	}
	for _, f := range files {
		if !filepath.IsLocal(filepath.FromSlash(f.Name)) {
			return nil, final(diagnose.DataCorrupt, "%s has a file `%s`, which would lie outside of its folder", uri, f.Name)
		}
	}
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	return files, nil
}

// keyOf names a set. What has no version is fetched for each job.
func keyOf(uri, origin string, files []File, link string) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q\n", uri, origin)
	for _, f := range files {
		if f.Version == "" {
			fmt.Fprintf(sum, "%q\n", link)
		}
		fmt.Fprintf(sum, "%q %d %q\n", f.Name, f.Size, f.Version)
	}
	return hex.EncodeToString(sum.Sum(nil))[:32]
}

func readManifest(set string) (Manifest, error) {
	var m Manifest
	text, err := os.ReadFile(filepath.Join(set, manifestFile)) //nolint:gosec // below our root
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(text, &m)
}

// fetchSet fetches a set, or waits for another job that does.
func (s Store) fetchSet(
	ctx context.Context, source Source, uri string, files []File, key string,
) (m Manifest, cached bool, err error) {
	staging := filepath.Join(s.Root, "staging", key)
	if err := os.MkdirAll(filepath.Join(staging, "data"), 0o775); err != nil {
		return m, false, diskFailure(err)
	}
	unlock, err := s.lock(ctx, staging+".lock")
	if err != nil {
		return m, false, err
	}
	defer unlock()
	set := filepath.Join(s.Root, "sets", key)
	if m, err = readManifest(set); err == nil {
		return m, true, nil
	}
	// Another job may have finished the same meanwhile.
	if err := os.MkdirAll(filepath.Join(staging, "data"), 0o775); err != nil {
		return m, false, diskFailure(err)
	}
	entries, err := s.fetchFiles(ctx, source, files, staging)
	if err != nil {
		return m, false, err
	}
	m = Manifest{URI: uri, Digest: digestOf(entries), Time: time.Now().UTC(), Files: entries}
	return m, false, diskFailure(s.finish(staging, set, m))
}

// finish gives a whole set its name.
func (s Store) finish(staging, set string, m Manifest) error {
	text, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	if err := writeSynced(filepath.Join(staging, manifestFile), text); err != nil {
		return err
	}
	for _, rest := range []string{journalFile, "parts"} {
		if err := os.RemoveAll(filepath.Join(staging, rest)); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(set), 0o775); err != nil {
		return err
	}
	return os.Rename(staging, set)
}

func digestOf(entries []Entry) string {
	sum := sha256.New()
	for _, e := range entries {
		fmt.Fprintf(sum, "%s %q\n", e.SHA256, e.Name)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// link makes a link of a job, which is whole at every moment.
func (s Store) link(key, link string) error {
	at := filepath.Join(s.Root, link)
	if err := os.MkdirAll(filepath.Dir(at), 0o775); err != nil {
		return err
	}
	target, err := filepath.Rel(filepath.Dir(at), filepath.Join(s.Root, "sets", key, "data"))
	if err != nil {
		return err
	}
	if err := os.Remove(at + ".new"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(target, at+".new"); err != nil {
		return err
	}
	return os.Rename(at+".new", at)
}

// lock waits for others that fetch the same. A lock ends with its process. Without locks in the file system two
// jobs would write the same bytes to the same places.
func (s Store) lock(ctx context.Context, path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o664) //nolint:gosec // below our root
	if err != nil {
		return nil, diskFailure(err)
	}
	for told := false; ; told = true {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) //nolint:gosec // a file descriptor is small
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return func() { _ = file.Close() }, nil
		}
		if !told {
			s.Print("another job fetches the same; this one waits for it")
		}
		if !sleep(ctx, time.Second) {
			_ = file.Close()
			return nil, ctx.Err()
		}
	}
}

func writeSynced(path string, text []byte) error {
	file, err := os.Create(path) //nolint:gosec // below our root
	if err != nil {
		return err
	}
	_, err = io.Copy(file, bytes.NewReader(text))
	return errors.Join(err, file.Sync(), file.Close())
}

// diskFailure is an error of the volume, as users see it.
func diskFailure(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return final(diagnose.DataVolumeFull, "the claim `%s` is full: %s", mpi.DataClaim, err)
	}
	return &Failure{Reason: diagnose.DataVolumeFailed, Message: fmt.Sprintf("the claim `%s`: %s", mpi.DataClaim, err)}
}

// patiently tries something again until it succeeds, fails for good, or brings nothing for as long as Patience.
func (s Store) patiently(ctx context.Context, try func() (progress bool, err error)) error {
	const longest = 15 * time.Second
	pause, since := time.Second, time.Now()
	for {
		progress, err := try()
		if err == nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		failure := failureOf(err)
		if progress {
			pause, since = time.Second, time.Now()
		}
		if failure.Final || time.Since(since)+pause > s.Patience {
			return failure
		}
		s.Print("%s: trying again in %s", failure.Message, pause)
		if !sleep(ctx, pause) {
			return ctx.Err()
		}
		pause = min(2*pause, longest)
	}
}

func sleep(ctx context.Context, pause time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pause):
		return true
	}
}
