package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockstep.dev/lockstep/test/guide"
)

// TestMoveMPIJobs runs the page about moving, from top to bottom in a copy of the specs of this repository. Each command is one of
// `kubectl mpi`.
func TestMoveMPIJobs(t *testing.T) {
	page, err := filepath.Abs("../../docs/guide/move-mpijobs.md")
	if err != nil {
		t.Fatal(err)
	}
	repository := filepath.Dir(filepath.Dir(filepath.Dir(page)))
	t.Chdir(t.TempDir())
	for _, folder := range []string{"catalog", "tenants", "overlays"} {
		if err := os.CopyFS(folder, os.DirFS(filepath.Join(repository, folder))); err != nil {
			t.Fatal(err)
		}
	}
	run := func(command string) string {
		ran := converting(t, "", strings.Fields(strings.TrimPrefix(command, "kubectl mpi convert"))...)
		return ran.stdout + ran.stderr
	}
	if commands := (guide.Page{Path: page, Run: run, Update: *update}).Check(t); commands < 3 {
		t.Errorf("%d commands were run", commands)
	}
}
