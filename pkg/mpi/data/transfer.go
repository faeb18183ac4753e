package data

import (
	"bufio"
	"context"
	"crypto/sha1" //nolint:gosec // git names blobs by it
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// parallel is how many files are fetched at a time.
const parallel = 8

// transfer fetches the files of a set into its staging folder.
type transfer struct {
	Store
	source  Source
	staging string
	fetched atomic.Int64

	mu      sync.Mutex
	journal *os.File
	done    map[string]Entry
}

func (s Store) fetchFiles(ctx context.Context, source Source, files []File, staging string) ([]Entry, error) {
	t := &transfer{Store: s, source: source, staging: staging, done: map[string]Entry{}}
	if err := t.openJournal(); err != nil {
		return nil, diskFailure(err)
	}
	defer func() { _ = t.journal.Close() }()
	total, known := t.missingBytes(files)
	if err := t.checkRoom(total); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go t.showProgress(ctx, total, known)
	entries := make([]Entry, len(files))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, f := range files {
		group.Go(func() (err error) {
			entries[i], err = t.fetchFile(ctx, f)
			return err
		})
	}
	return entries, group.Wait()
}

// openJournal reads which files an earlier attempt has fetched. Its last line may be half of one.
func (t *transfer) openJournal() (err error) {
	for _, folder := range []string{"data", "parts"} {
		if err := os.MkdirAll(filepath.Join(t.staging, folder), 0o775); err != nil {
			return err
		}
	}
	path := filepath.Join(t.staging, journalFile)
	t.journal, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o664) //nolint:gosec // below our root
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(t.journal); lines.Scan(); {
		var e Entry
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		at, err := os.Stat(t.path(e.Name))
		if err == nil && at.Size() == e.Size {
			t.done[e.Name] = e
		}
	}
	_, err = t.journal.WriteString("\n")
	return err
}

func (t *transfer) path(name string) string {
	return filepath.Join(t.staging, "data", filepath.FromSlash(name))
}

func (t *transfer) missingBytes(files []File) (total int64, known bool) {
	known = true
	for _, f := range files {
		if _, done := t.done[f.Name]; done {
			continue
		}
		known = known && f.Size >= 0
		total += max(f.Size, 0)
		if part, err := os.Stat(t.partOf(f)); err == nil {
			total -= min(part.Size(), max(f.Size, 0))
		}
	}
	return total, known
}

// checkRoom refuses before hours of fetching what does not fit.
func (t *transfer) checkRoom(total int64) error {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(t.staging, &disk); err != nil {
		return nil //nolint:nilerr // writing will show it
	}
	free := int64(disk.Bavail) * disk.Bsize //nolint:gosec // no volume has 8 EiB
	if free >= total {
		return nil
	}
	return final(diagnose.DataVolumeFull, "the claim `%s` has %s left, and %s more are needed",
		mpi.DataClaim, size(free), size(total))
}

func (t *transfer) showProgress(ctx context.Context, total int64, known bool) {
	const every = 5 * time.Second
	begin := time.Now()
	for sleep(ctx, every) {
		fetched := t.fetched.Load()
		speed := float64(fetched) / time.Since(begin).Seconds()
		if !known || total == 0 {
			t.Print("%s, %s/s", size(fetched), size(int64(speed)))
			continue
		}
		t.Print("%s of %s (%d %%), %s/s", size(fetched), size(total), 100*fetched/total, size(int64(speed)))
	}
}

