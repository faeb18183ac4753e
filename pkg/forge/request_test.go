package forge

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode"
)

func TestNextPage(t *testing.T) {
	cases := map[string]string{
		`<https://a/x?page=2>; rel="next", <https://a/x?page=9>; rel="last"`:                          "https://a/x?page=2",
		`<https://a/x?page=1>; rel="prev", <https://a/x?page=3>; rel="next", <https://a/x>; rel=last`: "https://a/x?page=3",
		`<https://a/x?page=9>; rel="last"`:                                                            "",
		`<https://a/x?page=2>; title="a"; rel=next`:                                                   "https://a/x?page=2",
		``: "",
	}
	for header, want := range cases {
		if got := nextPage(http.Header{"Link": {header}}); got != want {
			t.Errorf("%s: got %q, want %q", header, got, want)
		}
	}
}

// TestViewerOf: GraphQL is beside REST, on GitHub's own host and on servers of others.
func TestViewerOf(t *testing.T) {
	for base, want := range map[string]string{
		"https://api.github.com": "https://api.github.com/graphql", "https://api.github.com/": "https://api.github.com/graphql", "https://git.example.com/api/v3": "https://git.example.com/api/graphql",
	} {
		parsed, err := url.Parse(base)
		if err != nil {
			t.Fatal(err)
		}
		if got := graphQLAddress(parsed); got != want {
			t.Errorf("%s: got %s, want %s", base, got, want)
		}
	}
}

// FuzzPlain: whatever a forge says, a terminal gets one line of text.
func FuzzPlain(f *testing.F) {
	f.Add("\x1b[31mred\x1b]0;title\a\r\n")
	f.Add("\u202e\u0085\u2028\xff")
	f.Fuzz(func(t *testing.T, text string) {
		if got := plainLine(text); strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q is %q", text, got)
		}
	})
}

// FuzzNextPage: whatever a forge answers, the token goes to no other host.
func FuzzNextPage(f *testing.F) {
	f.Add(`<https://a/x?page=2>; rel="next"`)
	f.Add(`<//evil/x>; rel=next`)
	f.Add(`<https://a@evil/x>; rel="next"`)
	c := Client{Target: Target{Kind: GitLab, API: "https://a/api/v4", Repository: "acme/platform", Number: 1}, Token: "secret"}
	a, err := c.newAPI()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, header string) {
		next := nextPage(http.Header{"Link": {header}})
		if next == "" {
			return
		}
		address, err := a.addressOf(next)
		if err != nil {
			return
		}
		request, err := http.NewRequest(http.MethodGet, address, http.NoBody)
		if err == nil && (request.URL.Host != "a" || request.URL.Scheme != "https") {
			t.Errorf("%q leads to %s", header, request.URL)
		}
		if strings.Contains(address, "secret") && !strings.Contains(header, "secret") {
			t.Errorf("%q has the token in %s", header, address)
		}
	})
}
