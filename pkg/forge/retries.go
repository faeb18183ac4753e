package forge

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// retryAfter reports whether a request may be sent again, and after which time. Both forges send Retry-After; GitHub's first limit has the time
// of its end instead (https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api).
func (r *response) retryAfter(attempt int, err error) (time.Duration, bool) {
	switch {
	case err != nil:
		return backoff(attempt), isPassingFailure(err)
	case r.status >= 500 || r.status == http.StatusTooManyRequests:
	case r.status == http.StatusForbidden && r.isRateLimited():
	default:
		return 0, false
	}
	if seconds, err := strconv.Atoi(r.header.Get("Retry-After")); err == nil && seconds >= 0 {
		return time.Duration(seconds) * time.Second, true
	}
	if at, err := strconv.ParseInt(r.header.Get("X-Ratelimit-Reset"), 10, 64); err == nil && r.header.Get("X-Ratelimit-Remaining") == "0" {
		return max(time.Second, time.Until(time.Unix(at, 0)).Round(time.Second)), true
	}
	if r.isRateLimited() {
		// GitHub asks for a minute at least where it names no time.
		return time.Minute, true
	}
	return backoff(attempt), true
}

// isPassingFailure reports whether a failure of the network may be gone in a moment: a host that does not exist, or whose certificate is wrong, stays so.
func isPassingFailure(err error) bool {
	var lookup *net.DNSError
	var untrusted *tls.CertificateVerificationError
	if errors.As(err, &lookup) && lookup.IsNotFound || errors.As(err, &untrusted) || errors.Is(err, http.ErrSchemeMismatch) {
		return false
	}
	var broken *url.Error
	return errors.As(err, &broken) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded)
}

// isRateLimited reports whether a refusal is about too many requests, not about rights.
func (r *response) isRateLimited() bool {
	return r.header.Get("Retry-After") != "" || r.header.Get("X-Ratelimit-Remaining") == "0" || strings.Contains(strings.ToLower(r.refusalText()), "rate limit")
}

func backoff(attempt int) time.Duration { return time.Second << attempt }
