package forge

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
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

// uncertain says that nobody knows whether a comment was written.
type uncertain struct{ error }

func (u *uncertain) Unwrap() error { return u.error }

// refused is an answer that is not a success.
type refused struct {
	status  int
	message string
}

func (r *refused) Error() string {
	if r.message == "" {
		return fmt.Sprintf("the forge answered %d %s", r.status, http.StatusText(r.status))
	}
	return fmt.Sprintf("the forge answered %d %s: %s", r.status, http.StatusText(r.status), r.message)
}

// me asks who the token belongs to.
func (c *Client) me(ctx context.Context, a *api) (author, error) {
	var found person
	_, err := c.ask(ctx, http.MethodGet, "/user", nil, &found)
	var no *refused
	if a.viewer != "" && errors.As(err, &no) && no.status == http.StatusForbidden {
		return c.application(ctx, a)
	}
	return author{found.ID}, err
}

// application asks which application the token belongs to, as that of GitHub Actions. It is the zero author where nobody says.
func (c *Client) application(ctx context.Context, a *api) (author, error) {
	var said struct {
		Data struct {
			Viewer struct {
				ID int64 `json:"databaseId"`
			} `json:"viewer"`
		} `json:"data"`
	}
	if _, err := c.ask(ctx, http.MethodPost, a.viewer, map[string]string{"query": "query { viewer { databaseId } }"}, &said); err != nil {
		return author{}, ctx.Err()
	}
	return author{said.Data.Viewer.ID}, nil
}

