package logs

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// maxTries is how often in a row a log is asked for that nobody writes to any more, before its rest is given up.
	maxTries = 6
	// shortest and longest wait between two tries. Together, a log that cannot be read for a moment is at most maxHold behind.
	shortest = 100 * time.Millisecond
	longest  = 2 * time.Second
)

// reader reads one source to its end.
type reader struct {
	source  *Source
	cluster Cluster
	options Options
	view    *view
	queue   *queue
	seen    *window
	// restarts are those of which everything was read that came before them.
	restarts int
	failed   int
	// gone: kubelet said of the last try that there is no such pod.
	gone bool
}

// run reads a source until it ends. Complete is false where output is missing that may still be there. An error is one that all sources
// would meet.
func (r *reader) run(ctx context.Context, first Status) (complete bool, err error) {
	defer r.queue.end()
	status, there := first, true
	for there {
		done, err := r.turn(ctx, status)
		switch {
		case errors.Is(err, errGivenUp):
			return false, nil
		case err != nil, done, ctx.Err() != nil:
			return err == nil, err
		}
		r.pause(ctx)
		if r.options.Follow {
			status, there = r.view.next(ctx, r.source.key(), r.failed == 0)
		}
	}
	if !r.seen.last.IsZero() && ctx.Err() == nil && r.failed > 0 && !r.gone {
		r.options.note("%s is gone (pod %s): what it printed after %s may be missing", r.source.Label(), r.source.Pod, r.seen.last.Format(time.RFC3339))
	}
	return true, nil
}

// turn reads what there is, and reports whether that was all there will ever be.
func (r *reader) turn(ctx context.Context, status Status) (done bool, err error) {
	final := status.Ended || !r.options.Follow
	err = r.earlier(ctx, status)
	if err == nil && !status.Started {
		err = ErrNotStarted
	}
	if err == nil && (final || r.queue.is(behind)) {
		err = r.read(ctx, Request{}, final)
	}
	if err == nil && !final {
		if r.queue.is(behind) {
			r.queue.caughtUp()
		}
		err = r.read(ctx, Request{Follow: true}, false)
	}
	if err == nil && final {
		return true, nil
	}
	return r.judge(ctx, err, status)
}

var errGivenUp = errors.New("given up")

// judge says what a read means that was not the last.
func (r *reader) judge(ctx context.Context, err error, status Status) (done bool, fatal error) {
	switch {
	case err == nil:
		// The container has ended, or somebody in between has: until that is known, others wait for it.
		r.queue.interrupted()
		r.failed = 0
		return false, nil
	case errors.Is(err, ErrNotStarted):
		r.queue.caughtUp()
		r.failed = 0
		return !r.options.Follow || r.view.isOver(), nil
	case errors.Is(err, ErrRefused):
		return true, err
	}
	r.gone = errors.Is(err, ErrGone)
	if ctx.Err() != nil || r.gone && !r.options.Follow {
		return true, nil //nolint:nilerr // the end of the pod, or of the command, is not a failure
	}
	// A kubelet that has just started does not know its pods yet, and says that they are gone: whether one is, the list of pods says.
	r.queue.interrupted()
	r.failed++
	if r.failed >= maxTries && (status.Ended || !r.options.Follow || r.view.isOver()) {
		r.options.note("the rest of the output of %s (pod %s) could not be read: %v; ask again later", r.source.Label(), r.source.Pod, err)
		return true, errGivenUp
	}
	return false, nil
}

// earlier reads the run before this one, where the container was started again. kubelet keeps one.
func (r *reader) earlier(ctx context.Context, status Status) error {
	if status.Restarts <= r.restarts {
		return nil
	}
	if lost := status.Restarts - r.restarts - 1; lost > 0 {
		r.options.note("%s (pod %s) was started again %d times; the output of %d earlier runs is not kept", r.source.Label(), r.source.Pod, status.Restarts, lost)
	}
	if r.options.Tail == nil || !r.seen.last.IsZero() {
		if err := r.read(ctx, Request{Previous: true}, true); err != nil && !errors.Is(err, ErrNotStarted) {
			return err
		}
	}
	r.restarts = status.Restarts
	return nil
}

// read reads a log from where the last read ended. Whole says that what ends there is all.
func (r *reader) read(ctx context.Context, request Request, whole bool) error {
	if request.Since = r.seen.from(); request.Since.IsZero() {
		request.Since, request.SinceSeconds, request.Tail = r.options.Since, r.options.SinceSeconds, r.options.Tail
	}
	r.seen.reopened()
	stream, err := r.cluster.Open(ctx, *r.source, request)
	if err != nil {
		return err
	}
	defer stream.Close()
	stop := context.AfterFunc(ctx, func() { stream.Close() })
	defer stop()
	if request.Follow {
		caught := time.AfterFunc(hold, r.queue.caughtUp)
		defer caught.Stop()
	}
	return readStream(stream, r.source, r.seen, whole, func(lines []Line) error {
		r.failed = 0
		return r.queue.push(lines)
	})
}

// pause waits after a failure, longer after each.
func (r *reader) pause(ctx context.Context) {
	if r.failed == 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(min(shortest<<(r.failed-1), longest)):
	}
}

// Options say what is read.
type Options struct {
	// Follow waits for more until the job is over.
	Follow bool
	// Tail is how many of the last lines of each container, nil for all. Since or SinceSeconds leave out what is older.
	Tail         *int64
	Since        time.Time
	SinceSeconds int64
	// Most is how many logs may be read at a time, 0 for any number.
	Most int
	// Want chooses containers, nil for all.
	Want func(Source) bool
	// Note is told what is missing and why, in a sentence.
	Note func(string)
}

func (o Options) note(format string, args ...any) {
	if o.Note != nil {
		o.Note(fmt.Sprintf(format, args...))
	}
}

func (o Options) limited() bool { return o.Tail != nil || !o.Since.IsZero() || o.SinceSeconds > 0 }
