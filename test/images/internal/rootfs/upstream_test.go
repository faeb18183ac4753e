package rootfs_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"lockstep.dev/lockstep/test/images/internal/rootfs"
)

func TestFetchUpstream(t *testing.T) {
	if _, err := os.Stat("/usr/lib/apt/apt-helper"); err != nil {
		t.Skip("NOT TESTED, this machine has no apt: what packages of Debian are made of")
	}
	archive, cache := t.TempDir(), t.TempDir()
	published := func(folder, name string) {
		dir := filepath.Join(archive, "pool/main", folder, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+"_1.5.0.orig.tar.gz"), []byte("of "+name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	published("h", "hpcc")
	published("libf", "libfabric")
	debian := rootfs.Source{URI: "copy:" + archive + "/"}
	for _, name := range []string{"hpcc", "libfabric", "hpcc"} { // the third is in the cache
		hash := fmt.Sprintf("%x", sha256.Sum256([]byte("of "+name)))
		file, err := debian.FetchUpstream(t.Context(), name, "1.5.0", hash, cache, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(file); string(text) != "of "+name {
			t.Errorf("%s: got %q, %v", name, text, err)
		}
	}
	other := fmt.Sprintf("%x", sha256.Sum256([]byte("another file")))
	if file, err := debian.FetchUpstream(t.Context(), "hpcc", "1.5.0", other, cache, func(string) {}); err == nil {
		t.Errorf("%s: a file of another hash was taken", file)
	}
	left, err := os.ReadDir(cache)
	if err != nil || len(left) != 2 {
		t.Errorf("the cache holds %v, %v: want what was right, and nothing else", left, err)
	}
}
