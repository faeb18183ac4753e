package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lockstep.dev/lockstep/test/guide"
)

var update = flag.Bool("update", false, "write what commands printed into the pages that show them, and fail")

// TestGuide runs the pages that show commands, each from top to bottom in a folder of its own: files are written, commands run in a shell,
// and what they print must be what the page says.
func TestGuide(t *testing.T) {
	pages := map[string]struct {
		bundle   bool
		commands int
	}{
		"README.md":                   {bundle: true, commands: 2},
		"docs/guide/compiler.md":      {bundle: true, commands: 14},
		"docs/guide/first-steps.md":   {commands: 19},
		"docs/guide/specs.md":         {bundle: true, commands: 3},
		"docs/guide/openshift-ai.md":  {bundle: true, commands: 3},
		"docs/guide/credentials.md":   {bundle: true, commands: 4},
		"docs/guide/queueing.md":      {bundle: true, commands: 5},
		"docs/guide/patches.md":       {bundle: true, commands: 6},
		"docs/guide/jsonnet.md":       {bundle: true, commands: 4},
		"docs/guide/gitops.md":        {bundle: true, commands: 4},
		"docs/guide/pull-requests.md": {bundle: true, commands: 17},
	}
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, variable := range gitEnvironment {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	for page, want := range pages {
		t.Run(page, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if want.bundle {
				copyBundle(t, repository)
			}
			shown := guide.Page{Path: filepath.Join(repository, page), Run: shell, Settle: settled, Update: *update}
			if commands := shown.Check(t); commands < want.commands {
				t.Errorf("%d commands were run, want %d or more", commands, want.commands)
			}
		})
	}
}

// copyBundle copies the specs of this repository into the working folder, because pages change them, and the scripts of
// pipelines.
func copyBundle(t *testing.T, repository string) {
	if err := os.CopyFS("ci", os.DirFS(filepath.Join(repository, "docs/ci"))); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"catalog", "tenants", "overlays", "charts"} {
		if err := os.CopyFS(folder, os.DirFS(filepath.Join(repository, folder))); err != nil {
			t.Fatal(err)
		}
	}
}

// shell runs a command line in the working folder.
func shell(command string) string {
	printed, _ := exec.Command("sh", "-c", command).CombinedOutput()
	return string(printed)
}

// hashes are names of commits, which differ with every change of the specs and with the time.
var hashes = regexp.MustCompile(`\b[0-9a-f]{12}(?:[0-9a-f]{28})?\b`)

// settled leaves out of what is printed what is never the same twice.
func settled(text string) string { return hashes.ReplaceAllString(text, "HASH") }

// TestReadme: the tenant on the first screen is the one of this repository.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	tenant, err := os.ReadFile("../../tenants/team-vision.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "```yaml\n"+string(tenant)+"```\n") {
		t.Errorf("the README has another tenant than\n%s", tenant)
	}
}
