package images

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"

	"lockstep.dev/lockstep/test/cluster/internal/state"
)

// mark says who used a kept image store last.
type mark struct {
	// Containerd is the version, because another one may not read the store.
	Containerd string `json:"containerd"`
	// Boot is the boot: containerd does not force every unpacked file to disk,
	// so after a crash of the machine files may be empty. A killed process does
	// no such harm.
	Boot string `json:"boot"`
}

// Prepare makes the kept store in a folder, containerd's root, fit for a new
// node: it keeps images and forgets containers, sandboxes and everything that
// was under way. A store that cannot be trusted is removed. containerd must
// not run.
func Prepare(dir, containerd, boot string) error {
	want := mark{Containerd: containerd, Boot: boot}
	if readMark(dir) == want {
		if forget(dir) == nil {
			return nil
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the image store: %w", err)
	}
	return state.WriteJSON(markFile(dir), want)
}

// markFile lies beside the store and is written after the old one is gone.
func markFile(dir string) string { return filepath.Clean(dir) + ".json" }

func readMark(dir string) mark {
	var m mark
	content, err := os.ReadFile(markFile(dir))
	if err != nil || json.Unmarshal(content, &m) != nil {
		return mark{}
	}
	return m
}

// Folders below containerd's root that describe containers.
var containerFolders = []string{
	"io.containerd.grpc.v1.cri",
	"io.containerd.runtime.v2.task",
	"io.containerd.sandbox.controller.v1.shim",
	"io.containerd.content.v1.content/ingest",
	"tmpmounts",
}

// forget removes containers from containerd's metadata. Their snapshots are
// then garbage, which containerd collects soon after it starts, because images
// and containers are what keeps snapshots alive. Buckets are named in
// github.com/containerd/containerd/v2/core/metadata/buckets.go.
func forget(dir string) error {
	path := filepath.Join(dir, "io.containerd.metadata.v1.bolt", "meta.db")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil // never used
	}
	db, err := bbolt.Open(path, 0o644, &bbolt.Options{Timeout: time.Second})
	if err != nil {
		return fmt.Errorf("open the image store's metadata: %w", err)
	}
	err = errors.Join(db.Update(forgetContainers), db.Close())
	for _, folder := range containerFolders {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, folder)))
	}
	return err
}

func forgetContainers(tx *bbolt.Tx) error {
	root := tx.Bucket([]byte("v1"))
	if root == nil {
		return errors.New("the image store's metadata has an unknown form")
	}
	return root.ForEachBucket(func(namespace []byte) error {
		bucket := root.Bucket(namespace)
		for _, kind := range []string{"containers", "sandboxes", "leases"} {
			if err := drop(bucket, kind); err != nil {
				return err
			}
		}
		if content := bucket.Bucket([]byte("content")); content != nil {
			return drop(content, "ingests")
		}
		return nil
	})
}

func drop(parent *bbolt.Bucket, name string) error {
	if parent.Bucket([]byte(name)) == nil {
		return nil
	}
	return parent.DeleteBucket([]byte(name))
}
