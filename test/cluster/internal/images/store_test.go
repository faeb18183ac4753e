package images

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"
)

// used makes a store as containerd leaves it: metadata with an image, a
// container, a sandbox, a lease and an unfinished ingest, and folders.
func used(t *testing.T, dir string) {
	t.Helper()
	for _, folder := range append([]string{"io.containerd.metadata.v1.bolt", "io.containerd.content.v1.content/blobs"}, containerFolders...) {
		if err := os.MkdirAll(filepath.Join(dir, folder, "x"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	update(t, dir, func(tx *bbolt.Tx) error {
		for _, path := range [][]string{{"images"}, {"containers"}, {"sandboxes"}, {"leases"}, {"content", "ingests"}, {"content", "blob"}} {
			bucket, err := tx.CreateBucketIfNotExists([]byte("v1"))
			for _, name := range append([]string{"k8s.io"}, path...) {
				if err == nil {
					bucket, err = bucket.CreateBucketIfNotExists([]byte(name))
				}
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func update(t *testing.T, dir string, do func(*bbolt.Tx) error) {
	t.Helper()
	db, err := bbolt.Open(filepath.Join(dir, "io.containerd.metadata.v1.bolt", "meta.db"), 0o644, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(do); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// kept lists what is left in the metadata.
func kept(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	update(t, dir, func(tx *bbolt.Tx) error {
		space := tx.Bucket([]byte("v1")).Bucket([]byte("k8s.io"))
		_ = space.ForEachBucket(func(k []byte) error { names = append(names, string(k)); return nil })
		return space.Bucket([]byte("content")).ForEachBucket(func(k []byte) error { names = append(names, "content/"+string(k)); return nil })
	})
	return names
}

func TestPrepare(t *testing.T) {
	cases := map[string]struct {
		reason           string
		containerd, boot string
		spoil            func(t *testing.T, dir string)
		keeps            bool
	}{
		"same":               {reason: "images stay, containers go", containerd: "v2.3.7", boot: "b1", keeps: true},
		"another containerd": {reason: "it may not read the store", containerd: "v2.4.0", boot: "b1"},
		"another boot":       {reason: "files may be empty after a crash of the machine", containerd: "v2.3.7", boot: "b2"},
		"broken metadata": {reason: "never start on it", containerd: "v2.3.7", boot: "b1", spoil: func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, "io.containerd.metadata.v1.bolt", "meta.db"), []byte("no database"), 0o644); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "containerd")
			if err := Prepare(dir, "v2.3.7", "b1"); err != nil {
				t.Fatal(err)
			}
			used(t, dir)
			if tc.spoil != nil {
				tc.spoil(t, dir)
			}
			if err := Prepare(dir, tc.containerd, tc.boot); err != nil {
				t.Fatal(err)
			}
			_, err := os.Stat(filepath.Join(dir, "io.containerd.content.v1.content", "blobs"))
			if (err == nil) != tc.keeps {
				t.Fatalf("%s: content: %v", tc.reason, err)
			}
			if !tc.keeps {
				return
			}
			if diff := cmp.Diff([]string{"content", "images", "content/blob"}, kept(t, dir)); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", tc.reason, diff)
			}
			for _, folder := range containerFolders {
				if _, err := os.Stat(filepath.Join(dir, folder)); !os.IsNotExist(err) {
					t.Errorf("%s is still there", folder)
				}
			}
		})
	}
}
