package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

const someKey = "0123456789abcdef"

func TestCacheKeepsWhatWasFinished(t *testing.T) {
	c := openCache(t, t.TempDir())
	if _, found := c.get("a", someKey); found {
		t.Fatal("an empty cache has an image")
	}
	dir, err := c.put("a", someKey, fill("one"))
	if err != nil {
		t.Fatal(err)
	}
	got, found := c.get("a", someKey)
	raw, err := os.ReadFile(filepath.Join(got, archiveName))
	if !found || got != dir || string(raw) != "one" || err != nil {
		t.Errorf("got %s (found %v) with %q, %v", got, found, raw, err)
	}
}

func TestCacheForgetsWhatFailed(t *testing.T) {
	root := t.TempDir()
	c := openCache(t, root)
	broken := errors.New("broken")
	_, err := c.put("a", someKey, func(dir, _ string) error {
		return errors.Join(os.WriteFile(filepath.Join(dir, archiveName), []byte("half"), 0o600), broken)
	})
	if !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	if _, found := c.get("a", someKey); found {
		t.Error("a failed build is in the cache")
	}
	if left := names(t, root); len(left) != 1 { // the lock
		t.Errorf("a failed build left %v", left)
	}
}

// A process that was killed leaves temporary folders; the next one removes them, and only them.
func TestCacheSweepsWhatKilledProcessesLeft(t *testing.T) {
	root := t.TempDir()
	left := filepath.Join(root, tempPrefix+"openmpi4-123", "tmp", "root", "usr")
	finished := filepath.Join(root, "openmpi4-"+someKey)
	if err := errors.Join(os.MkdirAll(left, 0o755), os.MkdirAll(finished, 0o755)); err != nil {
		t.Fatal(err)
	}
	openCache(t, root)
	if got, want := names(t, root), []string{".lock", "openmpi4-" + someKey}; !slices.Equal(got, want) {
		t.Errorf("cache holds %v, want %v", got, want)
	}
}

func TestCacheKeepsTheLatestBuildsOfEachImage(t *testing.T) {
	root := t.TempDir()
	c := openCache(t, root)
	if _, err := c.put("mpi", someKey, fill("other image, same beginning")); err != nil {
		t.Fatal(err)
	}
	for n := range keep + 1 {
		dir, err := c.put("mpi-agent", fmt.Sprintf("%016d", n), fill("x"))
		if err != nil {
			t.Fatal(err)
		}
		age := time.Now().Add(time.Duration(n-10) * time.Hour)
		if n == 0 {
			age = time.Now().Add(time.Hour) // made first, used last
		}
		if err := os.Chtimes(dir, age, age); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.put("mpi-agent", fmt.Sprintf("%016d", 9), fill("x")); err != nil {
		t.Fatal(err)
	}
	want := []string{".lock", "mpi-" + someKey, "mpi-agent-0000000000000000", "mpi-agent-0000000000000003", "mpi-agent-0000000000000009"}
	if got := names(t, root); !slices.Equal(got, want) {
		t.Errorf("cache holds %v, want %v", got, want)
	}
}

func TestCacheServesOneProcessAtATime(t *testing.T) {
	root := t.TempDir()
	first := openCache(t, root)
	ctx, cancel := context.WithCancel(t.Context())
	waiting := 0
	_, err := OpenCache(ctx, root, func(string) { waiting++; cancel() })
	if !errors.Is(err, context.Canceled) || waiting != 1 {
		t.Errorf("second process: error %v, told %d times that it waits", err, waiting)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	openCache(t, root)
}

func openCache(t *testing.T, dir string) *Cache {
	t.Helper()
	c, err := OpenCache(t.Context(), dir, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func fill(contents string) func(dir, temp string) error {
	return func(dir, temp string) error {
		return errors.Join(
			os.WriteFile(filepath.Join(dir, archiveName), []byte(contents), 0o600),
			os.WriteFile(filepath.Join(temp, "scratch"), nil, 0o600),
		)
	}
}

func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}
