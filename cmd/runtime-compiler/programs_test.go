package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/internal/sandbox"
)

// TestLight: runtime-compiler does not link Helm, not even through another package: every run would pay for its start.
func TestLight(t *testing.T) {
	list, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	imports := strings.Fields(string(list))
	if len(imports) < 100 {
		t.Errorf("it imports %d packages", len(imports))
	}
	for _, name := range imports {
		if strings.HasPrefix(name, "helm.sh/helm/") {
			t.Errorf("it links %s, for which every run pays", name)
		}
	}
}

// TestPrograms: the two programs of a release work together where they are in one folder, whatever link starts the first, and the first
// says what to do where the second is not.
func TestPrograms(t *testing.T) {
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(programsForScripts(t))); err != nil {
		t.Fatal(err)
	}
	linked := filepath.Join(t.TempDir(), "compiler")
	if err := os.Symlink(filepath.Join(folder, "runtime-compiler"), linked); err != nil {
		t.Fatal(err)
	}
	// A program of the same name along PATH is not what was installed with it.
	t.Setenv("PATH", programsOf(t, "#!/bin/sh\necho stranger\n"))
	both := func(want int, text string) {
		t.Helper()
		cmd := exec.Command(linked, "diff", "--from", "../..", "--to", "../..")
		printed, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != want || !strings.Contains(string(printed), text) {
			t.Errorf("exit code %d, want %d, and %q in\n%s", cmd.ProcessState.ExitCode(), want, text, printed)
		}
	}
	both(cli.ExitFine, "Nothing changes")
	if err := os.Remove(filepath.Join(folder, sandbox.ChartProgram)); err != nil {
		t.Fatal(err)
	}
	both(cli.ExitFailure, "components need the program runtime-compiler-charts, which is not in "+folder+": install all programs of a release in one folder")
}

// programsOf is a folder with a script under the name of the other program.
func programsOf(t *testing.T, script string) string {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, sandbox.ChartProgram), []byte(script), 0o700); err != nil { //nolint:gosec // it is to be executed
		t.Fatal(err)
	}
	return folder
}
