// Package forge keeps one comment on a pull request of GitHub, or on a merge request of GitLab.
//
// The flow is Comment: who am I, which comments are there, which of them is mine; then it is created, updated or left alone. Mine is
// what begins with a marker and was written by the owner of the token: somebody else's comment with the marker is never taken for ours,
// because its author could change it after us. An application of GitHub that nobody names writes a new comment instead, whose author it is, and
// then removes the older ones of this author.
//
// Forges refuse work when they are busy. What may be asked again is asked again, after the time that the forge names, within
// limits; whether a comment arrived before the answer was lost is looked up, so that none is written twice. The token goes to the host of
// the API and nowhere else, and never into an error.
package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

// Kind is a family of forges.
type Kind string

// The kinds.
const (
	GitHub Kind = "github"
	GitLab Kind = "gitlab"
)

// Kinds are all kinds.
func Kinds() []Kind { return []Kind{GitHub, GitLab} }

// Target is where a comment belongs.
type Target struct {
	Kind Kind
	// API is the address of the forge's API: https://api.github.com, https://gitlab.example.com/api/v4.
	API string
	// Repository is owner/name; of GitLab also its number.
	Repository string
	// Number is that of the pull request, or of the merge request.
	Number int
}

// Client writes comments.
type Client struct {
	Target Target
	// Token is sent to the host of the API only.
	Token string
	// HTTP sends requests; nil means one as http.DefaultClient.
	HTTP *http.Client
	// Sleep waits; nil means that time passes.
	Sleep func(ctx context.Context, d time.Duration) error
	// Timeout is how long one answer may take; 0 means 15 seconds.
	Timeout time.Duration
	// Waiting is told why it waits, and for how long; nil tells nobody.
	Waiting func(reason error, d time.Duration)
}

// Check says what is missing or wrong, without asking anybody.
func (c *Client) Check() error {
	_, err := c.newAPI()
	return err
}

// Action is what Comment did.
type Action string

// The actions.
const (
	Created   Action = "created"
	Updated   Action = "updated"
	Unchanged Action = "unchanged"
)

// Posted is the comment as it is afterwards.
type Posted struct {
	Action Action
	// URL leads people to the comment; "" where the forge does not say.
	URL string
}

// The errors that callers tell apart.
var (
	// ErrForbidden says that the token is valid and may not comment there.
	ErrForbidden = errors.New("the token may not comment there")
	// ErrTooLong says that the forge takes no comment of this size.
	ErrTooLong = errors.New("the comment is too long")
)

// Comment makes body the comment that begins with the marker: one, whatever the number of runs.
func (c *Client) Comment(ctx context.Context, marker, body string) (Posted, error) {
	api, err := c.newAPI()
	if err != nil {
		return Posted{}, err
	}
	if !strings.HasPrefix(body, marker) {
		return Posted{}, fmt.Errorf("the comment does not begin with %s: nobody could find it again", marker)
	}
	if n := utf8.RuneCountInString(body); n > api.limit {
		return Posted{}, fmt.Errorf("%w: it has %d characters, and %s takes %d", ErrTooLong, n, c.Target.Kind, api.limit)
	}
	me, err := c.tokenOwner(ctx, api)
	if err != nil {
		return Posted{}, fmt.Errorf("ask who the token belongs to: %w", err)
	}
	for attempt := 0; ; attempt++ {
		posted, err := c.createOrUpdate(ctx, api, me, marker, body)
		var again *uncertainWriteError
		if !errors.As(err, &again) || attempt == attempts-1 {
			return posted, err
		}
		if err := c.waitAndTell(ctx, err, backoff(attempt)); err != nil {
			return Posted{}, err
		}
	}
}

// createOrUpdate looks at what is there, and writes what is missing.
func (c *Client) createOrUpdate(ctx context.Context, api *forgeAPI, me author, marker, body string) (Posted, error) {
	all, err := c.listComments(ctx, api)
	if err != nil {
		return Posted{}, fmt.Errorf("list the comments: %w", err)
	}
	own := me.ownComments(all, marker)
	if len(own) == 0 {
		return c.createComment(ctx, api, me, all, marker, body)
	}
	// Two runs at one time may have written one each.
	if err := c.removeComments(ctx, api, own[1:]); err != nil {
		return Posted{}, err
	}
	if sameText(own[0].Body, body) {
		return Posted{Unchanged, plainLine(own[0].URL)}, nil
	}
	changed, err := c.writeComment(ctx, api.update, api.commentPath(own[0].ID), body)
	return Posted{Updated, plainLine(changed.URL)}, wrapOrNil("update the comment", err)
}

// ownComments are the comments that an author keeps with a marker.
func (a author) ownComments(all []comment, marker string) []comment {
	var own []comment
	for _, n := range all {
		if strings.HasPrefix(n.Body, marker) && a.wrote(&n) {
			own = append(own, n)
		}
	}
	return own
}

// createComment makes a comment. Who it is by says which older ones are ours, where nobody knew before.
func (c *Client) createComment(ctx context.Context, api *forgeAPI, me author, all []comment, marker, body string) (Posted, error) {
	made, err := c.writeComment(ctx, http.MethodPost, api.comments, body)
	if err != nil {
		return Posted{}, fmt.Errorf("create the comment: %w", err)
	}
	posted := Posted{Created, plainLine(made.URL)}
	if me.id == 0 {
		if older := made.author().ownComments(all, marker); len(older) > 0 {
			posted.Action = Updated
			return posted, c.removeComments(ctx, api, older)
		}
	}
	return posted, nil
}

func (c *Client) removeComments(ctx context.Context, api *forgeAPI, all []comment) error {
	for _, n := range all {
		if err := c.removeComment(ctx, api.commentPath(n.ID)); err != nil {
			return fmt.Errorf("remove a comment that is there twice: %w", err)
		}
	}
	return nil
}

// sameText reports whether a forge keeps a text for another: they change ends of lines.
func sameText(kept, text string) bool {
	return strings.TrimSpace(strings.ReplaceAll(kept, "\r\n", "\n")) == strings.TrimSpace(text)
}

func wrapOrNil(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}
