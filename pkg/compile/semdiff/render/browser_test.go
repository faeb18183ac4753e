package render

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/tools/txtar"
)

// TestBrowser opens the page of the large pull request in a browser: its script runs under its policy, and a link chooses whose changes
// are shown.
func TestBrowser(t *testing.T) {
	browser := browserOf(t)
	archive, err := txtar.ParseFile("testdata/pulls/large.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for _, f := range archive.Files {
		if !strings.HasPrefix(f.Name, "out/") {
			files[f.Name] = &fstest.MapFile{Data: f.Data}
		}
	}
	page := render(t, "html", &reviewed(t, files).Report)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/review.html" && r.URL.Path != "/favicon.ico" {
			t.Errorf("the page loads %s", r.URL)
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(page))
	}))
	defer server.Close()
	for link, want := range map[string]string{
		"#changes": "20 of 20 shown", "#consequence=shrinks-quota": "2 of 20 shown", "#tenant=students": "2 of 20 shown", "#cluster=ocp&severity=warning": "1 of 20 shown",
	} {
		document, console := visit(t, browser, server.URL+"/review.html"+link)
		if found := shownText.FindStringSubmatch(document); found == nil || found[1] != want {
			t.Errorf("%q: %v, want %s", link, found, want)
		}
		if strings.Contains(console, "CONSOLE") {
			t.Errorf("%q: the browser complains: %s", link, console)
		}
	}
}

var shownText = regexp.MustCompile(`<p id="shown" role="status">([^<]*)</p>`)

// browserOf finds a browser, and skips the test loudly where there is none.
func browserOf(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			return found
		}
	}
	t.Skip("SKIPPED: no browser: install chromium, or nobody knows whether the page works")
	return ""
}

// visit returns the document after its script ran, and what the browser says.
func visit(t *testing.T, browser, address string) (document, console string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out, log bytes.Buffer
	cmd := exec.CommandContext(ctx, browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--user-data-dir="+t.TempDir(), "--enable-logging=stderr", "--dump-dom", address)
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("open %s: %v\n%s", address, err, log.String())
	}
	return out.String(), log.String()
}
