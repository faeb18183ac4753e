package state

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/test/cluster/internal/process"
)

func TestRecordRoundTrip(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	if got, err := Read(dir); err != nil || got != nil {
		t.Fatalf("Read of nothing = %v, %v, want nil, nil", got, err)
	}
	want := Record{Stage: Running, Boot: "b", Bin: "/bin", Nodes: []Node{{Name: "node0", Init: process.Identity{PID: 7, Start: 9}}}}
	if err := want.Write(dir); err != nil {
		t.Fatal(err)
	}
	got, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if err := errors.Join(Remove(dir), Remove(dir)); err != nil {
		t.Errorf("removing twice: %v", err)
	}
}

func TestBrokenRecordIsAnError(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, recordFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); err == nil {
		t.Error("a broken record was read without an error")
	}
}

func TestWriteFileLeavesNoTemporaryFile(t *testing.T) {
	dir := t.TempDir()
	for _, content := range []string{"one", "two"} {
		if err := WriteFile(filepath.Join(dir, "f"), []byte(content), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Errorf("%d files, want 1: %v", len(entries), entries)
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := Acquire(path, "/a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Acquire(path, "/a"); !errors.As(err, new(BusyError)) {
		t.Errorf("a second command got %v, want BusyError", err)
	}
	if err := errors.Join(first.Own("/a"), first.Release()); err != nil {
		t.Fatal(err)
	}
	if _, err := Acquire(path, "/b"); !errors.As(err, new(ForeignError)) {
		t.Errorf("another state folder got %v, want ForeignError", err)
	}
	again, err := Acquire(path, "/a")
	if err != nil {
		t.Fatalf("the owner after a release: %v", err)
	}
	if err := again.Disown(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the lock file is still there: %v", err)
	}
	other, err := Acquire(path, "/b")
	if err != nil {
		t.Fatalf("another state folder after everything was cleaned up: %v", err)
	}
	if err := other.Release(); err != nil {
		t.Fatal(err)
	}
}
