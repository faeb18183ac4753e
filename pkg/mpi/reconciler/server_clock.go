package reconciler

import (
	"net/http"
	"sync/atomic"
	"time"
)

// tolerance is how far the clock of this machine may be from the API server's before it is corrected. The server tells the
// time in whole seconds, and an answer takes its time to come.
const tolerance = 2 * time.Second

// serverClock tells the time of the API server. Deadlines count from creation times, which the API server wrote: on a machine whose
// clock is minutes ahead, jobs would end minutes too early.
type serverClock struct {
	local func() time.Time
	ahead atomic.Int64
}

func newServerClock(local func() time.Time) *serverClock { return &serverClock{local: local} }

// now returns the time of this machine, corrected where it differs from the API server's.
func (c *serverClock) now() time.Time { return c.local().Add(-time.Duration(c.ahead.Load())) }

// correctByDate corrects the clock by the Date header of an answer (RFC 9110, section 6.6.1).
func (c *serverClock) correctByDate(date string) {
	server, err := http.ParseTime(date)
	if err != nil {
		return
	}
	ahead := c.local().Sub(server)
	if ahead.Abs() <= tolerance {
		ahead = 0
	}
	if change := ahead - time.Duration(c.ahead.Load()); change.Abs() > tolerance || ahead == 0 {
		c.ahead.Store(int64(ahead))
	}
}

// wrapTransport listens to all answers of the API server.
func (c *serverClock) wrapTransport(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err == nil {
			c.correctByDate(response.Header.Get("Date"))
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
