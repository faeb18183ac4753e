package forge

import (
	"context"
	"errors"
	"net/http"
)

// tokenOwner asks who the token belongs to.
func (c *Client) tokenOwner(ctx context.Context, a *forgeAPI) (author, error) {
	var found person
	_, err := c.askWithRetries(ctx, http.MethodGet, "/user", nil, &found)
	var no *refusedError
	if a.graphQL != "" && errors.As(err, &no) && no.status == http.StatusForbidden {
		return c.tokenOwnerByGraphQL(ctx, a)
	}
	return author{found.ID}, err
}

// tokenOwnerByGraphQL asks which application the token belongs to, as that of GitHub Actions. It is the zero author where nobody says.
func (c *Client) tokenOwnerByGraphQL(ctx context.Context, a *forgeAPI) (author, error) {
	var said struct {
		Data struct {
			Viewer struct {
				ID int64 `json:"databaseId"`
			} `json:"viewer"`
		} `json:"data"`
	}
	if _, err := c.askWithRetries(ctx, http.MethodPost, a.graphQL, map[string]string{"query": "query { viewer { databaseId } }"}, &said); err != nil {
		return author{}, ctx.Err()
	}
	return author{said.Data.Viewer.ID}, nil
}
