package logs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
)

// ReadResult says what was read.
type ReadResult struct {
	// Sources is how many containers were read, Incomplete how many of them not to their end though it may be there.
	Sources, Incomplete int
}

// TooManyError says that more logs are asked for than may be read at a time.
type TooManyError struct{ Found, Most int }

func (e *TooManyError) Error() string {
	return fmt.Sprintf("%d logs would be read at a time, at most %d are allowed: choose fewer, or allow more", e.Found, e.Most)
}

// Run reads the logs of a job in one order and gives their lines, many at once. A give that fails ends it with that error.
func Run(ctx context.Context, cluster Cluster, options Options, give func([]Line) error) (ReadResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	r := &logRun{cluster: cluster, options: options, cancel: cancel, view: newContainerView(), merge: NewLineMerge(), known: map[string]bool{}}
	if options.MostBytes > 0 {
		r.merge.most = options.MostBytes
	}
	err := r.lookForContainers(ctx, behind)
	if err == nil {
		r.readers.Go(func() { r.watchContainers(ctx) })
		err = r.merge.DeliverInOrder(ctx, give)
	}
	cancel()
	r.readers.Wait()
	if r.failed != nil {
		err = r.failed
	}
	return r.result, err
}

type logRun struct {
	cluster Cluster
	options Options
	cancel  context.CancelFunc
	view    *containerView
	merge   *LineMerge
	readers sync.WaitGroup

	mu     sync.Mutex
	known  map[string]bool
	result ReadResult
	failed error
}

// lookForContainers lists the containers and begins to read those that are new.
func (r *logRun) lookForContainers(ctx context.Context, s readState) error {
	r.view.beginListing()
	all, over, err := r.cluster.Containers(ctx)
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, compareContainers)
	r.view.updateFromListing(all, over)
	var fresh []ContainerStatus
	for _, status := range all {
		if !r.known[status.containerKey()] && (r.options.Want == nil || r.options.Want(status.LogSource)) {
			fresh = append(fresh, status)
		}
	}
	if err := r.reserveSources(len(fresh)); err != nil {
		return err
	}
	for _, status := range fresh {
		r.known[status.containerKey()] = true
		r.beginReading(ctx, status, s)
	}
	return nil
}

// compareContainers is launcher first, then nodes by number.
func compareContainers(a, b ContainerStatus) int {
	first := func(s ContainerStatus) int {
		if s.Role == mpi.LauncherJob {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(first(a), first(b)), cmp.Compare(a.Role, b.Role), cmp.Compare(a.Index, b.Index), cmp.Compare(a.Pod, b.Pod))
}

func (r *logRun) reserveSources(more int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if reading := r.merge.countReading() + more; r.options.Most > 0 && reading > r.options.Most {
		return &TooManyError{reading, r.options.Most}
	}
	r.result.Sources += more
	return nil
}

func (r *logRun) beginReading(ctx context.Context, status ContainerStatus, s readState) {
	one := &sourceReader{
		source: &status.LogSource, cluster: r.cluster, options: r.options, view: r.view,
		queue: r.merge.addSource(len(r.known), s), seen: newReplayWindow(r.options.isLimited()),
	}
	one.expectBeginning(status)
	reported := "" // what kubelet said last, in place of lines
	one.seen.tell = func(text string) { reported = text }
	r.readers.Go(func() {
		complete, err := one.readUntilEnd(ctx, status)
		if err != nil {
			r.failAll(err)
		}
		if !complete {
			if reported != "" {
				r.options.noteText("kubelet reports of %s (pod %s): %s", one.source.Label(), one.source.Pod, reported)
			}
			r.mu.Lock()
			r.result.Incomplete++
			r.mu.Unlock()
		}
	})
}

// watchContainers looks for new pods until the job is over. It goes on while readers need to know how their containers are.
func (r *logRun) watchContainers(ctx context.Context) {
	defer r.merge.CloseSources()
	ticks := time.NewTicker(listEvery)
	defer ticks.Stop()
	for r.options.Follow && (!r.view.isOver() || r.merge.countReading() > 0) {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		case <-r.view.asked:
			time.Sleep(listAgain) // Streams end together.
		}
		if err := r.lookForContainers(ctx, live); isHopeless(err) {
			r.failAll(err)
			return
		}
	}
}

// failAll ends all with an error; the first one counts.
func (r *logRun) failAll(err error) {
	r.mu.Lock()
	r.failed = cmp.Or(r.failed, err)
	r.mu.Unlock()
	r.cancel()
}

// isHopeless reports whether another listing would fail like this one. Connections break and come back.
func isHopeless(err error) bool {
	var many *TooManyError
	return errors.Is(err, ErrRefused) || errors.As(err, &many)
}

// countReading is how many sources have not ended.
func (m *LineMerge) countReading() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.open
}
