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

// elapsed is the time since the start, in seconds; the caller holds the lock.
func (t *timeline) elapsed() float64 { return mpi.Seconds(t.now().Sub(t.timings.Started).Seconds()) }

// gate notes how the gate has just ended.
func (t *timeline) gate(result mpi.GateResult) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.note(result, t.elapsed())
}

// passedBefore notes the gate of an init container, with which the launch began.
func (t *timeline) passedBefore(gate initGate) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timings.Started = gate.Started
	t.note(gate.Result, mpi.Seconds(gate.Result.Seconds))
}

// note takes over what a gate says that ended at some time; its own times count from when it began.
func (t *timeline) note(result mpi.GateResult, ended float64) {
	t.timings.TableFrom, t.timings.Connect = result.TableFrom, result.Connect
	if result.TableFrom != "" {
		at := mpi.Seconds(max(0, ended-result.Seconds+result.TableSeconds))
		t.timings.TableSeconds = &at
	}
	if result.Passed {
		t.timings.GateSeconds = &ended
	}
}

func (t *timeline) command() {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.elapsed()
	t.timings.CommandSeconds = &at
}

// seen notes what a pod has just said about its daemons and ranks; the earliest counts.
func (t *timeline) seen(progress mpi.Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.elapsed()
	t.timings.DaemonSeconds = earlier(t.timings.DaemonSeconds, now, progress.DaemonAge)
	t.timings.RankSeconds = earlier(t.timings.RankSeconds, now, progress.RankAge)
}

func earlier(known *float64, now float64, age *float64) *float64 {
	if age == nil {
		return known
	}
	at := mpi.Seconds(max(0, now-*age))
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

// answer is the subsystem.
func (t *timeline) answer(context.Context, []byte) (any, error) { return t.snapshot(), nil }
