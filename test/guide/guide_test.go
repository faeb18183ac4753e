package guide

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const page = "Say it.\n\n```yaml\n# some/file.yaml\na: 1\n```\n\n```console\n$ cat some/file.yaml\n# some/file.yaml\n…\n$ took \\\n  long\n3s\n```\n"

// failures takes what a check reports.
type failures struct {
	testing.TB
	said []string
}

func (f *failures) Errorf(_ string, args ...any) { f.said = append(f.said, args[0].(string)) }

func TestCheck(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("page.md", []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	var ran []string
	p := Page{Path: "page.md", Settle: func(text string) string { return regexp.MustCompile(`\ds`).ReplaceAllString(text, "TIME") }}
	p.Run = func(command string) string {
		ran = append(ran, command)
		if text, err := os.ReadFile(filepath.Join("some", "file.yaml")); err == nil && strings.HasPrefix(command, "cat") {
			return string(text)
		}
		return "4s\n"
	}
	if commands := p.Check(t); commands != 2 || ran[1] != "took \\\n  long" {
		t.Errorf("%d commands: %q", commands, ran)
	}

	p.Update = true
	p.Run = func(string) string { return "new\n" }
	told := &failures{TB: t}
	p.Check(told)
	if len(told.said) != 1 || strings.Count(told.said[0], "printed:\nnew\n") != 2 {
		t.Errorf("told of other output: %q", told.said)
	}
	if text, err := os.ReadFile("page.md"); err != nil || !strings.Contains(string(text), "$ cat some/file.yaml\nnew\n$ took \\\n  long\nnew\n```") {
		t.Errorf("the page was not mended: %v\n%s", err, text)
	}
}
