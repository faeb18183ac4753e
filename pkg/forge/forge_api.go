package forge

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// forgeAPI is what differs between forges.
type forgeAPI struct {
	// base is the address that everything is below.
	base *url.URL
	// comments is the collection of a pull request; item is followed by the number of a comment.
	comments, item string
	// update is the method that replaces a comment.
	update string
	// limit is the longest comment, in characters.
	limit     int
	authorize func(*http.Request, string)
	// viewer is where GraphQL says who the owner of a token is: applications may not ask REST. It is "" for a forge without such tokens.
	graphQL string
}

// The longest comments: https://github.com/orgs/community/discussions/27190, https://docs.gitlab.com/administration/instance_limits.
const (
	githubLimit = 65_536
	gitlabLimit = 1_000_000
)

func (c *Client) newAPI() (*forgeAPI, error) {
	t := c.Target
	base, err := url.Parse(t.API)
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return nil, fmt.Errorf("`%s` is not an address of an API", t.API)
	}
	if base.Scheme != "https" && !isLoopback(base.Hostname()) {
		return nil, fmt.Errorf("`%s` is not https: the token would be readable on its way", t.API)
	}
	switch {
	case c.Token == "":
		return nil, errors.New("there is no token")
	case strings.ContainsFunc(c.Token, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return nil, errors.New("the token has a line break, a space or a control character in it, which no token has: `printf %s` writes one without")
	case t.Repository == "":
		return nil, errors.New("the repository is not known")
	case t.Number < 1:
		return nil, errors.New("the number of the pull request is not known")
	}
	number := strconv.Itoa(t.Number)
	switch t.Kind {
	case GitHub:
		repository := "/repos/" + t.Repository + "/issues/"
		return &forgeAPI{base: base, comments: repository + number + "/comments", item: repository + "comments/", update: http.MethodPatch,
			limit: githubLimit, authorize: authorizeGitHub, graphQL: graphQLAddress(base)}, nil
	case GitLab:
		notes := "/projects/" + url.PathEscape(t.Repository) + "/merge_requests/" + number + "/notes"
		return &forgeAPI{base: base, comments: notes, item: notes + "/", update: http.MethodPut, limit: gitlabLimit, authorize: authorizeGitLab}, nil
	}
	return nil, fmt.Errorf("unknown forge `%s`: known are %s and %s", t.Kind, GitHub, GitLab)
}

// graphQLAddress is the address of GraphQL: beside v3 on a server of one's own (https://docs.github.com/enterprise-server/graphql/guides/forming-calls-with-graphql).
func graphQLAddress(base *url.URL) string {
	return strings.TrimSuffix(strings.TrimSuffix(base.String(), "/"), "/v3") + "/graphql"
}

func (a *forgeAPI) commentPath(id int64) string { return a.item + strconv.FormatInt(id, 10) }

func authorizeGitHub(r *http.Request, token string) {
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Accept", "application/vnd.github+json")
	r.Header.Set("X-Github-Api-Version", "2022-11-28")
}

func authorizeGitLab(r *http.Request, token string) { r.Header.Set("Private-Token", token) }

func isLoopback(host string) bool {
	address := net.ParseIP(host)
	return host == "localhost" || address != nil && address.IsLoopback()
}
