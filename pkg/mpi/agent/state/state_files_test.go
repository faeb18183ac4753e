package state

import (
	"os"
	"path/filepath"
	"testing"
)

func TestReplaceFileLeavesNothingBehindWhenItFails(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := ReplaceFile(filepath.Join(dir, "taken"), []byte("x"), 0o644); err == nil {
		t.Error("replaced a folder")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left %v, %v", entries, err)
	}
}
