package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/compile/emit/disk"
)

// TestBusy: a build into a folder to which another build writes fails with exit code 1 and says so.
func TestBusy(t *testing.T) {
	out := filepath.Join(t.TempDir(), "dist")
	dir, err := disk.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	var stdout, stderr bytes.Buffer
	code := run([]string{"build", "--root", "../..", "--out", out}, &stdout, &stderr)
	if want := "another build is writing to `" + out + "`"; code != cli.ExitFailure || !strings.Contains(stderr.String(), want) {
		t.Errorf("exit code %d, want %d; stderr %q, want %q in it", code, cli.ExitFailure, stderr.String(), want)
	}
}
