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
	browser, page := browserOf(t), largePage(t)
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

// TestBrowserFits: on a telephone as on a desk, light and dark, nothing of the unfolded page is wider than its window but what scrolls by
// itself, and every text has the contrast that WCAG asks for, 4.5 to 1.
func TestBrowserFits(t *testing.T) {
	browser, page := browserOf(t), largePage(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.URL.Path == "/" {
			_, _ = w.Write([]byte(measure))
			return
		}
		_, _ = w.Write([]byte(page))
	}))
	defer server.Close()
	for theme, flag := range map[string]string{"light": "--blink-settings=preferredColorScheme=1", "dark": "--force-dark-mode"} {
		document, _ := visit(t, browser, server.URL+"/", flag)
		if !strings.Contains(document, "<pre>320 "+theme+"\n1100 "+theme+"\n</pre>") {
			_, measured, _ := strings.Cut(document, "<pre>")
			t.Errorf("%s: %s", theme, measured)
		}
	}
}

// measure opens the page in a narrow and in a wide frame and writes what is too wide and what is hard to read.
const measure = `<!doctype html><pre></pre><script>
"use strict";
const luminance = (color) => color.match(/[\d.]+/g).slice(0, 3).map((v) => v / 255)
  .map((v) => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
const ground = (e) => { const own = getComputedStyle(e).backgroundColor; return own.endsWith(", 0)") ? ground(e.parentElement) : own; };
const look = async (width) => {
  const frame = document.body.appendChild(document.createElement("iframe"));
  frame.width = width;
  frame.src = "/review.html";
  await new Promise((loaded) => frame.onload = loaded);
  const page = frame.contentDocument;
  for (const fold of page.querySelectorAll("details")) fold.open = true;
  let found = width + (matchMedia("(prefers-color-scheme: dark)").matches ? " dark" : " light") + "\n";
  if (page.documentElement.scrollWidth > page.documentElement.clientWidth) found += "scrolls sideways\n";
  for (const e of page.querySelectorAll("body *")) {
    if (e.closest(".scroll, .yaml pre, .says, .skip")) continue;
    if (e.getBoundingClientRect().right > page.documentElement.clientWidth + 1) found += "too wide: " + e.outerHTML.slice(0, 90) + "\n";
    if (![...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.data.trim())) continue;
    const [dark, light] = [luminance(getComputedStyle(e).color), luminance(ground(e))].sort((a, b) => a - b);
    if ((light + .05) / (dark + .05) < 4.5) found += "hard to read: " + e.outerHTML.slice(0, 90) + "\n";
  }
  return found;
};
(async () => { document.querySelector("pre").textContent = await look(320) + await look(1100); })();
</script>`

// largePage is the page of the large pull request.
func largePage(t *testing.T) string {
	t.Helper()
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
	return render(t, "html", &reviewed(t, files).Report)
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
func visit(t *testing.T, browser, address string, flags ...string) (document, console string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out, log bytes.Buffer
	flags = append(flags, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--user-data-dir="+t.TempDir(), "--enable-logging=stderr", "--dump-dom", address)
	cmd := exec.CommandContext(ctx, browser, flags...)
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("open %s: %v\n%s", address, err, log.String())
	}
	return out.String(), log.String()
}
