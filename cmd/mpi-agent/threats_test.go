package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryThreatHasATest keeps docs/agent-threat-model.md honest: the last column of every line of its tables names tests
// that exist.
func TestEveryThreatHasATest(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "agent-threat-model.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests := testSources(t, root)
	names := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`|\"([^\"]+)\"")
	threats := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 3 || strings.HasPrefix(cells[0], "-") || strings.TrimSpace(cells[0]) == "threat" {
			continue
		}
		threats++
		found := names.FindAllStringSubmatch(cells[2], -1)
		if len(found) == 0 {
			t.Errorf("no test is named: %s", cells[0])
		}
		for _, name := range found {
			if name[1] != "" && !strings.Contains(tests, "func "+name[1]+"(") || name[2] != "" && !strings.Contains(tests, `It("`+name[2]+`"`) {
				t.Errorf("%s: there is no test %s%s", strings.TrimSpace(cells[0]), name[1], name[2])
			}
		}
	}
	if threats < 20 {
		t.Errorf("read only %d threats: has the form of the page changed?", threats)
	}
}

func testSources(t *testing.T, root string) string {
	t.Helper()
	var all strings.Builder
	for _, dir := range []string{"pkg/mpi", "pkg/jobs", "pkg/compile/lower", "cmd/mpi-agent", "test/e2e"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			all.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}
