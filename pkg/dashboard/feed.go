package dashboard

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/jobs/fetch"
)

// leastPause is how long a feed rests between two looks.
const leastPause = 300 * time.Millisecond

// feeds are the running feeds. Streams of one user that show the same share one.
type feeds struct {
	ctx context.Context //nolint:containedctx // feeds outlive the request that starts them
	mu  sync.Mutex
	all map[string]*feed
}

func newFeeds(ctx context.Context) *feeds { return &feeds{ctx: ctx, all: map[string]*feed{}} }

// feed looks at something whenever TrainJobs change, and at intervals. It keeps the latest answer only, so a slow
// reader misses steps and never the end.
type feed struct {
	stop    context.CancelFunc
	readers int

	mu sync.Mutex
	// changed is closed when there is a newer state.
	changed chan struct{}
	state   feedState
}

// feedState is the latest answer of a feed.
type feedState struct {
	value any
	// trouble is why there is no newer value; the feed goes on.
	trouble error
	// end is why the feed has ended.
	end error
}

// feedSource is how a feed gets its answers.
type feedSource struct {
	look    func(context.Context) (any, error)
	c       client.WithWatch
	options []client.ListOption
	// every returns the longest time until the next look.
	every func() time.Duration
}

// follow gives all states of the feed of a key from now on, until the context, the feed, or give ends.
func (f *feeds) follow(ctx context.Context, key string, source feedSource, give func(feedState) error) error {
	one := f.join(key, source)
	defer f.leave(key, one)
	for {
		one.mu.Lock()
		state, changed := one.state, one.changed
		one.mu.Unlock()
		switch {
		case state.end != nil:
			return state.end
		case state.trouble != nil || state.value != nil:
			if err := give(state); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

func (f *feeds) join(key string, source feedSource) *feed {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.all[key]
	if one == nil {
		ctx, stop := context.WithCancel(f.ctx)
		one = &feed{stop: stop, changed: make(chan struct{})}
		f.all[key] = one
		go func() {
			err := one.run(ctx, source)
			f.mu.Lock()
			if f.all[key] == one {
				delete(f.all, key) // the next reader begins a new one
			}
			f.mu.Unlock()
			one.publish(func(s *feedState) { s.end = err })
		}()
	}
	one.readers++
	return one
}

func (f *feeds) leave(key string, one *feed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one.readers--
	if one.readers > 0 {
		return
	}
	one.stop()
	if f.all[key] == one {
		delete(f.all, key)
	}
}

func (one *feed) publish(change func(*feedState)) {
	one.mu.Lock()
	defer one.mu.Unlock()
	change(&one.state)
	close(one.changed)
	one.changed = make(chan struct{})
}

// run looks until the context ends, or after an error that no later look can mend.
func (one *feed) run(ctx context.Context, source feedSource) error {
	var mu sync.Mutex // a change and the clock may ask for a look at once
	look := func(ctx context.Context) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		began := time.Now()
		value, err := source.look(ctx)
		one.note(value, err)
		pause(ctx, max(leastPause, time.Since(began)))
		return false, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		for pause(ctx, source.every()) {
			if _, err := look(ctx); err != nil && !fetch.IsTransient(err) {
				stop(err)
			}
		}
	}()
	for {
		err := fetch.FollowTrainJobs(ctx, noting{source.c, one}, look, source.options...)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !fetch.IsTransient(err) {
			return err
		}
		pause(ctx, time.Second)
	}
}

// note publishes an answer, or why there is none.
func (one *feed) note(value any, err error) {
	switch {
	case err == nil:
		one.publish(func(s *feedState) { *s = feedState{value: value} })
	case fetch.IsTransient(err):
		one.publish(func(s *feedState) { s.trouble = err })
	}
}

// pause waits, and reports whether the context has not ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// noting is a client whose failed watches are trouble of a feed: they are begun again without a word otherwise.
type noting struct {
	client.WithWatch
	feed *feed
}

func (n noting) Watch(
	ctx context.Context, list client.ObjectList, options ...client.ListOption,
) (watch.Interface, error) {
	changes, err := n.WithWatch.Watch(ctx, list, options...)
	if err != nil && ctx.Err() == nil {
		n.feed.note(nil, err)
	}
	return changes, err
}
