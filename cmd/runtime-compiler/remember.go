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

	"lockstep.dev/lockstep/internal/apart"
	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/incremental"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// remembered is where the memory of a build is: in the user's cache folder, by repository, output and cluster. Without such a folder
// nothing is remembered.
type remembered struct {
	file, key string
	root, out string
	files     *os.Root
}

// maxMemories is how many builds are remembered. Older ones are forgotten.
const maxMemories = 64

func remember(root *os.Root, input *cli.Input, out string) remembered {
	r := remembered{root: input.Root, out: out, files: root}
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
	// The name is a digest of these too, but a memory that somebody copied is still none of this build.
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
	stamp, _ := incremental.Of(info)
	return fmt.Sprintf("%s %s %+v %s", self, cli.Version(), stamp, chartsKey()), nil
}

// chartsKey is another one for every version of the program that renders charts. It may be missing where there are no charts.
func chartsKey() string {
	program, err := apart.Beside(apart.ChartProgram)
	if err != nil {
		return ""
	}
	info, err := os.Stat(program)
	if err != nil {
		return ""
	}
	stamp, _ := incremental.Of(info)
	return fmt.Sprintf("%+v", stamp)
}

// keyOf is all that a build depends on beside the repository.
func (r remembered) keyOf(options compile.Options) string {
	return strings.Join([]string{r.key, options.Cluster, options.Today}, "\x00")
}

// recall returns what the last build has left, or nil. What is damaged or of another build is nothing.
func (r remembered) recall(options compile.Options) *incremental.Memory {
	if r.file == "" {
		return nil
	}
	data, err := os.ReadFile(r.file)
	if err != nil {
		return nil
	}
	memory, err := incremental.Decode(data, r.open)
	if err != nil || memory.Key != r.keyOf(options) {
		return nil
	}
	return memory
}

// open returns a file of the repository that a finding is in.
func (r remembered) open(name string) *source.File {
	data, err := source.ReadBounded(r.files.FS(), name, source.MaxFileSize)
	if err != nil {
		data = nil
	}
	return source.NewFile(name, data)
}

// save replaces the memory. That it cannot is no failure of the build.
func (r remembered) save(m *incremental.Memory, options compile.Options) {
	if r.file == "" {
		return
	}
	m.Key = r.keyOf(options)
	folder := filepath.Dir(r.file)
	if os.MkdirAll(folder, 0o700) != nil {
		return
	}
	next, err := os.CreateTemp(folder, ".next-")
	if err != nil {
		return
	}
	_, err = next.Write(m.Encode())
	if closed := next.Close(); err != nil || closed != nil || os.Rename(next.Name(), r.file) != nil {
		_ = os.Remove(next.Name())
		return
	}
	forgetOld(folder)
}

// forgetOld removes the oldest memories, and what interrupted builds have left.
func forgetOld(folder string) {
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) <= maxMemories {
		return
	}
	age := func(entry fs.DirEntry) time.Time {
		if info, err := entry.Info(); err == nil {
			return info.ModTime()
		}
		return time.Time{}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return age(a).Compare(age(b)) })
	for _, entry := range entries[:len(entries)-maxMemories] {
		_ = os.Remove(filepath.Join(folder, entry.Name()))
	}
}

// Stamp, Content and Listing look at the repository: see incremental.Repository.
func (r remembered) Stamp(name string) (incremental.Stamp, error) {
	var stat syscall.Stat_t
	switch err := syscall.Stat(r.root+"/"+name, &stat); {
	case errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENOTDIR):
		return incremental.Absent, nil
	case err != nil:
		return incremental.Absent, err
	}
	return incremental.FromStat(&stat), nil
}

// Content returns the digest of a file.
func (r remembered) Content(name string) (incremental.Digest, error) {
	data, err := r.files.ReadFile(name)
	return sha256.Sum256(data), err
}

// read returns a file of the repository as an input.
func (r remembered) read(name string) (incremental.Input, error) {
	before, err := r.Stamp(name)
	if err != nil {
		return incremental.Input{}, err
	}
	data, err := source.ReadBounded(r.files.FS(), name, source.MaxFileSize)
	return incremental.Input{Path: name, Kind: incremental.File, Stamp: before, Digest: incremental.DigestOf(data), Content: string(data)}, err
}

// Listing returns the digest of a folder.
func (r remembered) Listing(name string) (incremental.Digest, error) {
	entries, err := fs.ReadDir(r.files.FS(), name)
	return incremental.Names(entries), err
}

// made looks at the output folder: see incremental.Tree. Files are found from the open folder: there are thousands, and their whole
// paths would take half as long again.
type made struct {
	name   string
	folder *os.File
	fd     int
}

// look opens the output folder. One that cannot be opened has no file that can be looked at.
func look(out string) made {
	folder, err := os.Open(out)
	if err != nil {
		return made{name: out, fd: -1}
	}
	return made{name: out, folder: folder, fd: int(folder.Fd())}
}

func (m made) close() { _ = m.folder.Close() }

// Stamp does not follow links.
func (m made) Stamp(name string) (incremental.Stamp, error) {
	var stat unix.Stat_t
	switch err := unix.Fstatat(m.fd, name, &stat, unix.AT_SYMLINK_NOFOLLOW); {
	case errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR):
		return incremental.Absent, nil
	case err != nil:
		return incremental.Absent, err
	}
	return incremental.FromUnix(&stat), nil
}

// Sum reads a file.
func (m made) Sum(name string) (uint32, error) {
	data, err := os.ReadFile(m.name + "/" + name)
	return incremental.Sum(data), err
}
