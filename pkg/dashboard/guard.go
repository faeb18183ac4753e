package dashboard

import (
	"cmp"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// Guard lets in the browser of one person on their own machine. It keeps out other users of the machine, other
// sites in the same browser, and names that resolve to 127.0.0.1.
type Guard struct {
	// Port of the listener.
	Port string
	// Inner answers who was let in.
	Inner http.Handler
	// First is the path of the page that the key opens, `/` if it is empty.
	First string
	// Opened is called after the key was used, with the address for another browser.
	Opened func(address string)

	site        site
	mu          sync.Mutex
	key, cookie string
}

// NewGuard returns a guard with a fresh key.
func NewGuard(port string, inner http.Handler, opened func(string)) *Guard {
	own := site{scheme: "http", hosts: []string{"127.0.0.1:" + port, "localhost:" + port}}
	return &Guard{Port: port, Inner: inner, Opened: opened, site: own, key: secret(), cookie: secret()}
}

func secret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Address returns the address that lets in a browser, once.
func (g *Guard) Address() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return "http://127.0.0.1:" + g.Port + "/start?key=" + url.QueryEscape(g.key)
}

// ServeHTTP refuses a request, or passes it on.
func (g *Guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case g.site.refuse(w, r):
	case r.URL.Path == "/start" && r.Method == http.MethodGet:
		g.start(w, r)
	case !g.knows(r):
		refuse(w, r, "NoSession", "this browser has no session",
			"Open the address that `kubectl mpi dashboard` printed; each works once.")
	default:
		g.Inner.ServeHTTP(w, r)
	}
}

func (g *Guard) cookieName() string { return "lockstep-" + g.Port }

func (g *Guard) knows(r *http.Request) bool {
	cookie, err := r.Cookie(g.cookieName())
	return err == nil && equal(cookie.Value, g.cookie)
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// refuse answers a request without a session: programs by JSON, people by a page.
func refuse(w http.ResponseWriter, r *http.Request, reason, message, remedy string) {
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		writeError(w, http.StatusUnauthorized, reason, message, remedy)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusUnauthorized)
	writePage(w, "No way in", template.HTML("<h1>No way in</h1><p>"+ //nolint:gosec // escaped
		template.HTMLEscapeString(strings.ToUpper(message[:1])+message[1:])+".</p><p>"+template.HTMLEscapeString(remedy)+"</p>"))
}

// start exchanges the key for a cookie, and makes a new key.
func (g *Guard) start(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	right := equal(r.URL.Query().Get("key"), g.key)
	if right {
		g.key = secret()
	}
	g.mu.Unlock()
	if !right {
		refuse(w, r, "WrongKey", "this address was used before, or is of an earlier start",
			"Open the address that `kubectl mpi dashboard` printed last.")
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: g.cookieName(), Value: g.cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, cmp.Or(g.First, "/"), http.StatusSeeOther)
	g.Opened(g.Address())
}
