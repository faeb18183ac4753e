package forge_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/internal/fakeforge"
	"lockstep.dev/lockstep/pkg/forge"
)

const marker = "<!-- marker -->"

// bot, app, person and other are who tokens of the fake forge belong to.
const bot, app, person, other = 41898282, 49699333, 7, 8

func client(t *testing.T, f *fakeforge.Forge, kind forge.Kind, token string) (*forge.Client, *[]time.Duration) {
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	var slept []time.Duration
	return &forge.Client{
		Target: forge.Target{Kind: kind, API: server.URL + "/" + string(kind), Repository: fakeforge.Repository, Number: fakeforge.Number},
		Token:  token,
		Sleep:  func(_ context.Context, d time.Duration) error { slept = append(slept, d); return nil },
	}, &slept
}

func bodies(f *fakeforge.Forge) []string {
	var all []string
	for _, c := range f.Comments() {
		all = append(all, fmt.Sprintf("%d: %s", c.Author, c.Body))
	}
	return all
}

func TestComment(t *testing.T) {
	cases := map[string]struct {
		reason string
		token  string
		before []fakeforge.Comment
		action forge.Action
		want   []string
	}{
		"first": {"nobody commented before", "person-token", nil, forge.Created, []string{"7: <!-- marker --> new"}},
		"second": {"our own comment is replaced, wherever it is in the list", "person-token",
			[]fakeforge.Comment{{Author: other, Body: "a"}, {Author: other, Body: "b"}, {Author: other, Body: "c"}, {Author: person, Body: marker + " old"}, {Author: other, Body: "d"}},
			forge.Updated, []string{"8: a", "8: b", "8: c", "7: <!-- marker --> new", "8: d"}},
		"same": {"what is right is left alone; forges change ends of lines", "person-token",
			[]fakeforge.Comment{{Author: person, Body: marker + " new\r\n"}}, forge.Unchanged, []string{"7: <!-- marker --> new\r\n"}},
		"forged": {"a comment of somebody else with our marker is not ours: its author could change it after us", "person-token",
			[]fakeforge.Comment{{Author: other, Body: marker + " all is well"}}, forge.Created, []string{"8: <!-- marker --> all is well", "7: <!-- marker --> new"}},
		"twice": {"two runs at one time wrote one each", "person-token",
			[]fakeforge.Comment{{Author: person, Body: marker + " one"}, {Author: other, Body: "a"}, {Author: person, Body: marker + " two"}},
			forge.Updated, []string{"7: <!-- marker --> new", "8: a"}},
		"quoted": {"the marker in the middle of an answer is not a report", "person-token",
			[]fakeforge.Comment{{Author: person, Body: "> " + marker}}, forge.Created, []string{"7: > <!-- marker -->", "7: <!-- marker --> new"}},
	}
	for name, c := range cases {
		for _, kind := range forge.Kinds() {
			t.Run(string(kind)+"/"+name, func(t *testing.T) {
				f := &fakeforge.Forge{}
				for _, comment := range c.before {
					f.AddComment(comment.Author, comment.Body)
				}
				client, _ := client(t, f, kind, c.token)
				posted, err := client.Comment(t.Context(), marker, marker+" new")
				if err != nil {
					t.Fatal(err)
				}
				if posted.Action != c.action || !strings.HasPrefix(posted.URL, "https://forge.example.com/") {
					t.Errorf("%s: got %+v, want %s with an address", c.reason, posted, c.action)
				}
				if diff := cmp.Diff(c.want, bodies(f)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", c.reason, diff)
				}
			})
		}
	}
}

