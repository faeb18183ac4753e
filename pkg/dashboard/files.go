package dashboard

import (
	"embed"
	"io/fs"
	"net/http"
	"path"
	"strings"
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
