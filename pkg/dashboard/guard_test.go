package dashboard

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// browser is a request with what a browser adds.
type browser struct {
	method, host, path, cookie string
	headers                    map[string]string
}

func (b browser) ask(handler http.Handler) *httptest.ResponseRecorder {
	r := httptest.NewRequest(b.method, b.path, nil)
	r.Host = b.host
	for name, value := range b.headers {
		r.Header.Set(name, value)
	}
	if b.cookie != "" {
		r.Header.Set("Cookie", b.cookie)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

func TestGuardLetsInOneBrowser(t *testing.T) {
	inner := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	var next []string
	g := NewGuard("8765", inner, func(address string) { next = append(next, address) })
	g.First = "/jobs/team/train"
	address := strings.TrimPrefix(g.Address(), "http://127.0.0.1:8765")

	w := browser{method: "GET", host: "127.0.0.1:8765", path: address}.ask(g)
	cookie, _, _ := strings.Cut(w.Header().Get("Set-Cookie"), ";")
	if w.Code != http.StatusSeeOther || !strings.Contains(w.Header().Get("Set-Cookie"), "HttpOnly; SameSite=Strict") {
		t.Fatalf("the key is answered with %d, %v", w.Code, w.Header())
	}
	if first := w.Header().Get("Location"); first != "/jobs/team/train" {
		t.Errorf("the key opens %s", first)
	}
	if w := (browser{method: "GET", host: "127.0.0.1:8765", path: address}).ask(g); w.Code != http.StatusUnauthorized {
		t.Errorf("the key works twice: %d", w.Code)
	}
	if len(next) != 1 || !strings.Contains(next[0], "/start?key=") || strings.HasSuffix(next[0], address) {
		t.Errorf("the address for another browser is %q", next)
	}

	own := browser{method: "GET", host: "127.0.0.1:8765", path: "/api/v1/session", cookie: cookie}
	with := func(change func(*browser)) browser {
		b := own
		b.headers = map[string]string{}
		change(&b)
		return b
	}
	for name, tc := range map[string]struct {
		request browser
		code    int
	}{
		"own":            {own, http.StatusNoContent},
		"own, by name":   {with(func(b *browser) { b.host = "localhost:8765" }), http.StatusNoContent},
		"no cookie":      {with(func(b *browser) { b.cookie = "" }), http.StatusUnauthorized},
		"wrong cookie":   {with(func(b *browser) { b.cookie = "lockstep-8765=guess" }), http.StatusUnauthorized},
		"rebound name":   {with(func(b *browser) { b.host = "evil.example:8765" }), http.StatusMisdirectedRequest},
		"other port":     {with(func(b *browser) { b.host = "127.0.0.1:1" }), http.StatusMisdirectedRequest},
		"other origin":   {with(func(b *browser) { b.headers["Origin"] = "http://evil.example" }), http.StatusForbidden},
		"null origin":    {with(func(b *browser) { b.headers["Origin"] = "null" }), http.StatusForbidden},
		"foreign script": {with(func(b *browser) { b.headers["Sec-Fetch-Site"] = "cross-site" }), http.StatusForbidden},
		"other port's":   {with(func(b *browser) { b.headers["Sec-Fetch-Site"] = "same-site" }), http.StatusForbidden},
		"own origin":     {with(func(b *browser) { b.headers["Origin"] = "http://127.0.0.1:8765" }), http.StatusNoContent},
		"change": {with(func(b *browser) {
			b.method, b.headers[ActionHeader] = "POST", "1"
		}), http.StatusNoContent},
		"foreign form": {with(func(b *browser) {
			b.method, b.headers["Sec-Fetch-Site"], b.headers["Sec-Fetch-Mode"] = "POST", "cross-site", "navigate"
		}), http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			w := tc.request.ask(g)
			if w.Code != tc.code {
				t.Errorf("answered %d %s, want %d", w.Code, w.Body, tc.code)
			}
			if policy := w.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "script-src 'self'") ||
				strings.Contains(policy, "script-src 'self' 'unsafe") {
				t.Errorf("the content policy is %q", policy)
			}
		})
	}
}

func TestFilesThatAreNotThere(t *testing.T) {
	none := func(*http.Request) (User, error) { return User{}, badRequest{"not needed"} }
	s := New(t.Context(), "v0", none, DefaultLimits)
	if w := (browser{method: "GET", host: "x", path: "/assets/none.js"}).ask(s); w.Code == http.StatusOK {
		t.Errorf("answered with %d", w.Code)
	}
	if w := (browser{method: "GET", host: "x", path: "/api/v1/none"}).ask(s); w.Code != http.StatusNotFound ||
		!strings.Contains(w.Body.String(), `"reason":"NotFound"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
