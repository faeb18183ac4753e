package launch

import (
	"context"
	"sync"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
)

// timeline collects the timings of a launch. Several goroutines may use it.
type timeline struct {
	now func() time.Time

	mu      sync.Mutex
	timings mpi.LaunchTimings
}

func newTimeline(now func() time.Time) *timeline {
	return &timeline{now: now, timings: mpi.LaunchTimings{Started: now()}}
}

// elapsedSeconds is the time since the start, in seconds; the caller holds the lock.
func (t *timeline) elapsedSeconds() float64 {
	return mpi.RoundSeconds(t.now().Sub(t.timings.Started).Seconds())
}

// noteGate notes how the gate has just ended.
func (t *timeline) noteGate(result mpi.GateResult) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.noteGateTimes(result, t.elapsedSeconds())
}

// noteInitGate notes the gate of an init container, with which the launch began.
func (t *timeline) noteInitGate(gate initGate) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timings.Started = gate.Started
	t.noteGateTimes(gate.Result, mpi.RoundSeconds(gate.Result.Seconds))
}

// noteGateTimes takes over what a gate says that ended at some time; its own times count from when it began.
func (t *timeline) noteGateTimes(result mpi.GateResult, ended float64) {
	t.timings.TableFrom, t.timings.Connect = result.TableFrom, result.Connect
	if result.TableFrom != "" {
		at := mpi.RoundSeconds(max(0, ended-result.Seconds+result.TableSeconds))
		t.timings.TableSeconds = &at
	}
	if result.Passed {
		t.timings.GateSeconds = &ended
	}
}

func (t *timeline) noteCommandStart() {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.elapsedSeconds()
	t.timings.CommandSeconds = &at
}

// noteProgress notes what a pod has just said about its daemons and ranks; the earliest counts.
func (t *timeline) noteProgress(progress mpi.Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.elapsedSeconds()
	t.timings.DaemonSeconds = earlierStart(t.timings.DaemonSeconds, now, progress.DaemonAge)
	t.timings.RankSeconds = earlierStart(t.timings.RankSeconds, now, progress.RankAge)
}

func earlierStart(known *float64, now float64, age *float64) *float64 {
	if age == nil {
		return known
	}
	at := mpi.RoundSeconds(max(0, now-*age))
	if known != nil && *known <= at {
		return known
	}
	return &at
}

func (t *timeline) snapshot() mpi.LaunchTimings {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.timings
}

// answerRequest is the subsystem.
func (t *timeline) answerRequest(context.Context, []byte) (any, error) { return t.snapshot(), nil }
