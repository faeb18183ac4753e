package forge

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
)

// listComments returns all comments, the oldest first.
func (c *Client) listComments(ctx context.Context, a *forgeAPI) ([]comment, error) {
	var all []comment
	next := a.comments + "?per_page=100&sort=asc&order_by=created_at"
	for page := 0; next != "" && page < maxPages; page++ {
		var some []comment
		header, err := c.askWithRetries(ctx, http.MethodGet, next, nil, &some)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		next = nextPage(header)
	}
	return all, nil
}

var nextLink = regexp.MustCompile(`<([^>]+)>;[^,]*\brel="?next"?`)

// nextPage is the address of the next page, or "".
func nextPage(header http.Header) string {
	if found := nextLink.FindStringSubmatch(strings.Join(header.Values("Link"), ",")); found != nil {
		return found[1]
	}
	return ""
}

func (c *Client) writeComment(ctx context.Context, method, path, body string) (comment, error) {
	var made comment
	_, err := c.askWithRetries(ctx, method, path, map[string]string{"body": body}, &made)
	return made, err
}

// removeComment removes a comment; one that is gone is removed.
func (c *Client) removeComment(ctx context.Context, path string) error {
	_, err := c.askWithRetries(ctx, http.MethodDelete, path, nil, nil)
	var no *refusedError
	if errors.As(err, &no) && no.status == http.StatusNotFound {
		return nil
	}
	return err
}
