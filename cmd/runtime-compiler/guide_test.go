package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what commands printed into the pages that show them, and fail")

var (
	blocks = regexp.MustCompile("(?s)```(?:console|yaml|jsonnet)\n.*?```")
	// A block whose first line is a comment with a path is a file.
	file = regexp.MustCompile(`^(?:#|//) (\S+/\S+\.(?:yaml|jsonnet|libsonnet))\n`)
	// A line of its own: any number of lines that the page leaves out.
	leftOut = "…"
)

// TestGuide runs the pages that show commands, each from top to bottom in a folder of its own: files are written, commands run in a shell,
// and what they print must be what the page says.
func TestGuide(t *testing.T) {
	pages := map[string]struct {
		bundle   bool
		commands int
	}{
		"README.md":                   {bundle: true, commands: 6},
		"docs/guide/first-steps.md":   {commands: 19},
		"docs/guide/specs.md":         {bundle: true, commands: 3},
		"docs/guide/queueing.md":      {bundle: true, commands: 5},
		"docs/guide/patches.md":       {bundle: true, commands: 6},
		"docs/guide/jsonnet.md":       {bundle: true, commands: 4},
		"docs/guide/gitops.md":        {bundle: true, commands: 4},
		"docs/guide/pull-requests.md": {bundle: true, commands: 20},
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
			if commands := runPage(t, filepath.Join(repository, page)); commands < want.commands {
				t.Errorf("%d commands were run, want %d or more", commands, want.commands)
			}
		})
	}
}

// copyBundle copies the specs of this repository into the working folder, because pages change them.
func copyBundle(t *testing.T, repository string) {
	for _, folder := range []string{"catalog", "tenants", "overlays", "charts"} {
		if err := os.CopyFS(folder, os.DirFS(filepath.Join(repository, folder))); err != nil {
			t.Fatal(err)
		}
	}
}

// runPage runs a page in the working folder and returns how many commands it has.
func runPage(t *testing.T, page string) int {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	right := blocks.ReplaceAllStringFunc(string(text), func(block string) string {
		language, body, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(block, "```"), "```"), "\n")
		if language != "console" {
			writeFile(t, body)
			return block
		}
		steps := strings.Split("\n"+body, "\n$ ")[1:]
		for i, step := range steps {
			steps[i] = "$ " + runStep(t, strings.TrimSuffix(step, "\n")+"\n")
		}
		commands += len(steps)
		return "```" + language + "\n" + strings.Join(steps, "") + "```"
	})
	if *update && right != string(text) {
		if err := os.WriteFile(page, []byte(right), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return commands
}

func writeFile(t *testing.T, text string) {
	name := file.FindStringSubmatch(text)
	if name == nil {
		return
	}
	if err := os.MkdirAll(filepath.Dir(name[1]), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name[1], []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// runStep runs a command, which may go on over several lines, and returns it with what it printed.
func runStep(t *testing.T, step string) string {
	command, want, _ := strings.Cut(strings.ReplaceAll(step, "\\\n", "\x00"), "\n")
	command = strings.ReplaceAll(command, "\x00", "\\\n")
	// Exit codes are the business of scripts; a page shows words.
	printed, _ := exec.Command("sh", "-c", command).CombinedOutput()
	if got := string(printed); !same(got, want) {
		t.Errorf("%s\nprinted:\n%s\nthe page says:\n%s\n`go test -update` accepts it", command, got, want)
		return command + "\n" + got
	}
	return step
}

// hashes are names of commits, which differ with every change of the specs and with the time.
var hashes = regexp.MustCompile(`\b[0-9a-f]{12}(?:[0-9a-f]{28})?\b`)

// same compares what was printed with what a page says, which may leave out lines.
func same(got, want string) bool {
	got, want = hashes.ReplaceAllString(got, "HASH"), hashes.ReplaceAllString(want, "HASH")
	parts := strings.Split("\n"+want, "\n"+leftOut+"\n")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(strings.TrimPrefix(part, "\n"))
	}
	return regexp.MustCompile(`^` + strings.Join(parts, `(?s:(?:.*\n)?)`) + `$`).MatchString(got)
}
