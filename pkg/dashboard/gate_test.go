package dashboard

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

const host = "jobs.example.com"

// apiServer is a fake API server that knows tokens of the form token-of-NAME, and shows NAME in all that it answers.
type apiServer struct {
	*httptest.Server
	mu   sync.Mutex
	seen map[string]int
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	s := &apiServer{seen: map[string]int{}}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := r.Header.Get("Authorization")
		s.mu.Lock()
		s.seen[token]++
		s.mu.Unlock()
		name, known := strings.CutPrefix(token, "Bearer token-of-")
		w.Header().Set("Content-Type", "application/json")
		switch {
		case !known || name == "stranger":
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Unauthorized","code":401}`)
		case strings.HasSuffix(r.URL.Path, "/selfsubjectreviews"):
			fmt.Fprintf(w, `{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1",
				"status":{"userInfo":{"username":%q}}}`, name)
		case strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews"):
			fmt.Fprintf(w, `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1",
				"status":{"allowed":%t}}`, !strings.HasSuffix(name, "-of-team"))
		case r.URL.Query().Get("watch") != "":
			w.(http.Flusher).Flush() //nolint:forcetypeassert // a test server
			<-r.Context().Done()
		case strings.HasSuffix(name, "-of-team"):
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,
				"message":"User \"%s\" cannot list resource \"%s\" at the cluster scope"}`, name, path.Base(r.URL.Path))
		case strings.HasSuffix(r.URL.Path, "/trainjobs"):
			fmt.Fprintf(w, `{"kind":"TrainJobList","apiVersion":"trainer.kubeflow.org/v1alpha1",
				"metadata":{"resourceVersion":"1"},
				"items":[{"metadata":{"name":"job-of-%s","namespace":"team","uid":%q}}]}`, name, name)
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// gate serves the page for the users of an API server. Its own account has a token that must never be used.
func gate(t *testing.T, s *apiServer, header string, limits Limits) *httptest.Server {
	t.Helper()
	cluster := &rest.Config{
		Host: s.URL, BearerToken: "token-of-the-dashboard", QPS: -1, WarningHandler: rest.NoWarnings{},
		TLSClientConfig: rest.TLSClientConfig{CAData: certificateOf(s.Server)},
	}
	g := Gate{Hosts: []string{host}, Header: header, Cluster: cluster}
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(g.Serve(ctx, "v0", limits))
	t.Cleanup(func() { cancel(); server.CloseClientConnections(); server.Close() })
	return server
}

// ask sends a request as the proxy does, and returns the answer with its first bytes, of a stream the first event.
func ask(t *testing.T, server *httptest.Server, b browser) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), b.method, server.URL+b.path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = b.host
	for name, value := range b.headers {
		r.Header[http.CanonicalHeaderKey(name)] = strings.Split(value, "\n")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	if answer.Header.Get("Content-Type") == "text/event-stream" {
		text := make([]byte, 64<<10)
		n, _ := answer.Body.Read(text)
		return answer, string(text[:n])
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

func get(path, header, value string) browser {
	return browser{method: "GET", host: host, path: path, headers: map[string]string{header: value}}
}

// TestEachRequestHasTheTokenOfItsUser: two users at once see their own jobs, the API server sees their tokens and no
// other, and no answer shows a token.
func TestEachRequestHasTheTokenOfItsUser(t *testing.T) {
	s := newAPIServer(t)
	server := gate(t, s, "x-forwarded-access-token", SharedLimits())
	var all sync.WaitGroup
	for range 20 {
		for _, name := range []string{"jane", "joe"} {
			all.Go(func() {
				for path, want := range map[string]string{
					"/api/v1/session":              `"user":"` + name + `"`,
					"/api/v1/trainjobs?namespace=": "job-of-" + name,
					"/api/v1/trainjobs/stream":     "job-of-" + name,
					"/api/v1/trainjobs/team/none":  `"code":404`,
				} {
					answer, text := ask(t, server, get(path, "X-Forwarded-Access-Token", "token-of-"+name))
					if !strings.Contains(text, want) || strings.Contains(text, "token-of-") {
						t.Errorf("%s of %s is answered with %s", path, name, text)
					}
					for header := range answer.Header {
						if strings.Contains(answer.Header.Get(header), "token-of-") {
							t.Errorf("the header %s has a token", header)
						}
					}
					_ = answer.Body.Close()
				}
			})
		}
	}
	all.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) != 2 || s.seen["Bearer token-of-jane"] == 0 || s.seen["Bearer token-of-joe"] == 0 {
		t.Errorf("the API server was asked with %v", s.seen)
	}
}

// TestGateRefuses: what has no token, is to another name, or comes from another site reaches nothing.
func TestGateRefuses(t *testing.T) {
	s := newAPIServer(t)
	server := gate(t, s, "Authorization", SharedLimits())
	const session = "/api/v1/session"
	with := func(change func(*browser)) browser {
		b := get(session, "Authorization", "Bearer token-of-jane")
		change(&b)
		return b
	}
	header := func(name, value string) browser { return with(func(b *browser) { b.headers[name] = value }) }
	const act = "/api/v1/trainjobs/team/none/actions/suspend"
	for name, tc := range map[string]struct {
		request browser
		code    int
		says    string
	}{
		"known":          {with(func(*browser) {}), http.StatusOK, "jane"},
		"no prefix":      {get(session, "Authorization", "token-of-jane"), http.StatusOK, "jane"},
		"other case":     {get(session, "Authorization", "bearer token-of-jane"), http.StatusOK, "jane"},
		"own origin":     {header("Origin", "https://"+host), http.StatusOK, "jane"},
		"no token":       {get(session, "X-Other", "token-of-jane"), http.StatusUnauthorized, "Log in by the address"},
		"no token, page": {get("/", "X-Other", "x"), http.StatusUnauthorized, "NoToken"},
		"empty token":    {get(session, "Authorization", "Bearer "), http.StatusUnauthorized, "NoToken"},
		"two tokens":     {get(session, "Authorization", "token-of-jane\ntoken-of-joe"), http.StatusUnauthorized, "NoToken"},
		"expired token":  {get(session, "Authorization", "token-of-stranger"), http.StatusUnauthorized, "Log in again"},
		"other name":     {with(func(b *browser) { b.host = "127.0.0.1:8080" }), http.StatusMisdirectedRequest, host},
		"other origin":   {header("Origin", "https://evil.example"), http.StatusForbidden, "WrongOrigin"},
		"plain origin":   {header("Origin", "http://"+host), http.StatusForbidden, "WrongOrigin"},
		"foreign script": {header("Sec-Fetch-Site", "same-site"), http.StatusForbidden, "WrongOrigin"},
		"a link elsewhere": {with(func(b *browser) {
			b.headers["Sec-Fetch-Site"], b.headers["Sec-Fetch-Mode"] = "cross-site", "navigate"
		}), http.StatusOK, "jane"},
		"change, no mark": {
			with(func(b *browser) { b.method, b.path = "POST", act }), http.StatusForbidden, "NoActionHeader",
		},
		"change": {with(func(b *browser) {
			b.method, b.path, b.headers[ActionHeader] = "POST", act, "1"
		}), http.StatusNotFound, "NoKind"},
	} {
		t.Run(name, func(t *testing.T) {
			s.mu.Lock()
			clear(s.seen)
			s.mu.Unlock()
			answer, text := ask(t, server, tc.request) //nolint:bodyclose // by ask
			if answer.StatusCode != tc.code || !strings.Contains(text, tc.says) || strings.Contains(text, "token-of-") {
				t.Errorf("answered %d %s, want %d with %q", answer.StatusCode, text, tc.code, tc.says)
			}
			if policy := answer.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "script-src 'self'") {
				t.Errorf("the content policy is %q", policy)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.seen["Bearer token-of-the-dashboard"]+s.seen[""] > 0 {
				t.Errorf("the API server was asked with %v", s.seen)
			}
		})
	}
}

// TestNoNamespace: a user of a cluster who may not list everywhere has a session, and learns how to choose a namespace.
func TestNoNamespace(t *testing.T) {
	server := gate(t, newAPIServer(t), "Authorization", SharedLimits())
	for path, want := range map[string]string{
		"/api/v1/session":                     `"user":"jane-of-team","namespace":""`,
		"/api/v1/namespaces":                  `{"items":[],"withheld":[{"what":"namespaces"`,
		"/api/v1/trainjobs":                   "?ns=NAME",
		"/api/v1/trainjobs?namespace=":        "?ns=NAME",
		"/api/v1/trainjobs/stream?namespace=": "?ns=NAME",
	} {
		_, text := ask(t, server, get(path, "Authorization", "token-of-jane-of-team")) //nolint:bodyclose // by ask
		if !strings.Contains(text, want) {
			t.Errorf("%s is answered with %s", path, text)
		}
	}
}

// TestStreamsOfOneUser: one user cannot take the streams of others, and all have a bound together.
func TestStreamsOfOneUser(t *testing.T) {
	limits := SharedLimits()
	limits.Streams, limits.UserStreams = 3, 2
	server := gate(t, newAPIServer(t), "Authorization", limits)
	open := func(name string) (io.Closer, int) {
		answer, _ := ask(t, server, get("/api/v1/trainjobs/stream", "Authorization", "token-of-"+name))
		return answer.Body, answer.StatusCode
	}
	var first io.Closer
	for i, step := range []struct {
		name string
		code int
	}{{"jane", 200}, {"jane", 200}, {"jane", 429}, {"joe", 200}, {"joe", 429}} {
		stream, code := open(step.name)
		if code != step.code {
			t.Errorf("stream %d, of %s, is answered with %d, want %d", i, step.name, code, step.code)
		}
		if i == 0 {
			first = stream
		}
	}
	_ = first.Close()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if _, code := open("jane"); code == http.StatusOK {
			return
		}
		if time.Since(began) > 5*time.Second {
			t.Fatal("a closed stream still counts")
		}
	}
}

func certificateOf(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}
