package logs

import (
	"context"
	"sync"
	"time"
)

// lookEvery is how often the pods of a job are listed, two requests whatever their number; lookAgain how soon where a stream has ended.
const (
	lookEvery = time.Second
	lookAgain = 100 * time.Millisecond
)

// containerView is what is known of the containers of a job, renewed while logs are followed.
type containerView struct {
	mu   sync.Mutex
	all  map[string]ContainerStatus
	over bool
	// looks counts those that are done; looking says that one is under way.
	looks   int
	looking bool
	changed chan struct{}
	// asked is for a look before its time.
	asked chan struct{}
}

func newContainerView() *containerView {
	return &containerView{changed: make(chan struct{}), asked: make(chan struct{}, 1)}
}

// beginLook is said before a look.
func (v *containerView) beginLook() {
	v.mu.Lock()
	v.looking = true
	v.mu.Unlock()
}

// updateFromLook takes what a look at the cluster said.
func (v *containerView) updateFromLook(all []ContainerStatus, over bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.all = make(map[string]ContainerStatus, len(all))
	for _, s := range all {
		v.all[s.containerKey()] = s
	}
	v.over, v.looking = over, false
	v.looks++
	close(v.changed)
	v.changed = make(chan struct{})
}

// awaitStatus returns a container as it is. Fresh waits for a look that begins after this call.
func (v *containerView) awaitStatus(ctx context.Context, key string, fresh bool) (s ContainerStatus, there bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	wanted := v.looks
	if fresh {
		wanted++
		if v.looking {
			wanted++
		}
	}
	for v.looks < wanted {
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