func size(n int64) string {
	const kilo = 1000
	value, unit := float64(n), 0
	for units := "kMGTP"; value >= kilo && unit < len(units); unit++ {
		value /= kilo
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %cB", value, "kMGTP"[unit-1])
}

func (t *transfer) partOf(f File) string {
	name := sha256.Sum256([]byte(f.Name + "\x00" + f.Version))
	return filepath.Join(t.staging, "parts", hex.EncodeToString(name[:16]))
}

func (t *transfer) fetchFile(ctx context.Context, f File) (Entry, error) {
	if e, done := t.done[f.Name]; done {
		return e, nil
	}
	part, err := openPart(t.partOf(f), f)
	if err != nil {
		return Entry{}, diskFailure(err)
	}
	defer func() { _ = part.file.Close() }()
	err = t.patiently(ctx, func() (bool, error) {
		before := part.size
		err := part.receive(ctx, t.source, f, &t.fetched)
		return part.size > before, err
	})
	if err != nil {
		return Entry{}, err
	}
	e := Entry{Name: f.Name, Size: part.size, Version: f.Version, SHA256: hex.EncodeToString(part.sum.Sum(nil))}
	if err := part.check(f, e); err != nil {
		// Of wrong bytes nothing is kept: the next attempt begins anew.
		return Entry{}, errors.Join(err, os.Remove(t.partOf(f)))
	}
	return e, diskFailure(t.keepFile(part, f, e))
}

// keepFile puts a whole file into its place, and only then into the journal.
func (t *transfer) keepFile(part *part, f File, e Entry) error {
	if err := part.file.Sync(); err != nil {
		return err
	}
	at := t.path(f.Name)
	if err := os.MkdirAll(filepath.Dir(at), 0o775); err != nil {
		return err
	}
	if err := os.Rename(t.partOf(f), at); err != nil {
		return err
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	_, err = t.journal.Write(append(line, '\n'))
	return err
}

// part is a file of which the beginning is there.
type part struct {
	file *os.File
	size int64
	sum  hash.Hash
	blob hash.Hash
}

// openPart reads again what an earlier attempt has left, for its checksums.
func openPart(path string, f File) (*part, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o664) //nolint:gosec // below our root
	if err != nil {
		return nil, err
	}
	p := &part{file: file}
	if f.Size < 0 || f.Version == "" {
		return p, p.restart(f)
	}
	p.reset(f)
	p.size, err = io.Copy(p.hashes(), file)
	if err == nil && p.size > f.Size {
		err = p.restart(f)
	}
	return p, err
}

func (p *part) reset(f File) {
	p.size, p.sum, p.blob = 0, sha256.New(), sha1.New() //nolint:gosec // see above
	fmt.Fprintf(p.blob, "blob %d\x00", f.Size)
}

func (p *part) restart(f File) error {
	p.reset(f)
	_, err := p.file.Seek(0, io.SeekStart)
	return errors.Join(err, p.file.Truncate(0))
}

func (p *part) hashes() io.Writer { return io.MultiWriter(p.sum, p.blob) }

// receive appends to the file.
func (p *part) receive(ctx context.Context, source Source, f File, fetched *atomic.Int64) error {
	if f.Size >= 0 && p.size == f.Size {
		return nil
	}
	if p.size > 0 && f.Size < 0 {
		if err := p.restart(f); err != nil {
			return diskFailure(err)
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(stall, func() {
		cancel(&Failure{Reason: diagnose.DataUnavailable, Message: f.address + ": nothing came for " + stall.String()})
	})
	defer silence.Stop()
	body, err := source.Open(ctx, f, p.size)
	if errors.Is(err, errNoRanges) {
		if err := p.restart(f); err != nil {
			return diskFailure(err)
		}
		body, err = source.Open(ctx, f, 0)
	}
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	buffer := make([]byte, 1<<20)
	for {
		n, err := body.Read(buffer)
		silence.Reset(stall)
		if n > 0 {
			if _, err := p.file.Write(buffer[:n]); err != nil {
				return diskFailure(err)
			}
			_, _ = p.hashes().Write(buffer[:n]) // hashes do not fail
			p.size += int64(n)
			fetched.Add(int64(n))
		}
		switch {
		case errors.Is(err, io.EOF) && f.Size >= 0 && p.size < f.Size:
			return fmt.Errorf("%s ended after %d of %d bytes", f.address, p.size, f.Size)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && context.Cause(ctx) != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case f.Size >= 0 && p.size > f.Size:
			return final(diagnose.DataCorrupt, "%s is longer than the %d bytes of the list of its source", f.address, f.Size)
		}
	}
}

// check compares a whole file with the checksum of its source.
func (p *part) check(f File, e Entry) error {
	got := e.SHA256
	if f.Hash == hashGit {
		got = hex.EncodeToString(p.blob.Sum(nil))
	}
	if f.Hash == "" || got == f.Sum {
		return nil
	}
	return final(diagnose.DataCorrupt, "%s has the checksum %s, and its source lists %s", f.address, got, f.Sum)
}
