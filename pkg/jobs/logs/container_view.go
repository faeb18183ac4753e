package logs

import (
	"context"
	"sync"
	"time"
)

// listEvery is how often the pods of a job are listed, two requests whatever their number; listAgain how soon where a stream has ended.
const (
	listEvery = time.Second
	listAgain = 100 * time.Millisecond
)

// containerView is what is known of the containers of a job, renewed while logs are followed.
type containerView struct {
	mu   sync.Mutex
	all  map[string]ContainerStatus
	over bool
	// listings counts those that are done; listing reports whether one is under way.
	listings int
	listing  bool
	changed  chan struct{}
	// asked is for a listing before its time.
	asked chan struct{}
}

func newContainerView() *containerView {
	return &containerView{changed: make(chan struct{}), asked: make(chan struct{}, 1)}
}

// beginListing is said before the pods are listed.
func (v *containerView) beginListing() {
	v.mu.Lock()
	v.listing = true
	v.mu.Unlock()
}

// updateFromListing takes what a listing of the pods said.
func (v *containerView) updateFromListing(all []ContainerStatus, over bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.all = make(map[string]ContainerStatus, len(all))
	for _, s := range all {
		v.all[s.containerKey()] = s
	}
	v.over, v.listing = over, false
	v.listings++
	close(v.changed)
	v.changed = make(chan struct{})
}

// awaitStatus returns a container as it is. Fresh waits for a listing that begins after this call.
func (v *containerView) awaitStatus(ctx context.Context, key string, fresh bool) (s ContainerStatus, there bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	wanted := v.listings
	if fresh {
		wanted++
		if v.listing {
			wanted++
		}
	}
	for v.listings < wanted {
		changed := v.changed
		v.mu.Unlock()
		select {
		case v.asked <- struct{}{}:
		default:
		}
		select {
		case <-ctx.Done():
			v.mu.Lock()
			return ContainerStatus{}, false
		case <-changed:
		}
		v.mu.Lock()
	}
	s, there = v.all[key]
	return s, there
}

func (v *containerView) isOver() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.over
}
