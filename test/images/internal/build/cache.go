package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// keep is how many builds of one image stay in the cache: enough to change branches back and forth.
const keep = 3

// tempPrefix begins the names of temporary folders in the cache.
const tempPrefix = ".tmp-"

// Cache is a folder of finished images, <name>-<key>/image.tar, that one process writes at a time.
//
// An entry is made in a temporary folder and renamed, so it is there completely or not at all. Temporary folders
// that a killed process left behind are removed by the next one that opens the cache: with the lock held, nobody
// else can be using them.
type Cache struct {
	dir  string
	lock *os.File
}

// OpenCache takes the cache at dir for this process, after waiting for any other; waiting is told once.
func OpenCache(ctx context.Context, dir string, report func(string)) (*Cache, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("open image cache: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open image cache: %w", err)
	}
	c := &Cache{dir: dir, lock: lock}
	if err := errors.Join(c.wait(ctx, report), c.sweep()); err != nil {
		return nil, errors.Join(fmt.Errorf("open image cache %s: %w", dir, err), lock.Close())
	}
	return c, nil
}

// Close lets other processes in.
func (c *Cache) Close() error { return c.lock.Close() }

func (c *Cache) wait(ctx context.Context, report func(string)) error {
	for told := false; ; told = true {
		err := unix.Flock(int(c.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
		if !told {
			report("waiting for another process that builds images into " + c.dir)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// sweep removes what interrupted builds left. It never descends into something mounted.
func (c *Cache) sweep() error {
	left, err := filepath.Glob(filepath.Join(c.dir, tempPrefix+"*"))
	if err != nil {
		return err
	}
	for _, dir := range left {
		if err := removeTree(dir); err != nil {
			return err
		}
	}
	return nil
}

// removeTree removes dir, unless a file system is mounted in there.
func removeTree(dir string) error {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	if strings.Contains(string(mounts), " "+dir+"/") {
		return fmt.Errorf("a file system is mounted below %s: unmount it and remove the folder", dir)
	}
	return os.RemoveAll(dir)
}

func (c *Cache) entry(name, key string) string { return filepath.Join(c.dir, name+"-"+key) }

// get returns the folder of a finished image and marks it as used.
func (c *Cache) get(name, key string) (dir string, found bool) {
	dir = c.entry(name, key)
	now := time.Now()
	return dir, os.Chtimes(dir, now, now) == nil
}

// put has fill make the contents of an entry, and forgets the entries of name that were used least recently.
func (c *Cache) put(name, key string, fill func(dir, temp string) error) (string, error) {
	temp, err := os.MkdirTemp(c.dir, tempPrefix+name+"-")
	if err != nil {
		return "", err
	}
	fresh := filepath.Join(temp, "entry")
	err = errors.Join(os.Mkdir(fresh, 0o755), os.Mkdir(filepath.Join(temp, "tmp"), 0o700))
	if err == nil {
		err = fill(fresh, filepath.Join(temp, "tmp"))
	}
	if err == nil {
		err = os.Rename(fresh, c.entry(name, key))
	}
	return c.entry(name, key), errors.Join(err, removeTree(temp), c.prune(name))
}

func (c *Cache) prune(name string) error {
	all, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	var builds []fs.FileInfo
	for _, e := range all {
		stem, key, _ := cutLast(e.Name(), "-")
		if info, err := e.Info(); err == nil && stem == name && len(key) == keyLength {
			builds = append(builds, info)
		}
	}
	slices.SortFunc(builds, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	var failed error
	for _, old := range builds[min(keep, len(builds)):] {
		failed = errors.Join(failed, os.RemoveAll(filepath.Join(c.dir, old.Name())))
	}
	return failed
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
