package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/test/images/internal/cli"
)

func TestExitCodesAndMessages(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	checkout := checkout(t)
	cases := map[string]struct {
		reason string
		args   []string
		code   int
		stdout string
		stderr string
	}{
		"Help":           {reason: "help has examples", args: []string{"--help"}, stdout: "images build openmpi4 mpich"},
		"NoCommand":      {reason: "no command shows the help", stdout: "images build"},
		"UnknownCommand": {reason: "usage", args: []string{"biuld"}, code: 2, stderr: `unknown command "biuld"`},
		"UnknownFlag":    {reason: "usage", args: []string{"build", "--fast"}, code: 2, stderr: "--fast"},
		"UnknownImage":   {reason: "usage; says what there is", args: []string{"build", "mvapich"}, code: 2, stderr: `no image is called "mvapich": choose from agent`},
		"UnknownOutput":  {reason: "usage", args: []string{"list", "-o", "xml"}, code: 2, stderr: `output "xml": want text or json`},
		"ListArguments":  {reason: "usage", args: []string{"list", "x"}, code: 2, stderr: "list takes no arguments"},
		"NoPackages":     {reason: "usage", args: []string{"root-files", "/there"}, code: 2, stderr: "want a folder and at least one package"},
		"NoCheckout":     {reason: "usage", args: []string{"list", "--repository", t.TempDir()}, code: 2, stderr: "no checkout of lockstep.dev/lockstep"},
		"List":           {reason: "name, reference, contents", args: []string{"list"}, stdout: "agent  lockstep.test/agent:dev  Go program ./cmd/agent\n"},
		"BuildFails":     {reason: "failure; nothing on stdout", args: []string{"build"}, code: 1, stderr: "image agent: go build ./cmd/agent"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			args := tc.args
			if name != "NoCheckout" {
				args = append(args, "--repository", checkout)
			}
			var stdout, stderr bytes.Buffer
			code := cli.Run(t.Context(), args, &stdout, &stderr)
			if code != tc.code || !strings.Contains(stdout.String(), tc.stdout) || !strings.Contains(stderr.String(), tc.stderr) {
				t.Errorf("%s: exit code %d, want %d\nstdout: %s\nstderr: %s", tc.reason, code, tc.code, &stdout, &stderr)
			}
			if tc.code != 0 && stdout.Len() > 0 {
				t.Errorf("%s: a failure prints results: %s", tc.reason, &stdout)
			}
		})
	}
}

func TestBuildPrintsOneLinePerImageOrJSON(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	checkout := checkout(t)
	write(t, filepath.Join(checkout, "cmd/agent/main.go"), "package main\n\nfunc main() {}\n")
	t.Chdir(filepath.Join(checkout, "test", "images")) // the checkout is found from anywhere inside

	var stdout, stderr bytes.Buffer
	if code := cli.Run(t.Context(), []string{"build"}, &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	text := strings.Fields(stdout.String())
	if len(text) != 4 || text[0] != "agent" || text[1] != "lockstep.test/agent:dev" {
		t.Fatalf("printed %q, want NAME REFERENCE ARCHIVE DIGEST", stdout.String())
	}
	if !strings.HasPrefix(text[2], filepath.Join(cache, "lockstep", "images", "agent-")) || filepath.Base(text[2]) != "image.tar" {
		t.Errorf("archive lies at %s", text[2])
	}
	if !strings.Contains(stderr.String(), "s] agent: go build ./cmd/agent\n") || !strings.Contains(stderr.String(), "s] agent: done\n") {
		t.Errorf("progress reads %s", &stderr)
	}

	stdout.Reset()
	if code := cli.Run(t.Context(), []string{"build", "-o", "json", "agent"}, &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	var got []map[string]any
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		t.Fatalf("%v in %s", err, &stdout)
	}
	info, err := os.Stat(text[2])
	if err != nil {
		t.Fatal(err)
	}
	want := []map[string]any{{
		"name": text[0], "reference": text[1], "archive": text[2], "digest": text[3],
		"bytes": float64(info.Size()), "cached": true,
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}

// checkout is a root module with one image, whose program does not compile.
func checkout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module lockstep.dev/lockstep\n\ngo 1.26\n")
	write(t, filepath.Join(dir, "cmd/agent/main.go"), "nonsense")
	write(t, filepath.Join(dir, "test/images/go.mod"), "module lockstep.dev/lockstep/test/images\n")
	write(t, filepath.Join(dir, "test/images/agent/image.yaml"), "reference: lockstep.test/agent:dev\ngo: {package: ./cmd/agent, path: /agent}\n")
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
