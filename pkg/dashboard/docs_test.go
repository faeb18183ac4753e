package dashboard

import (
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strings"
	"testing"

	"lockstep.dev/lockstep/docs"
)

// Every page of docs is served, and so is what its links and pictures lead to.
func TestDocs(t *testing.T) {
	none := func(*http.Request) (User, error) { return User{}, badRequest{"not needed"} }
	s := New(t.Context(), "v0", none, DefaultLimits)
	get := func(path string) (int, string) {
		w := browser{method: "GET", host: "x", path: path}.ask(s)
		return w.Code, w.Body.String()
	}
	seen := map[string]bool{}
	var follow func(from, to string)
	follow = func(from, to string) {
		if seen[to] {
			return
		}
		seen[to] = true
		code, body := get(to)
		if code != http.StatusOK || path.Ext(to) == "" && !strings.Contains(body, "</h") {
			t.Errorf("%s leads to %s, which is answered with %d %.80s", from, to, code, body)
			return
		}
		for _, link := range regexp.MustCompile(`(?:href|src)="([^"#]+)[#"]`).FindAllStringSubmatch(body, -1) {
			switch {
			case strings.HasPrefix(link[1], "/docs/"):
				follow(to, link[1])
			case link[1] != "/" && !strings.HasPrefix(link[1], "https://") && !strings.HasPrefix(link[1], "http://"):
				t.Errorf("%s leads to %s", to, link[1])
			}
		}
	}
	follow("the page", "/docs/")
	pages, err := fs.Glob(docs.Files, "*/*.md")
	if err != nil || len(pages) < 200 {
		t.Fatal(len(pages), err)
	}
	for _, page := range pages {
		if to := "/docs/" + strings.TrimSuffix(page, ".md"); !seen[to] && !strings.HasPrefix(page, "reference/") {
			t.Errorf("no link leads to %s", to)
		}
	}
	for _, to := range []string{"/docs/failures/OOMKilled.md", "/docs/failures", "/docs/alerts/", "/docs"} {
		if code, _ := get(to); code != http.StatusOK && code != http.StatusTemporaryRedirect {
			t.Errorf("%s is answered with %d", to, code)
		}
	}
	for _, to := range []string{"/docs/failures/Unknown", "/docs/failures/../x", "/docs/docs.go", "/docs/none.png"} {
		if code, body := get(to); code == http.StatusOK {
			t.Errorf("%s is answered with %d %.80s", to, code, body)
		}
	}
}
