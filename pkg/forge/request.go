package forge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// attempts is how often something is asked.
	attempts = 5
	// timeout is how long one answer may take.
	timeout = 15 * time.Second
	// maxMessage is how much of a message is shown, in characters.
	maxMessage = 500
	// maxRetryAfter is the longest wait that a forge can ask for.
	maxRetryAfter = 2 * time.Minute
	// maxAnswer is the largest answer that is read. A page has 100 comments.
	maxAnswer = 64 << 20
	// maxPages is how many pages of comments are read.
	maxPages = 100
)

// uncertainWriteError says that nobody knows whether a comment was written.
type uncertainWriteError struct{ error }

func (u *uncertainWriteError) Unwrap() error { return u.error }

// refusedError is an answer that is not a success.
type refusedError struct {
	status  int
	message string
}

func (r *refusedError) Error() string {
	if r.message == "" {
		return fmt.Sprintf("the forge answered %d %s", r.status, http.StatusText(r.status))
	}
	return fmt.Sprintf("the forge answered %d %s: %s", r.status, http.StatusText(r.status), r.message)
}

// askWithRetries sends a request, and again where the forge asks to wait.
func (c *Client) askWithRetries(ctx context.Context, method, path string, body, answer any) (http.Header, error) {
	for attempt := 0; ; attempt++ {
		response, err := c.sendOnce(ctx, method, path, body)
		if err == nil && response.status < 300 {
			return response.header, decodeAnswer(response.body, answer)
		}
		wait, again := response.retryAfter(attempt, err)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !again:
			return nil, c.explainFailure(response, err)
		case method == http.MethodPost && (err != nil || response.status >= 500):
			// It may have been done all the same.
			return nil, &uncertainWriteError{c.explainFailure(response, err)}
		case attempt == attempts-1:
			return nil, fmt.Errorf("gave up after %d attempts: %w", attempt+1, c.explainFailure(response, err))
		case wait > maxRetryAfter:
			return nil, fmt.Errorf("the forge asks to wait for %s, which is too long: %w", wait, c.explainFailure(response, err))
		}
		if err := c.waitAndTell(ctx, c.explainFailure(response, err), wait); err != nil {
			return nil, err
		}
	}
}

func decodeAnswer(data []byte, answer any) error {
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return fmt.Errorf("read the answer of the forge: %w", err)
	}
	return nil
}

// response is an answer that was read.
type response struct {
	status int
	header http.Header
	body   []byte
}

func (c *Client) sendOnce(ctx context.Context, method, path string, body any) (response, error) {
	ctx, cancel := context.WithTimeout(ctx, c.answerTimeout())
	defer cancel()
	request, err := c.newRequest(ctx, method, path, body)
	if err != nil {
		return response{}, err
	}
	client := http.Client{}
	if c.HTTP != nil {
		client = *c.HTTP
	}
	client.CheckRedirect = sameHost
	answer, err := client.Do(request)
	if err != nil {
		return response{}, err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	return response{answer.StatusCode, answer.Header, data}, err
}

// sameHost keeps the token where it belongs: the standard client forwards headers that it does not know.
func sameHost(next *http.Request, via []*http.Request) error {
	if first := via[0].URL; next.URL.Host != first.Host || next.URL.Scheme != first.Scheme || len(via) > 5 {
		return http.ErrUseLastResponse
	}
	return nil
}

func (c *Client) newRequest(ctx context.Context, method, path string, body any) (*http.Request, error) {
	a, err := c.newAPI()
	if err != nil {
		return nil, err
	}
	address, err := a.addressOf(path)
	if err != nil {
		return nil, err
	}
	var content io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(ctx, method, address, content)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "runtime-compiler")
	request.Header.Set("Content-Type", "application/json")
	a.authorize(request, c.Token)
	return request, nil
}

// addressOf is that of a path of the API, or of a page that the forge named: on the same host, or the token would go elsewhere.
func (a *forgeAPI) addressOf(path string) (string, error) {
	if strings.HasPrefix(path, "/") {
		return strings.TrimSuffix(a.base.String(), "/") + path, nil
	}
	next, err := url.Parse(path)
	if err != nil || next.Scheme != a.base.Scheme || next.Host != a.base.Host {
		return "", fmt.Errorf("the forge names a next page on another host than %s", a.base.Host)
	}
	return path, nil
}

func (c *Client) answerTimeout() time.Duration { return cmp.Or(c.Timeout, timeout) }

// waitAndTell waits, and tells why.
func (c *Client) waitAndTell(ctx context.Context, reason error, d time.Duration) error {
	if c.Waiting != nil {
		c.Waiting(reason, d)
	}
	return c.sleepFor(ctx, d)
}

func (c *Client) sleepFor(ctx context.Context, d time.Duration) error {
	if c.Sleep != nil {
		return c.Sleep(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
