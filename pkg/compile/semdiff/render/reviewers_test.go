package render

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// TestGuide: the comments in the guide for reviewers are those that are written. `go test ./pkg/compile/semdiff/render -update` renews them.
func TestGuide(t *testing.T) {
	const name = "../../../../docs/guide/review.md"
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	for _, pull := range []string{"small", "medium", "large"} {
		before, rest, found := strings.Cut(page, "<!-- begin "+pull+" -->\n")
		_, after, ended := strings.Cut(rest, "<!-- end "+pull+" -->\n")
		if !found || !ended {
			t.Fatalf("the guide has no place for the pull request %s", pull)
		}
		page = before + "<!-- begin " + pull + " -->\n" + pullRequest(t, pull) + "<!-- end " + pull + " -->\n" + after
	}
	diff := cmp.Diff(string(data), page)
	if diff == "" {
		return
	}
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(name, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Errorf("%s is stale, -update renews it (-want +got):\n%s", name, diff)
}

// pullRequest is what its author changed, and the comment as a quotation.
func pullRequest(t *testing.T, name string) string {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/pulls/" + name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	var changed, comment strings.Builder
	for _, f := range archive.Files {
		target, isEdit := strings.CutSuffix(f.Name, ".edit")
		switch {
		case f.Name == "out/markdown":
			// The marker is for the pipeline, and headings of the page are others.
			text := strings.ReplaceAll(strings.TrimPrefix(string(f.Data), Marker+"\n"), "\n## ", "\n#### ")
			for _, line := range strings.Split(strings.TrimSpace(strings.Replace(text, "## ", "#### ", 1)), "\n") {
				comment.WriteString(strings.TrimRight("> "+line, " ") + "\n")
			}
		case isEdit:
			changed.WriteString("# " + target + "\n" + string(f.Data))
		case strings.Contains(f.Name, "/") && !strings.HasPrefix(f.Name, "out/"):
			changed.WriteString("# " + f.Name + ", new\n")
			for _, line := range strings.Split(strings.TrimSpace(string(f.Data)), "\n") {
				changed.WriteString("+" + line + "\n")
			}
		}
	}
	return "\n```diff\n" + changed.String() + "```\n\n" + comment.String() + "\n"
}
