package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"
)

// errSlow ends the stream of a browser that does not read.
var errSlow = errors.New("the browser does not read")

// stream writes server-sent events to one browser. It buffers nothing: a write that takes too long ends it.
type stream struct {
	mu      sync.Mutex
	w       http.ResponseWriter
	control *http.ResponseController
	limit   time.Duration
	// wrote is set by the first write, after which the status of the answer is fixed.
	wrote bool
}

// isDownload reports whether a log is asked for as a file.
func (v *visit) isDownload() bool {
	return strings.HasSuffix(v.URL.Path, "/logs") && v.URL.Query().Get("download") == "true"
}

// send writes an event.
func (s *stream) send(event string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return s.write("event: " + event + "\ndata: " + string(text) + "\n\n")
}

func (s *stream) write(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.control.SetWriteDeadline(time.Now().Add(s.limit)); err != nil {
		return err
	}
	s.wrote = true
	if _, err := s.w.Write([]byte(text)); err != nil {
		return errors.Join(errSlow, err)
	}
	return s.control.Flush()
}

// hasBegun reports whether something was written.
func (s *stream) hasBegun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wrote
}

// fail ends a stream with an error: as the answer if nothing was written, else as its last event. A file is cut off, so
// that no browser takes it for whole.
func (s *stream) fail(f FailureDetail, file bool) {
	switch {
	case s.hasBegun() && file:
		panic(http.ErrAbortHandler)
	case s.hasBegun():
		_ = s.send("trouble", f)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w.Header().Del("Content-Disposition")
	writeError(s.w, f.Code, f.Reason, f.Message, f.Remedy)
}

// beat writes comments until the context ends, and cancels it if they are not read.
func (s *stream) beat(ctx context.Context, cancel context.CancelFunc, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if s.write(": \n\n") != nil {
				cancel()
				return
			}
		}
	}
}

// openStreams counts the streams that are open, by user.
type openStreams struct {
	mu  sync.Mutex
	all int
	of  map[string]int
}

// open counts one more stream of a user, unless the limits forbid it.
func (o *openStreams) open(user string, limits Limits) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all >= limits.Streams || o.of[user] >= limits.UserStreams {
		return false
	}
	o.all++
	o.of[user]++
	return true
}

func (o *openStreams) close(user string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all--
	if o.of[user]--; o.of[user] == 0 {
		delete(o.of, user)
	}
}

// streaming turns a function into a handler of a stream, which ends with the function. An error is its last event.
func (s *Server) streaming(run func(*visit, *stream) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		v, err := s.newVisit(r.WithContext(ctx))
		if err != nil {
			f := failureOf(err)
			writeError(w, f.Code, f.Reason, f.Message, f.Remedy)
			return
		}
		if !s.streams.open(v.user.Key, s.limits) {
			writeError(w, http.StatusTooManyRequests, "TooManyStreams", "too many pages are open", "Close some of them.")
			return
		}
		defer s.streams.close(v.user.Key)
		out := &stream{w: w, control: http.NewResponseController(w), limit: s.limits.Write}
		w.Header().Set("Cache-Control", "no-store")
		if v.isDownload() {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		} else {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("X-Accel-Buffering", "no") // NGINX would hold events back
			var beating sync.WaitGroup
			beating.Go(func() { out.beat(ctx, cancel, s.limits.Pulse) })
			defer func() {
				cancel()
				beating.Wait() // its writer is gone when the handler returns
			}()
		}
		if err := run(v, out); err != nil && ctx.Err() == nil {
			out.fail(failureOf(err), v.isDownload())
		}
	}
}
