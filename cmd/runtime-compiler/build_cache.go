package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/internal/cli/compiling"
	"lockstep.dev/lockstep/internal/sandbox"
	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/incremental"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// buildCache keeps what a build read and made for the next one: in the user's cache folder, by repository, output and cluster. Without
// such a folder nothing is kept.
type buildCache struct {
	file, key string
	root, out string
	files     *compiling.Root
}

// maxCachedBuilds is how many builds are kept. Older ones are removed.
const maxCachedBuilds = 64

func openBuildCache(root *compiling.Root, input *compiling.Input, out string) buildCache {
	r := buildCache{root: input.Root, out: out, files: root}
	cache, err := os.UserCacheDir()
	if err != nil {
		return r
	}
	from, rootErr := filepath.Abs(input.Root)
	to, outErr := filepath.Abs(out)
	program, programErr := programKey()
	if rootErr != nil || outErr != nil || programErr != nil {
		return r
	}
	name := sha256.Sum256([]byte(from + "\x00" + to + "\x00" + input.Cluster))
	r.file = filepath.Join(cache, "lockstep", "builds", hex.EncodeToString(name[:16]))
	// The name is a digest of these too, but a record that somebody copied is still none of this build.
	r.key = strings.Join([]string{program, from, to}, "\x00")
	return r
}

// programKey is another one for every version of this program.
func programKey() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	info, err := os.Stat(self)
	if err != nil {
		return "", err
	}
	stamp, _ := incremental.StampOf(info)
	return fmt.Sprintf("%s %s %+v %s", self, cli.Version(), stamp, chartsProgramKey()), nil
}

// chartsProgramKey is another one for every version of the program that renders charts. It may be missing where there are no charts.
func chartsProgramKey() string {
	program, err := sandbox.ChartProgramPath()
	if err != nil {
		return ""
	}
	info, err := os.Stat(program)
	if err != nil {
		return ""
	}
	stamp, _ := incremental.StampOf(info)
	return fmt.Sprintf("%+v", stamp)
}

// keyOf is all that a build depends on beside the repository.
func (r buildCache) keyOf(options compile.Options) string {
	return strings.Join([]string{r.key, options.Cluster, options.Today}, "\x00")
}

// load returns what the last build has left, or nil. What is damaged or of another build is nothing.
func (r buildCache) load(options compile.Options) *incremental.BuildRecord {
	if r.file == "" {
		return nil
	}
	data, err := os.ReadFile(r.file)
	if err != nil {
		return nil
	}
	record, err := incremental.Decode(data, r.openSource)
	if err != nil || record.Key != r.keyOf(options) {
		return nil
	}
	return record
}

// openSource returns a file of the repository that a finding is in.
func (r buildCache) openSource(name string) *source.File {
	data, err := source.ReadBounded(r.files.FS(), name, source.MaxFileSize)
	if err != nil {
		data = nil
	}
	return source.NewFile(name, data)
}

// save replaces the record. That it cannot is not a failure of the build.
func (r buildCache) save(m *incremental.BuildRecord, options compile.Options) {
	if r.file == "" {
		return
	}
	m.Key = r.keyOf(options)
	data, err := m.Encode()
	folder := filepath.Dir(r.file)
	if err != nil || os.MkdirAll(folder, 0o700) != nil {
		return
	}
	next, err := os.CreateTemp(folder, ".next-")
	if err != nil {
		return
	}
	_, err = next.Write(data)
	if closed := next.Close(); err != nil || closed != nil || os.Rename(next.Name(), r.file) != nil {
		_ = os.Remove(next.Name())
		return
	}
	evictOldBuilds(folder)
}

// evictOldBuilds removes the oldest builds, and what interrupted builds have left.
func evictOldBuilds(folder string) {
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) <= maxCachedBuilds {
		return
	}
	age := func(entry fs.DirEntry) time.Time {
		if info, err := entry.Info(); err == nil {
			return info.ModTime()
		}
		return time.Time{}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return age(a).Compare(age(b)) })
	for _, entry := range entries[:len(entries)-maxCachedBuilds] {
		_ = os.Remove(filepath.Join(folder, entry.Name()))
	}
}

// Stamp, Content and Listing look at the repository: see incremental.Repository.
func (r buildCache) Stamp(name string) (incremental.Stamp, error) {
	var stat syscall.Stat_t
	switch err := syscall.Stat(r.root+"/"+name, &stat); {
	case errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENOTDIR):
		return incremental.Absent, nil
	case err != nil:
		return incremental.Absent, err
	}
	return incremental.StampFromStat(&stat), nil
}

// Content returns the digest of a file.
func (r buildCache) Content(name string) (incremental.Digest, error) {
	data, err := r.files.ReadFile(name)
	return sha256.Sum256(data), err
}

// Listing returns the digest of a folder.
func (r buildCache) Listing(name string) (incremental.Digest, error) {
	entries, err := fs.ReadDir(r.files.FS(), name)
	return incremental.ListingDigest(entries), err
}

// outputTree looks at the output folder: see incremental.OutputTree. Files are found from the open folder: there are thousands, and their whole
// paths would take half as long again.
type outputTree struct {
	name   string
	folder *os.File
	fd     int
}

// openOutputTree opens the output folder. One that cannot be opened has no file that can be looked at.
func openOutputTree(out string) outputTree {
	folder, err := os.Open(out)
	if err != nil {
		return outputTree{name: out, fd: -1}
	}
	return outputTree{name: out, folder: folder, fd: int(folder.Fd())}
}

func (o outputTree) close() { _ = o.folder.Close() }

// Stamp does not follow links.
func (o outputTree) Stamp(name string) (incremental.Stamp, error) {
	var stat unix.Stat_t
	switch err := unix.Fstatat(o.fd, name, &stat, unix.AT_SYMLINK_NOFOLLOW); {
	case errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR):
		return incremental.Absent, nil
	case err != nil:
		return incremental.Absent, err
	}
	return incremental.StampFromUnix(&stat), nil
}

// Sum reads a file.
func (o outputTree) Sum(name string) (uint32, error) {
	data, err := os.ReadFile(o.name + "/" + name)
	return incremental.Checksum(data), err
}
