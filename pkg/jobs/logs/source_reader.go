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

// sourceReader reads one source to its end.
type sourceReader struct {
	source  *LogSource
	cluster Cluster
	options Options
	view    *containerView
	queue   *sourceQueue
	seen    *replayWindow
	// restarts are those of which everything was read that came before them.
	restarts int
	failed   int
	// gone: kubelet said of the last try that there is no such pod.
	gone bool
}

// readUntilEnd reads a source until it ends. Complete is false where output is missing that may still be there. An error is one that all sources
// would meet.
func (r *sourceReader) readUntilEnd(ctx context.Context, first ContainerStatus) (complete bool, err error) {
	defer r.queue.setEnded()
	status, there := first, true
	for there {
		done, err := r.readOnce(ctx, status)
		switch {
		case errors.Is(err, errGivenUp):
			return false, nil
		case err != nil, done, ctx.Err() != nil:
			return err == nil, err
		}
		r.pauseAfterFailure(ctx)
		if r.options.Follow {
			status, there = r.view.awaitStatus(ctx, r.source.containerKey(), r.failed == 0)
		}
	}
	if !r.seen.last.IsZero() && ctx.Err() == nil && r.failed > 0 && !r.gone {
		r.options.noteText("%s is gone (pod %s): what it printed after %s may be missing", r.source.Label(), r.source.Pod, r.seen.last.Format(time.RFC3339))
	}
	return true, nil
}

// readOnce reads what there is, and reports whether that was all there will ever be.
func (r *sourceReader) readOnce(ctx context.Context, status ContainerStatus) (done bool, err error) {
	final := status.Ended || !r.options.Follow
	err = r.readPreviousRun(ctx, status)
	if err == nil && !status.Started {
		err = ErrNotStarted
	}
	if err == nil && (final || r.queue.hasState(behind)) {
		err = r.readFromLast(ctx, ContainerLogRequest{}, final)
	}
	if err == nil && !final {
		if r.queue.hasState(behind) {
			r.queue.setLive()
		}
		err = r.readFromLast(ctx, ContainerLogRequest{Follow: true}, false)
	}
	if err == nil && final {
		return true, nil
	}
	return r.judgeRead(ctx, err, status)
}

var errGivenUp = errors.New("given up")

// judgeRead says what a read means that was not the last.
func (r *sourceReader) judgeRead(ctx context.Context, err error, status ContainerStatus) (done bool, fatal error) {
	switch {
	case err == nil:
		// The container has ended, or somebody in between has: until that is known, others wait for it.
		r.queue.setBroken()
		r.failed = 0
		return false, nil
	case errors.Is(err, ErrNotStarted):
		r.queue.setLive()
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
	r.queue.setBroken()
	r.failed++
	if r.failed >= maxTries && (status.Ended || !r.options.Follow || r.view.isOver()) {
		r.options.noteText("the rest of the output of %s (pod %s) could not be read: %v; ask again later", r.source.Label(), r.source.Pod, err)
		return true, errGivenUp
	}
	return false, nil
}

// readPreviousRun reads the run before this one, where the container was started again. kubelet keeps one.
func (r *sourceReader) readPreviousRun(ctx context.Context, status ContainerStatus) error {
	if status.Restarts <= r.restarts {
		return nil
	}
	if lost := status.Restarts - r.restarts - 1; lost > 0 {
		r.options.noteText("%s (pod %s) was started again %d times; the output of %d earlier runs is not kept", r.source.Label(), r.source.Pod, status.Restarts, lost)
	}
	if r.options.Tail == nil || !r.seen.last.IsZero() {
		if err := r.readFromLast(ctx, ContainerLogRequest{Previous: true}, true); err != nil && !errors.Is(err, ErrNotStarted) {
			return err
		}
	}
	r.restarts = status.Restarts
	r.expectBeginning(status)
	return nil
}

// expectBeginning makes the next read check whether kubelet has deleted the first lines of the run.
func (r *sourceReader) expectBeginning(status ContainerStatus) {
	if status.HasAgent && !r.options.isLimited() {
		r.seen.noteCut = func() {
			r.options.noteText("the beginning of the output of %s (pod %s) is gone: kubelet keeps only the newest part of a long log", r.source.Label(), r.source.Pod)
		}
	}
}

// readFromLast reads a log from where the last read ended. Whole says that what ends there is all.
func (r *sourceReader) readFromLast(ctx context.Context, request ContainerLogRequest, whole bool) error {
	if request.Since = r.seen.resumeTime(); request.Since.IsZero() {
		request.Since, request.SinceSeconds, request.Tail = r.options.Since, r.options.SinceSeconds, r.options.Tail
	}
	r.seen.beginReplay()
	stream, err := r.cluster.Open(ctx, *r.source, request)
	if err != nil {
		return err
	}
	defer stream.Close()
	stop := context.AfterFunc(ctx, func() { stream.Close() })
	defer stop()
	if request.Follow {
		caught := time.AfterFunc(hold, r.queue.setLive)
		defer caught.Stop()
	}
	return readStream(stream, r.source, r.seen, whole, func(lines []Line) error {
		r.failed = 0
		return r.queue.pushLines(lines)
	})
}

// pauseAfterFailure waits after a failure, longer after each.
func (r *sourceReader) pauseAfterFailure(ctx context.Context) {
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
	// MostBytes bounds the lines that wait for a slow reader, apart from a batch of each log; 0 for 64 MiB.
	MostBytes int
	// Want chooses containers, nil for all.
	Want func(LogSource) bool
	// Note is told what is missing and why, in a sentence.
	Note func(string)
}

func (o Options) noteText(format string, args ...any) {
	if o.Note != nil {
		o.Note(fmt.Sprintf(format, args...))
	}
}

func (o Options) isLimited() bool { return o.Tail != nil || !o.Since.IsZero() || o.SinceSeconds > 0 }
