package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lockstep.dev/lockstep/internal/apart"
	"lockstep.dev/lockstep/internal/cli"
)

// TestReviewed: the other program is for its commands, and for whatever is asked about them.
func TestReviewed(t *testing.T) {
	for name, c := range map[string]struct {
		reason, args, want string
	}{
		"command":        {"it is what it has", "diff --from HEAD~1", "diff"},
		"help":           {"so is what is said about it", "help publish", "publish"},
		"help of all":    {"the list is here", "help", ""},
		"completion":     {"its flags are there", "__complete drift --", "drift"},
		"short":          {"however the shell shows them", "__completeNoDesc comment --", "comment"},
		"another":        {"all other commands are here", "check diff", ""},
		"help of others": {"with their help", "help build diff", ""},
		"flag first":     {"that is no command line with a command", "--help diff", ""},
		"unknown":        {"what is nearly one is here to guess", "dif", ""},
		"nothing":        {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := reviewed(strings.Fields(c.args)); got != c.want {
				t.Errorf("%s: got %q, want %q", c.reason, got, c.want)
			}
		})
	}
}

// heavy are beginnings of imports that only the other programs may have, because every run pays for what a program links.
var heavy = []string{
	"github.com/go-git/", "oras.land/", "k8s.io/client-go/", "helm.sh/helm/", "lockstep.dev/lockstep/internal/reviewer",
	"lockstep.dev/lockstep/pkg/compile/revision", "lockstep.dev/lockstep/pkg/forge", "lockstep.dev/lockstep/pkg/publish", "lockstep.dev/lockstep/pkg/live",
}

// TestLight: runtime-compiler links nothing that only the commands of other programs need, not even through another package.
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
		for _, begin := range heavy {
			if strings.HasPrefix(name+"/", begin) {
				t.Errorf("it links %s, for which every run pays", name)
			}
		}
	}
}

// TestPrograms: the three programs of a release work together where they are in one folder, whatever link starts the first, and the first
// says what to do where the others are not.
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
	both := func(want int, words ...string) {
		t.Helper()
		cmd := exec.Command(linked, "diff", "--from", "../..", "--to", "../..")
		printed, _ := cmd.CombinedOutput()
		for _, text := range words {
			if cmd.ProcessState.ExitCode() != want || !strings.Contains(string(printed), text) {
				t.Errorf("exit code %d, want %d, and %q in\n%s", cmd.ProcessState.ExitCode(), want, text, printed)
			}
		}
	}
	both(cli.ExitFine, "Nothing changes")
	if err := os.Remove(filepath.Join(folder, apart.ReviewProgram)); err != nil {
		t.Fatal(err)
	}
	both(cli.ExitFailure, "error: `diff` needs the program runtime-compiler-review, which is not in "+folder+": install all programs of a release in one folder\n")
}

// programsOf is a folder with a script under the name of the other program.
func programsOf(t *testing.T, script string) string {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, apart.ReviewProgram), []byte(script), 0o700); err != nil { //nolint:gosec // it is to be executed
		t.Fatal(err)
	}
	return folder
}
