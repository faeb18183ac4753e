package repository_test

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lockstep.dev/lockstep/test/reporoot"
)

var (
	codeBlock    = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	codeSpan     = regexp.MustCompile("`[^`\n]*`")
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading      = regexp.MustCompile(`(?m)^#+ (.*)$`)
	anchorTag    = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
	linkText     = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	notInSlug    = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	// documentPath is a document that code, a script or a page names in plain text.
	documentPath = regexp.MustCompile(`\bdocs/[\w/.-]+\.md\b`)
)

// slug returns the anchor that GitHub and GitLab give a heading.
func slug(title string) string {
	title = linkText.ReplaceAllString(title, "$1")
	return strings.ReplaceAll(notInSlug.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), ""), " ", "-")
}

// anchorsOf returns the anchors of a Markdown document; headings with the same title are not told apart.
func anchorsOf(t *testing.T, path string) map[string]bool {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	anchors := map[string]bool{}
	for _, found := range heading.FindAllStringSubmatch(codeBlock.ReplaceAllString(string(content), ""), -1) {
		anchors[slug(found[1])] = true
	}
	for _, found := range anchorTag.FindAllStringSubmatch(string(content), -1) {
		anchors[found[1]] = true
	}
	return anchors
}

// TestLinksOfDocuments: links between pages lead to files and headings that exist. Addresses of the web are not asked.
func TestLinksOfDocuments(t *testing.T) {
	for _, path := range findFiles(t, ".md") {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		prose := codeSpan.ReplaceAllString(codeBlock.ReplaceAllString(string(content), ""), "")
		for _, found := range markdownLink.FindAllStringSubmatch(prose, -1) {
			link, err := url.Parse(found[1])
			if err != nil {
				t.Errorf("%s: the link %s cannot be read: %v", path, found[1], err)
				continue
			}
			if link.Scheme != "" {
				continue
			}
			target := path
			if link.Path != "" {
				target = filepath.Join(filepath.Dir(path), link.Path)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: the link %s leads to no file: name today's, or remove the link", path, found[1])
				continue
			}
			if link.Fragment != "" && strings.HasSuffix(target, ".md") && !anchorsOf(t, target)[link.Fragment] {
				t.Errorf("%s: the link %s leads to no heading of its page", path, found[1])
			}
		}
	}
}

// TestNamedDocuments: a page that code or a script names in plain text exists.
func TestNamedDocuments(t *testing.T) {
	root, err := reporoot.Find()
	if err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{".go", ".py", ".sh", ".yml", "Makefile"} {
		for _, path := range findFiles(t, suffix) {
			if filepath.Base(filepath.Dir(path)) == "habits" { // whose tests make pages up
				continue
			}
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range documentPath.FindAllString(string(content), -1) {
				if _, err := os.Stat(filepath.Join(root, name)); err != nil {
					t.Errorf("%s names %s, which does not exist: name today's page", path, name)
				}
			}
		}
	}
}