// list returns all comments, the oldest first.
func (c *Client) list(ctx context.Context, a *api) ([]note, error) {
	var all []note
	next := a.comments + "?per_page=100&sort=asc&order_by=created_at"
	for page := 0; next != "" && page < maxPages; page++ {
		var some []note
		header, err := c.ask(ctx, http.MethodGet, next, nil, &some)
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

func (c *Client) write(ctx context.Context, method, path, body string) (note, error) {
	var made note
	_, err := c.ask(ctx, method, path, map[string]string{"body": body}, &made)
	return made, err
}

// remove removes a comment; one that is gone is removed.
func (c *Client) remove(ctx context.Context, path string) error {
	_, err := c.ask(ctx, http.MethodDelete, path, nil, nil)
	var no *refused
	if errors.As(err, &no) && no.status == http.StatusNotFound {
		return nil
	}
	return err
}

// ask sends a request, and again where the forge asks to wait.
func (c *Client) ask(ctx context.Context, method, path string, body, answer any) (http.Header, error) {
	for attempt := 0; ; attempt++ {
		response, err := c.send(ctx, method, path, body)
		if err == nil && response.status < 300 {
			return response.header, decode(response.body, answer)
		}
		wait, again := response.wait(attempt, err)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !again:
			return nil, c.explain(response, err)
		case method == http.MethodPost && (err != nil || response.status >= 500):
			// It may have been done all the same.
			return nil, &uncertain{c.explain(response, err)}
		case attempt == attempts-1:
			return nil, fmt.Errorf("gave up after %d attempts: %w", attempt+1, c.explain(response, err))
		case wait > maxRetryAfter:
			return nil, fmt.Errorf("the forge asks to wait for %s, which is too long: %w", wait, c.explain(response, err))
		}
		if err := c.wait(ctx, c.explain(response, err), wait); err != nil {
			return nil, err
		}
	}
}

func decode(data []byte, answer any) error {
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

func (c *Client) send(ctx context.Context, method, path string, body any) (response, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout())
	defer cancel()
	request, err := c.request(ctx, method, path, body)
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

func (c *Client) request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	a, err := c.api()
	if err != nil {
		return nil, err
	}
	address, err := a.address(path)
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

// address is that of a path of the API, or of a page that the forge named: on the same host, or the token would go elsewhere.
func (a *api) address(path string) (string, error) {
	if strings.HasPrefix(path, "/") {
		return strings.TrimSuffix(a.base.String(), "/") + path, nil
	}
	next, err := url.Parse(path)
	if err != nil || next.Scheme != a.base.Scheme || next.Host != a.base.Host {
		return "", fmt.Errorf("the forge names a next page on another host than %s", a.base.Host)
	}
	return path, nil
}

// wait reports whether a request may be sent again, and after which time. Both forges send Retry-After; GitHub's first limit has the time
// of its end instead (https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api).
func (r *response) wait(attempt int, err error) (time.Duration, bool) {
	switch {
	case err != nil:
		return backoff(attempt), passes(err)
	case r.status >= 500 || r.status == http.StatusTooManyRequests:
	case r.status == http.StatusForbidden && r.limited():
	default:
		return 0, false
	}
	if seconds, err := strconv.Atoi(r.header.Get("Retry-After")); err == nil && seconds >= 0 {
		return time.Duration(seconds) * time.Second, true
	}
	if at, err := strconv.ParseInt(r.header.Get("X-Ratelimit-Reset"), 10, 64); err == nil && r.header.Get("X-Ratelimit-Remaining") == "0" {
		return max(time.Second, time.Until(time.Unix(at, 0)).Round(time.Second)), true
	}
	if r.limited() {
		// GitHub asks for a minute at least where it names no time.
		return time.Minute, true
	}
	return backoff(attempt), true
}

// passes reports whether a failure of the network may be gone in a moment: a host that does not exist, or whose certificate is wrong, stays so.
func passes(err error) bool {
	var lookup *net.DNSError
	var untrusted *tls.CertificateVerificationError
	if errors.As(err, &lookup) && lookup.IsNotFound || errors.As(err, &untrusted) || errors.Is(err, http.ErrSchemeMismatch) {
		return false
	}
	var broken *url.Error
	return errors.As(err, &broken) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded)
}

// limited reports whether a refusal is about too many requests, not about rights.
func (r *response) limited() bool {
	return r.header.Get("Retry-After") != "" || r.header.Get("X-Ratelimit-Remaining") == "0" || strings.Contains(strings.ToLower(r.message()), "rate limit")
}

func backoff(attempt int) time.Duration { return time.Second << attempt }

// message is what the forge says about a refusal: GitHub has the reason in `errors`, GitLab a list for each field in `message`.
func (r *response) message() string {
	var said struct {
		Message any `json:"message"`
		Errors  any `json:"errors"`
		Error   any `json:"error"`
	}
	if json.Unmarshal(r.body, &said) != nil {
		return ""
	}
	words := append(texts(said.Message), texts(said.Errors)...)
	if len(words) == 0 {
		words = texts(said.Error)
	}
	return strings.Join(words, ": ")
}

// texts are the words in a part of an answer.
func texts(part any) []string {
	switch part := part.(type) {
	case nil:
		return nil
	case []any:
		var all []string
		for _, one := range part {
			all = append(all, strings.Join(texts(one), ", "))
		}
		return all
	case map[string]any:
		if message, isText := part["message"].(string); isText && message != "" {
			return []string{message}
		}
		var all []string
		for _, key := range slices.Sorted(maps.Keys(part)) {
			all = append(all, key+" "+strings.Join(texts(part[key]), ", "))
		}
		return all
	}
	return []string{fmt.Sprint(part)}
}

// plain makes a text of the forge one line without control characters, which a terminal would obey.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxMessage {
		return string(runes[:maxMessage]) + "…"
	}
	return text
}

// explain says what an answer means, without the token.
func (c *Client) explain(r response, err error) error {
	hidden := strings.NewReplacer(c.Token, "***")
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the forge gave no answer within %s", c.timeout())
	case err != nil:
		return errors.New(plain(hidden.Replace(err.Error())))
	}
	no := &refused{r.status, plain(hidden.Replace(r.message()))}
	switch {
	case r.status == http.StatusUnauthorized:
		return fmt.Errorf("%w; the token is wrong or has expired", no)
	case r.status == http.StatusForbidden && !r.limited():
		return fmt.Errorf("%w: %w", ErrForbidden, no)
	case r.status == http.StatusNotFound:
		return fmt.Errorf("%w; there is no %s #%d, or the token does not see it", no, c.Target.Repository, c.Target.Number)
	}
	return no
}

func (c *Client) timeout() time.Duration { return cmp.Or(c.Timeout, timeout) }

// wait waits, and tells why.
func (c *Client) wait(ctx context.Context, reason error, d time.Duration) error {
	if c.Waiting != nil {
		c.Waiting(reason, d)
	}
	return c.sleep(ctx, d)
}

func (c *Client) sleep(ctx context.Context, d time.Duration) error {
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
