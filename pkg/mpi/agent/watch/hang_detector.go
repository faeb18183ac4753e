package watch

import (
	"fmt"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
)

// HangRule says when a job counts as hung. The zero value is never.
//
// Nobody can see from outside whether a program gets on. What can be seen is whether any process of the job writes
// anything: output, files, and messages as far as they go by write(2). That is the rule by default. CPU time says less
// than it seems: ranks that wait for each other in MPI or NCCL usually spin, so a job in a deadlock uses all its CPU.
// It can be made to count, for jobs that compute in silence for long and that sleep when they wait.
type HangRule struct {
	// After is how long nothing may happen; 0 turns the watch off.
	After time.Duration
	// CPUCounts reports whether CPU time is progress, from busyShare of one core per node on.
	CPUCounts bool
}

// busyShare is the part of a core above which a node counts as computing: programs that wait wake up now and then.
const busyShare = 0.05

// minHang is the shortest time that makes sense: the watch looks ten times.
const minHang = time.Second

// HangRuleFrom reads the rule from the values of its two variables: a duration such as `10m`, and `output` or
// `output,cpu`. Empty values are the defaults.
func HangRuleFrom(after, progress string) (HangRule, error) {
	var rule HangRule
	if after != "" {
		d, err := time.ParseDuration(after)
		if err != nil || d < minHang && d != 0 {
			return HangRule{}, fmt.Errorf("%s is `%s`: allowed are 0 (off) and durations from %v, such as 10m", mpi.HangAfterVariable, after, minHang)
		}
		rule.After = d
	}
	switch progress {
	case "", "output":
	case "output,cpu":
		rule.CPUCounts = true
	default:
		return HangRule{}, fmt.Errorf("%s is `%s`: allowed are `output` and `output,cpu`", mpi.HangProgressVariable, progress)
	}
	return rule, nil
}

// LookInterval is the time between two looks.
func (r HangRule) LookInterval() time.Duration {
	return min(max(r.After/10, 100*time.Millisecond), 30*time.Second)
}

// HangDetector remembers when the job last did something.
type HangDetector struct {
	Rule HangRule
	// since is when something happened last, base what the pods had done then.
	since time.Time
	base  map[string]mpi.Progress
}

// Observe takes in what the pods have done until now and reports whether the job has hung. A pod that does not answer proves
// nothing: the job is not called hung as long as one is silent. Whether it is lost is another watch's business.
func (d *HangDetector) Observe(now time.Time, pods map[string]mpi.Progress, all bool) bool {
	if d.base == nil || d.hasProgressed(now, pods) {
		d.since, d.base = now, pods
		return false
	}
	for name, progress := range pods {
		if _, known := d.base[name]; !known {
			d.base[name] = progress
		}
	}
	return all && now.Sub(d.since) >= d.Rule.After
}

func (d *HangDetector) hasProgressed(now time.Time, pods map[string]mpi.Progress) bool {
	for name, progress := range pods {
		before, known := d.base[name]
		switch {
		case !known:
		case progress.WrittenBytes != before.WrittenBytes, progress.Processes != before.Processes:
			return true
		case d.Rule.CPUCounts && progress.CPUSeconds-before.CPUSeconds > busyShare*max(now.Sub(d.since), d.Rule.LookInterval()).Seconds():
			return true
		}
	}
	return false
}
