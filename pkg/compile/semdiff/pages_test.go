package semdiff_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"lockstep.dev/lockstep/pkg/compile/semdiff"
	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
)

// The pages about rules, docs/changes, are made of the rules themselves and of the corpus. `go test ./pkg/compile/semdiff -run TestPages
// -update` writes them.
const pages = "../../../docs/changes"

// TestPages keeps the pages what the rules and the corpus say.
func TestPages(t *testing.T) {
	examples := shownBy(t)
	want := map[string]string{"README.md": index()}
	for _, own := range rule.Rules() {
		want[own.Name+".md"] = page(own, examples)
	}
	got := map[string]string{}
	files, _ := filepath.Glob(pages + "/*.md")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got[filepath.Base(file)] = string(data)
	}
	diff := cmp.Diff(want, got)
	if diff == "" {
		return
	}
	if flag.Lookup("update").Value.String() == "true" {
		write(t, want, got)
	}
	t.Errorf("docs/changes is stale, `go test ./pkg/compile/semdiff -run TestPages -update` renews it (-want +got):\n%s", diff)
}

func write(t *testing.T, want, got map[string]string) {
	t.Helper()
	if err := os.MkdirAll(pages, 0o755); err != nil {
		t.Fatal(err)
	}
	for name := range got {
		if _, wanted := want[name]; !wanted {
			_ = os.Remove(filepath.Join(pages, name))
		}
	}
	for name, text := range want {
		if err := os.WriteFile(filepath.Join(pages, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// index is the first page.
func index() string {
	var b strings.Builder
	b.WriteString("# What a change means\n\n" + generated + `
A review compares what the specs compile to before and after a change: objects, not text. Each value that differs is claimed by exactly
one rule, the first of this list that knows it, and the rule says what the difference does to the cluster and to those who work there.
What no rule knows is ` + "[`unclassified`](unclassified.md)" + `; what means the same is told as ` + "`no-effect`" + `. Nothing that differs is left out.

| rule | what it looks at |
|---|---|
`)
	for _, own := range rule.Rules() {
		fmt.Fprintf(&b, "| [%s](%s.md) | %s |\n", own.Name, own.Name, own.Title)
	}
	b.WriteString("\n## Severities\n\n| severity | when |\n|---|---|\n")
	for _, s := range rule.Severities() {
		fmt.Fprintf(&b, "| %s | %s |\n", s, s.Meaning())
	}
	b.WriteString("\n## Consequences\n\n| consequence | meaning |\n|---|---|\n")
	for _, c := range rule.Consequences() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", c, c.Meaning())
	}
	b.WriteString("\n## Running jobs\n\n| jobs | meaning |\n|---|---|\n")
	for _, j := range rule.JobsImpacts() {
		fmt.Fprintf(&b, "| %s | %s |\n", j, j.Meaning())
	}
	return b.String()
}

const generated = "<!-- Made of package semdiff and its corpus: change these, not this file. -->\n"

// page is the page of a rule.
func page(own *rule.Rule, examples map[string]example) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n%s\n\n## Consequences\n\n| consequence | meaning |\n|---|---|\n", own.Title, generated, wrapped(own.Doc))
	for _, c := range own.Says {
		fmt.Fprintf(&b, "| `%s` | %s |\n", c, c.Meaning())
	}
	b.WriteString("\n## Examples\n")
	seen := map[string]bool{}
	for _, c := range own.Says {
		e, found := examples[own.Name+" "+string(c)]
		if !found || seen[e.name] {
			continue
		}
		seen[e.name] = true
		fmt.Fprintf(&b, "\n%s (`testdata/corpus/%s.txtar`)\n\n```text\n%s\n```\n", e.comment, e.name, e.text)
	}
	return b.String()
}

// wrapped breaks a text into lines.
func wrapped(text string) string {
	var b strings.Builder
	width := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i > 0 && width+len(word) > 130:
			b.WriteString("\n")
			width = 0
		case i > 0:
			b.WriteString(" ")
		}
		b.WriteString(word)
		width += len(word) + 1
	}
	return b.String()
}

// example is an entry of the corpus.
type example struct{ name, comment, text string }

// shownBy finds for each rule and consequence the shortest pull request of the corpus that shows it.
func shownBy(t *testing.T) map[string]example {
	t.Helper()
	files, _ := filepath.Glob("testdata/corpus/*.txtar")
	found := map[string]example{}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, section := range archive.Files {
			if section.Name != "out/report" {
				continue
			}
			name := strings.TrimSuffix(filepath.Base(file), ".txtar")
			collect(found, name, strings.TrimSpace(string(archive.Comment)), string(section.Data))
		}
	}
	return found
}

func collect(found map[string]example, name, comment, report string) {
	blocks := strings.Split(strings.TrimSpace(report), "\n\n")
	for _, block := range blocks[1:] {
		words := strings.Fields(block)
		key := words[2] + " " + words[1]
		if known, taken := found[key]; !taken || len(blocks) < known.blocks() {
			found[key] = example{name, comment, blocks[0] + "\n\n" + block}
			sizes[name] = len(blocks)
		}
	}
}

// sizes is the number of blocks of each pull request.
var sizes = map[string]int{}

func (e example) blocks() int { return sizes[e.name] }

// TestConsequences: each is stated by some rule, and each rule has a page's worth of words.
func TestConsequences(t *testing.T) {
	said := map[rule.Consequence]bool{}
	for _, own := range rule.Rules() {
		if own.Title == "" || len(own.Doc) < 100 || !strings.HasSuffix(own.Doc, ".") || len(own.Says) == 0 {
			t.Errorf("the rule %s is not documented", own.Name)
		}
		for _, c := range own.Says {
			said[c] = true
			if c.Meaning() == "" {
				t.Errorf("the rule %s says %s, which is no consequence", own.Name, c)
			}
		}
	}
	for _, c := range rule.Consequences() {
		if !said[c] {
			t.Errorf("no rule says %s", c)
		}
	}
	if names := slices.Collect(maps.Keys(said)); len(names) != len(rule.Consequences()) {
		t.Errorf("the list of consequences is not closed: %v", names)
	}
}

// TestThreshold: a pipeline fails from a severity on, or on one consequence.
func TestThreshold(t *testing.T) {
	r := semdiff.Report{Entries: []group.Entry{{Severity: rule.Warning, Consequence: rule.ShrinksQuota}}}
	for text, want := range map[string]bool{"": false, "none": false, "info": true, "notice": true, "warning": true, "critical": false, "shrinks-quota": true, "deletes-data": false, "critical,shrinks-quota": true, "critical, deletes-data": false, "critical,notice": true, "waivers,pipelines": false} {
		threshold, err := group.ParseThreshold(text)
		if err != nil || r.Fails(threshold) != want {
			t.Errorf("--fail-on %s: %v, %v, want %v", text, r.Fails(threshold), err, want)
		}
	}
	if _, err := group.ParseThreshold("severe"); err == nil || !strings.Contains(err.Error(), "critical") || !strings.Contains(err.Error(), "opens-network") {
		t.Errorf("the error does not say what is allowed: %v", err)
	}
}