// TestApplication: an application of GitHub, such as that of Actions, may not ask for its name where people do. Its own comment is kept as
// theirs, whether GraphQL names it or not; those of people and of other applications are left alone.
func TestApplication(t *testing.T) {
	unnamed := func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/graphql") {
			return false
		}
		status(http.StatusForbidden)(w)
		return true
	}
	cases := map[string]struct {
		reason  string
		trouble func(http.ResponseWriter, *http.Request) bool
		before  []fakeforge.Comment
		action  forge.Action
		want    []string
	}{
		"first":          {"others commented", nil, []fakeforge.Comment{{Author: app, Body: marker + " theirs"}}, forge.Created, []string{"49699333: <!-- marker --> theirs", "41898282: <!-- marker --> new"}},
		"second":         {"our comment is updated in its place", nil, []fakeforge.Comment{{Author: bot, Body: marker + " old"}, {Author: app, Body: marker + " theirs"}}, forge.Updated, []string{"41898282: <!-- marker --> new", "49699333: <!-- marker --> theirs"}},
		"same":           {"nothing is written", nil, []fakeforge.Comment{{Author: app, Body: marker + " new"}, {Author: bot, Body: marker + " new"}}, forge.Unchanged, []string{"49699333: <!-- marker --> new", "41898282: <!-- marker --> new"}},
		"unnamed, first": {"nobody names us", unnamed, []fakeforge.Comment{{Author: app, Body: marker + " theirs"}}, forge.Created, []string{"49699333: <!-- marker --> theirs", "41898282: <!-- marker --> new"}},
		"unnamed, second": {"who wrote the new comment wrote the old one", unnamed,
			[]fakeforge.Comment{{Author: bot, Body: marker + " old"}, {Author: app, Body: marker + " theirs"}, {Author: person, Body: marker + " all is well"}},
			forge.Updated, []string{"49699333: <!-- marker --> theirs", "7: <!-- marker --> all is well", "41898282: <!-- marker --> new"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := &fakeforge.Forge{Trouble: c.trouble}
			for _, comment := range c.before {
				f.AddComment(comment.Author, comment.Body)
			}
			client, _ := client(t, f, forge.GitHub, "bot-token")
			posted, err := client.Comment(t.Context(), marker, marker+" new")
			if err != nil || posted.Action != c.action {
				t.Errorf("%s: got %+v, %v, want %s", c.reason, posted, err, c.action)
			}
			if diff := cmp.Diff(c.want, bodies(f)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestRefused: what the forge says about a refusal is told, in words that no terminal obeys and without the token.
func TestRefused(t *testing.T) {
	cases := map[string]struct{ answer, want string }{
		"GitHub's reason": {`{"message": "Validation Failed", "errors": [{"resource": "IssueComment", "message": "Body cannot be blank"}]}`, "the forge answered 422 Unprocessable Entity: Validation Failed: Body cannot be blank"},
		"only a code":     {`{"message": "Validation Failed", "errors": [{"code": "locked", "field": "data"}]}`, "Validation Failed: code locked, field data"},
		"a list of texts": {`{"message": "Validation Failed", "errors": ["one", "two"]}`, "Validation Failed: one: two"},
		"GitLab's fields": {`{"message": {"note": ["is too long", "is rude"]}}`, "422 Unprocessable Entity: note is too long, is rude"},
		"GitLab's error":  {`{"error": "body is missing"}`, "422 Unprocessable Entity: body is missing"},
		"colours":         {`{"message": "\u001b[31mred\u001b]0;title\u0007\nnext\u202e"}`, "Entity: [31mred ]0;title next"},
		"the token":       {`{"message": "no person-token here"}`, "Entity: no *** here"},
		"a flood":         {`{"message": "` + strings.Repeat("x", 5000) + `"}`, strings.Repeat("x", 500) + "…"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := &fakeforge.Forge{Trouble: times(99, http.MethodPost, func(w http.ResponseWriter) {
				w.WriteHeader(http.StatusUnprocessableEntity)
				fmt.Fprint(w, c.answer)
			})}
			client, _ := client(t, f, forge.GitLab, "person-token")
			_, err := client.Comment(t.Context(), marker, marker+" new")
			if err == nil || !strings.HasSuffix(err.Error(), c.want) {
				t.Errorf("got %q, want %q at its end", err, c.want)
			}
		})
	}
}

// TestFiveAttempts: something is asked five times, and whoever waits hears why each time.
func TestFiveAttempts(t *testing.T) {
	f := &fakeforge.Forge{Trouble: times(99, http.MethodGet, status(503))}
	client, slept := client(t, f, forge.GitHub, "person-token")
	var told []string
	client.Waiting = func(reason error, d time.Duration) { told = append(told, fmt.Sprint(reason, " ", d)) }
	_, err := client.Comment(t.Context(), marker, marker)
	if err == nil || !strings.Contains(err.Error(), "gave up after 5 attempts") || len(f.Requests) != 5 || len(*slept) != 4 {
		t.Errorf("got %v after %d requests", err, len(f.Requests))
	}
	if len(told) != 4 || told[0] != "the forge answered 503 Service Unavailable: said so 1s" {
		t.Errorf("told %q", told)
	}
}

// TestSilent: a forge that does not answer is not waited for without end, nor without a word.
func TestSilent(t *testing.T) {
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer silent.Close()
	told := 0
	client := forge.Client{
		Target: forge.Target{Kind: forge.GitHub, API: silent.URL, Repository: fakeforge.Repository, Number: fakeforge.Number},
		Token:  "person-token", Timeout: time.Millisecond,
		Sleep:   func(context.Context, time.Duration) error { return nil },
		Waiting: func(error, time.Duration) { told++ },
	}
	_, err := client.Comment(t.Context(), marker, marker)
	if err == nil || !strings.HasSuffix(err.Error(), "gave up after 5 attempts: the forge gave no answer within 1ms") || told != 4 {
		t.Errorf("got %v, and was told %d times", err, told)
	}
}

// TestHopeless: what no second attempt can mend is told at once.
func TestHopeless(t *testing.T) {
	secure := httptest.NewTLSServer(&fakeforge.Forge{})
	defer secure.Close()
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	cases := map[string]struct {
		token, api string
		failed     error
		want       string
	}{
		"a line break":        {"person-token\n", "https://forge.example.com", nil, "the token has a line break"},
		"an unknown scheme":   {"person-token", "ftp://127.0.0.1", nil, "`ftp://127.0.0.1` is not an address of an API"},
		"no such host":        {"person-token", "https://forge.example.com", &net.DNSError{Err: "no such host", Name: "forge.example.com", IsNotFound: true}, "no such host"},
		"a wrong certificate": {"person-token", secure.URL, nil, "certificate"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			transport := &http.Transport{}
			if c.failed != nil {
				transport.DialContext = func(context.Context, string, string) (net.Conn, error) { return nil, c.failed }
			}
			client := forge.Client{
				Target: forge.Target{Kind: forge.GitHub, API: c.api, Repository: fakeforge.Repository, Number: fakeforge.Number}, Token: c.token,
				HTTP:  &http.Client{Transport: transport},
				Sleep: func(context.Context, time.Duration) error { return errors.New("it was asked again") },
			}
			if _, err := client.Comment(t.Context(), marker, marker); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// times answers a number of requests of a method with trouble, those for comments.
func times(n int, method string, answer func(w http.ResponseWriter)) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != method || n == 0 || strings.HasSuffix(r.URL.Path, "/graphql") {
			return false
		}
		n--
		answer(w)
		return true
	}
}

func status(code int, header ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		fmt.Fprint(w, `{"message": "said so"}`)
	}
}

func TestRetryAfter(t *testing.T) {
	secondary := func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}`)
	}
	cases := map[string]struct {
		trouble func(http.ResponseWriter, *http.Request) bool
		slept   []time.Duration
		fails   string
	}{
		"too many, with a time":    {times(1, http.MethodPost, status(429, "Retry-After", "17")), []time.Duration{17 * time.Second}, ""},
		"secondary limit":          {times(1, http.MethodPost, secondary), []time.Duration{time.Minute}, ""},
		"broken while reading":     {times(2, http.MethodGet, status(502)), []time.Duration{time.Second, 2 * time.Second}, ""},
		"broken for good":          {times(99, http.MethodGet, status(503)), nil, "503 Service Unavailable"},
		"asks for an hour":         {times(99, http.MethodPost, status(429, "Retry-After", "3600")), nil, "asks to wait for 1h0m0s"},
		"limit that ends":          {times(1, http.MethodGet, status(403, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1")), []time.Duration{time.Second}, ""},
		"broken while it was made": {times(1, http.MethodPost, status(500)), []time.Duration{time.Second}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := &fakeforge.Forge{Trouble: c.trouble}
			client, slept := client(t, f, forge.GitHub, "bot-token")
			_, err := client.Comment(t.Context(), marker, marker+" new")
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("got %v, want %q", err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.slept, *slept); diff != "" {
				t.Errorf("waits (-want +got):\n%s", diff)
			}
			if n := len(f.Comments()); n != 1 {
				t.Errorf("%d comments, want 1", n)
			}
		})
	}
}

// TestLostAnswer: the comment was made, and the answer did not arrive. It is not made again.
func TestLostAnswer(t *testing.T) {
	f := &fakeforge.Forge{}
	lost, made := false, make(chan struct{})
	f.Trouble = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost || lost || strings.HasSuffix(r.URL.Path, "/graphql") {
			return false
		}
		lost = true
		go func() { // when this request is over
			f.AddComment(bot, marker+" new")
			close(made)
		}()
		w.WriteHeader(http.StatusBadGateway)
		return true
	}
	client, _ := client(t, f, forge.GitHub, "bot-token")
	client.Sleep = func(context.Context, time.Duration) error {
		<-made
		return nil
	}
	posted, err := client.Comment(t.Context(), marker, marker+" new")
	if err != nil || posted.Action != forge.Unchanged || len(f.Comments()) != 1 {
		t.Errorf("got %+v, %v and %d comments, want the one that is there", posted, err, len(f.Comments()))
	}
}

func TestRefusals(t *testing.T) {
	cases := map[string]struct {
		change func(*forge.Client)
		body   string
		is     error
		says   string
	}{
		"read only":        {func(c *forge.Client) { c.Token = "read-token" }, marker, forge.ErrForbidden, "Resource not accessible"},
		"wrong token":      {func(c *forge.Client) { c.Token = "hunter2-secret" }, marker, nil, "401 Unauthorized: Bad credentials; the token is wrong or has expired"},
		"no token":         {func(c *forge.Client) { c.Token = "" }, marker, nil, "there is no token"},
		"no repository":    {func(c *forge.Client) { c.Target.Repository = "acme/other" }, marker, nil, "there is no acme/other #12, or the token does not see it"},
		"too long":         {func(*forge.Client) {}, marker + strings.Repeat("ü", 65_536), forge.ErrTooLong, "and github takes 65536"},
		"no marker":        {func(*forge.Client) {}, "text", nil, "does not begin with"},
		"readable on wire": {func(c *forge.Client) { c.Target.API = "http://forge.example.com" }, marker, nil, "is not https"},
		"unknown forge":    {func(c *forge.Client) { c.Target.Kind = "svn" }, marker, nil, "unknown forge `svn`"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := &fakeforge.Forge{}
			client, _ := client(t, f, forge.GitHub, "bot-token")
			c.change(client)
			_, err := client.Comment(t.Context(), marker, c.body)
			if err == nil || !strings.Contains(err.Error(), c.says) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("got %v, want %q", err, c.says)
			}
			if err != nil && client.Token != "" && strings.Contains(err.Error(), client.Token) {
				t.Errorf("the error holds the token: %v", err)
			}
			if n := len(f.Comments()); n != 0 {
				t.Errorf("%d comments, want none", n)
			}
		})
	}
}

// TestElsewhere: neither a page nor a redirection takes the token to another host.
func TestElsewhere(t *testing.T) {
	asked := 0
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer elsewhere.Close()
	for name, trouble := range map[string]func(w http.ResponseWriter){
		"page": func(w http.ResponseWriter) {
			w.Header().Set("Link", "<"+elsewhere.URL+`/x>; rel="next"`)
			fmt.Fprint(w, "[]")
		},
		"redirection": status(http.StatusTemporaryRedirect, "Location", elsewhere.URL),
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeforge.Forge{Trouble: func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.HasSuffix(r.URL.Path, "/notes") {
					return false
				}
				trouble(w)
				return true
			}}
			client, _ := client(t, f, forge.GitLab, "person-token")
			if _, err := client.Comment(t.Context(), marker, marker); err == nil || asked != 0 {
				t.Errorf("got %v, and the other host was asked %d times", err, asked)
			}
		})
	}
}
