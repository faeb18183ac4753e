package reconciler

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// tolerance is how far the clock of this machine may be from the API server's before it is corrected. The server tells the
// time in whole seconds, and an answer takes its time to come.
const tolerance = 2 * time.Second

// The API server's clock is believed at once if it is behind ours, or ahead by at most mostAhead. A clock that steps
// forward by hours would end jobs, and delete finished ones, hours too early, which cannot be undone. So a larger
// step must show in answers for confirmedAfter, and in the clock of this machine too, as after a machine has slept.
const (
	mostAhead      = time.Minute
	confirmedAfter = 10 * time.Minute
)

// serverClock shows the time of the API server. Deadlines count from creation times, which the API server wrote: on a
// machine whose clock is minutes ahead, jobs would end minutes too early.
type serverClock struct {
	local func() time.Time
	// wall is the clock of this machine, which may step.
	wall  func() time.Time
	ahead atomic.Int64
	// agreed is since when local finds that API server and wall agree on a later time, in nanoseconds since 1970; 0
	// if they do not.
	agreed atomic.Int64
	warned sync.Once
}

func newServerClock(local func() time.Time) *serverClock {
	return &serverClock{local: local, wall: local}
}

// steadyClock returns a clock that goes on from now whatever becomes of the clock of this machine: when that steps
// forward by hours, nothing is late.
func steadyClock() func() time.Time {
	start := time.Now()
	return func() time.Time { return start.Add(time.Since(start)) }
}

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
	if !c.isBelieved(ahead, server) {
		return
	}
	if change := ahead - time.Duration(c.ahead.Load()); change.Abs() > tolerance || ahead == 0 {
		c.ahead.Store(int64(ahead))
	}
}

// isBelieved reports whether the time of the API server counts.
func (c *serverClock) isBelieved(ahead time.Duration, server time.Time) bool {
	if ahead >= -mostAhead-tolerance || c.wall().Round(0).Sub(server).Abs() > mostAhead {
		c.agreed.Store(0)
		if ahead < -mostAhead-tolerance {
			c.warned.Do(func() {
				ctrl.Log.Info("the API server's clock is ahead of this machine's, and is not believed: deadlines come late until "+
					"both agree; set the clocks, for example by NTP", "ahead", (-ahead).String())
			})
			return false
		}
		return true
	}
	now := c.local().UnixNano()
	c.agreed.CompareAndSwap(0, now)
	return time.Duration(now-c.agreed.Load()) >= confirmedAfter
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
