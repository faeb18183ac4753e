package main

import (
	"errors"
	"strings"
	"testing"

	"lockstep.dev/lockstep/test/bench"
	"lockstep.dev/lockstep/test/testjob"
)

func TestVerdict(t *testing.T) {
	still := Reading{Goroutines: 100, ResidentMegabytes: 50, Watches: 40}
	cases := map[string]struct {
		reason string
		after  func(*Reading)
		failed []bench.Failure
		says   string
	}{
		"Still":      {"nothing grew", func(*Reading) {}, nil, ""},
		"Breathing":  {"pools come and go", func(r *Reading) { r.Goroutines = 120 }, nil, ""},
		"Goroutines": {"a leak", func(r *Reading) { r.Goroutines = 600 }, nil, "goroutines grew from 100 to 600"},
		"Watches":    {"a leak", func(r *Reading) { r.Watches = 90 }, nil, "watches"},
		"Series":     {"series outlive their jobs", func(r *Reading) { r.Series = 1 }, nil, "series"},
		"Orphans":    {"objects outlive their jobs", func(r *Reading) { r.Orphans = []string{"Secret x"} }, nil, "Secret x"},
		"Failed":     {"a job did not do what was asked", func(*Reading) {}, []bench.Failure{{Job: "soak-1", Reason: "WorkerLost", Message: "lost"}}, "soak-1 (WorkerLost): lost"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := Report{Before: still, After: still}
			for _, failure := range tc.failed {
				r.RecordFailure(failure)
			}
			tc.after(&r.After)
			err := r.Verdict()
			if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s: Verdict = %v, want %q", tc.reason, err, tc.says)
			}
		})
	}
}

// A failure can be understood from its report alone.
func TestAFailureSaysWhatWasWrong(t *testing.T) {
	job := testjob.Job{Nodes: 1, Slots: 1}
	fine := testjob.Result{Job: job, Condition: "Complete", Ranks: []testjob.Rank{{Size: 1, Host: "a", Sum: 1, Expected: 1, Right: true}}}
	lost := testjob.Result{Job: job, Condition: "Failed", Reason: "WorkerLost", Message: "worker 1 stopped answering"}
	cases := map[string]struct {
		result testjob.Result
		late   error
		says   string
	}{
		"Fine":   {fine, nil, ""},
		"Failed": {lost, nil, "soak-7 (WorkerLost): the job ended as Failed (WorkerLost): worker 1 stopped answering"},
		"Late":   {testjob.Result{}, errors.New("no end within 10m0s"), "soak-7: no end within 10m0s"},
	}
	for name, tc := range cases {
		failure := failed("soak-7", tc.result, tc.late)
		if (failure == nil) != (tc.says == "") || failure != nil && !strings.Contains(failure.String(), tc.says) {
			t.Errorf("%s: %v, want %q", name, failure, tc.says)
		}
	}
}

// What jobs cost the API server is told without the events, which are not objects to keep.
func TestWritesPerJob(t *testing.T) {
	r := Report{Tally: bench.Tally{Jobs: 100, Created: 50}, Before: Reading{writes: 1000}, After: Reading{writes: 1700}}
	r.settle(300)
	if r.WritesPerJob != 8 || r.EventsPerJob != 6 {
		t.Errorf("%v writes and %v events per job", r.WritesPerJob, r.EventsPerJob)
	}
}
