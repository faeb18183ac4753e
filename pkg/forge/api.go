package forge

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
)

// api is what differs between forges.
type api struct {
	// base is the address that everything is below.
	base *url.URL
	// comments is the collection of a pull request; item is followed by the number of a comment.
	comments, item string
	// update is the method that replaces a comment.
	update string
	// limit is the longest comment, in characters.
	limit     int
	authorize func(*http.Request, string)
	// nameless says that a token may be that of an application, which cannot ask for its name.
	nameless bool
}

// The longest comments: https://github.com/orgs/community/discussions/27190, https://docs.gitlab.com/administration/instance_limits.
const (
	githubLimit = 65_536
	gitlabLimit = 1_000_000
)

func (c *Client) api() (*api, error) {
	t := c.Target
	base, err := url.Parse(t.API)
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("`%s` is no address of an API", t.API)
	}
	if base.Scheme != "https" && !isLoopback(base.Hostname()) {
		return nil, fmt.Errorf("`%s` is not https: the token would be readable on its way", t.API)
	}
	switch {
	case c.Token == "":
		return nil, errors.New("there is no token")
	case t.Repository == "":
		return nil, errors.New("the repository is not known")
	case t.Number < 1:
		return nil, errors.New("the number of the pull request is not known")
	}
	number := strconv.Itoa(t.Number)
	switch t.Kind {
	case GitHub:
		repository := "/repos/" + t.Repository + "/issues/"
		return &api{base: base, comments: repository + number + "/comments", item: repository + "comments/", update: http.MethodPatch,
			limit: githubLimit, authorize: authorizeGitHub, nameless: true}, nil
	case GitLab:
		notes := "/projects/" + url.PathEscape(t.Repository) + "/merge_requests/" + number + "/notes"
		return &api{base: base, comments: notes, item: notes + "/", update: http.MethodPut, limit: gitlabLimit, authorize: authorizeGitLab}, nil
	}
	return nil, fmt.Errorf("unknown forge `%s`: known are %s and %s", t.Kind, GitHub, GitLab)
}

func (a *api) one(id int64) string { return a.item + strconv.FormatInt(id, 10) }

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

// note is a comment, in the words of both forges.
type note struct {
	ID   int64  `json:"id"`
	Body string `json:"body"`
	URL  string `json:"html_url"`
	// User is GitHub's author, Author GitLab's.
	User   person `json:"user"`
	Author person `json:"author"`
}

type person struct {
	ID   int64  `json:"id"`
	Type string `json:"type"`
}

// author is the owner of the token. The zero author is an application of GitHub that cannot ask for its name.
type author struct{ id int64 }

func (a author) wrote(n *note) bool {
	if a.id == 0 {
		// Of an application only this much is known; people cannot be one.
		return n.User.Type == "Bot"
	}
	return n.User.ID == a.id || n.Author.ID == a.id
}
