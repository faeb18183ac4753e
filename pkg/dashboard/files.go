package dashboard

import (
	"bytes"
	"embed"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"lockstep.dev/lockstep/docs/failures"
)

// built is the page, as `make page` leaves it here. Without it only the API answers.
//
//go:embed all:page
var built embed.FS

// protect sets the headers that keep other sites, frames and inline scripts out.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "+
		"img-src 'self' data:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "+
		"frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// serveFiles answers with a file of the page, or with the page itself, which reads the path.
func serveFiles(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/api/") {
		writeError(w, http.StatusNotFound, "NotFound", "there is no `"+r.URL.Path+"`", "")
		return
	}
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	page, err := fs.Sub(built, "page")
	if err != nil {
		panic(err) // a constant path
	}
	if info, err := fs.Stat(page, name); name != "" && err == nil && !info.IsDir() {
		if strings.HasPrefix(name, "assets/") {
			w.Header().Set("Cache-Control", "public, max-age=31536000, immutable") // their names have a hash
		}
		http.ServeFileFS(w, r, page, name)
		return
	}
	index, err := fs.ReadFile(page, "index.html")
	switch {
	case strings.HasPrefix(name, "assets/"):
		http.NotFound(w, r)
	case err != nil:
		http.Error(w, "this program has no page in it: run `make page`", http.StatusServiceUnavailable)
	default:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-cache")
		_, _ = w.Write(index)
	}
}

var markdown = goldmark.New(goldmark.WithExtensions(extension.Table))

var docPage = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{{.Title}} – Lockstep</title><style>
:root { color-scheme: light dark }
body { font: 16px/1.6 system-ui, sans-serif; max-width: 48rem; margin: 2rem auto; padding: 0 1rem }
pre { white-space: pre-wrap; overflow-x: auto; padding: .75rem;
  border: 1px solid color-mix(in srgb, currentColor 25%, transparent) }
td, th { text-align: left; padding: .25rem 1rem .25rem 0; vertical-align: top }
</style></head><body><nav><a href="/">Jobs</a></nav><main>{{.Body}}</main></body></html>
`))

// servePages answers with the page of a reason.
func servePages(w http.ResponseWriter, r *http.Request) {
	reason, found := strings.CutPrefix(r.URL.Path, "/docs/failures/")
	text, known := failures.Page(strings.TrimSuffix(reason, ".md"))
	if !found || !known {
		http.NotFound(w, r)
		return
	}
	var body bytes.Buffer
	if err := markdown.Convert([]byte(text), &body); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	html := strings.ReplaceAll(body.String(), "<pre>", `<pre tabindex="0">`) // which the keyboard can scroll
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	writePage(w, reason, template.HTML(html)) //nolint:gosec // ours
}

func writePage(w io.Writer, title string, body template.HTML) {
	_ = docPage.Execute(w, map[string]any{"Title": title, "Body": body}) // a browser that went away needs no answer
}
