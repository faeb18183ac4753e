package logs

import (
	"context"
	"errors"
	"io"
	"time"
)

// Cluster is where logs come from.
type Cluster interface {
	// Containers returns those of the job that exist now. Over says that the job has ended or is gone, so that no more will come.
	Containers(ctx context.Context) (all []ContainerStatus, over bool, err error)
	// Open returns the output of a container, each line with its time before it (RFC 3339, then a space). Errors that are none of those
	// below are worth another try.
	Open(ctx context.Context, source LogSource, request ContainerLogRequest) (io.ReadCloser, error)
}

// What Open may say.
var (
	// ErrGone: there is no such pod any more.
	ErrGone = errors.New("the pod is gone")
	// ErrNotStarted: the container has not printed anything, because it has not begun; or the run that was asked for is not kept.
	ErrNotStarted = errors.New("the container has not started")
	// ErrRefused: this will not work later either, such as without the right to read logs.
	ErrRefused = errors.New("the log may not be read")
)

// ContainerStatus is how a container is.
type ContainerStatus struct {
	LogSource
	// Restarts is how often it was started again.
	Restarts int
	// Started: it runs, or has. Ended: it does not run, and will not be started again. HasAgent: the agent starts its program,
	// and prints a line before it does.
	Started, Ended, HasAgent bool
}

// ContainerLogRequest is a part of the output of a container.
type ContainerLogRequest struct {
	// Since is a time from which on it is wanted, in whole seconds; SinceSeconds the same in seconds before now, by the clock of the
	// machine. Tail is how many of the last lines; nil for all.
	Since        time.Time
	SinceSeconds int64
	Tail         *int64
	// Follow waits for more until the container ends. Previous is the run before this one.
	Follow, Previous bool
}
