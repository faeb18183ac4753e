package verdict

import (
	"strings"
	"testing"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
)

func TestAHangNamesTheLowestRanks(t *testing.T) {
	pods := map[string]mpi.Progress{
		"w-0": {Processes: 3, Evidence: []mpi.StuckProcess{
			{Rank: 0, PID: 7, Name: "train", State: "running"},
			{Rank: 0, PID: 8, Name: "loader", State: "sleeping", Wait: "pipe_read"},
			{Rank: -1, PID: 5, Name: "orted", State: "sleeping"},
		}},
		"w-1": {Processes: 10},
	}
	for i := range 10 {
		progress := pods["w-1"]
		progress.Evidence = append(progress.Evidence, mpi.StuckProcess{Rank: 1 + i, PID: 20 + i, Name: "train", State: "sleeping", Wait: "futex_wait_queue", Stack: []string{"a", "b"}})
		pods["w-1"] = progress
	}
	got := Hang{After: time.Minute, Pods: pods}.String()
	for _, words := range []string{
		"none of the 13 processes of the job wrote anything for 1m0s; rank 0 (train, pid 7 on w-0) is running;",
		"rank 7 (train, pid 26 on w-1) is sleeping in futex_wait_queue (a < b); and 3 more ranks",
	} {
		if !strings.Contains(got, words) {
			t.Errorf("no %q in %q", words, got)
		}
	}
	if strings.Contains(got, "loader") || strings.Contains(got, "orted") {
		t.Errorf("only ranks should be named: %q", got)
	}
	if got := (Hang{After: time.Minute, CPUCounts: true}).String(); got != "none of the 0 processes of the job wrote anything or computed for 1m0s" {
		t.Errorf("got %q", got)
	}
}
