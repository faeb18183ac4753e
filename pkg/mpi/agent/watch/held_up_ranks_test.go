package watch

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
)

// podOfRanks has ranks from a number on, which have waited so many seconds for a processor.
func podOfRanks(first int, waited ...float64) mpi.Progress {
	var pod mpi.Progress
	for i, seconds := range waited {
		pod.Ranks = append(pod.Ranks, mpi.RankSchedule{Rank: first + i, PID: 10 + i, WaitedSeconds: seconds})
	}
	return pod
}

// words are the message of a warning, empty for none.
func words(warning *mpi.JobWarning) string {
	if warning == nil {
		return ""
	}
	return warning.Message
}

func TestTheRankIsNamedThatCannotRun(t *testing.T) {
	var h heldUpRanks
	now := time.Unix(1000, 0)
	look := func(after time.Duration, pods map[string]mpi.Progress) string {
		now = now.Add(after)
		return words(h.observePods(now, pods))
	}
	at := func(a, b, c, d float64) map[string]mpi.Progress {
		return map[string]mpi.Progress{"demo-node-0-0": podOfRanks(0, a, b), "demo-node-0-1": podOfRanks(2, c, d)}
	}
	if got := look(0, at(5, 5, 500, 5)); got != "" {
		t.Errorf("what was before the first look says nothing: %s", got)
	}
	if got := look(2*time.Second, at(5, 5, 502, 5)); got != "" {
		t.Errorf("two seconds say nothing: %s", got)
	}
	want := "rank 2 on demo-node-0-1 was ready to run and waited for a processor in 50 % of 60 s, the median of 4 ranks in 1 %: "
	if got := look(58*time.Second, at(5, 5.6, 530, 5.6)); !strings.HasPrefix(got, want) {
		t.Errorf("%s, want %s…", got, want)
	}
	if got := look(time.Minute, at(5, 6, 570, 6)); !strings.HasPrefix(got, want) {
		t.Errorf("the words of a condition that holds stay the same: %s", got)
	}
	if got := look(time.Minute, at(5, 46, 580, 6)); !strings.HasPrefix(got, "rank 1 on demo-node-0-0") {
		t.Errorf("another one is held up more: %s", got)
	}
	if got := look(time.Minute, at(19, 50, 584, 20)); got != "" {
		t.Errorf("a job that shares its processors a little runs well: %s", got)
	}
	if got := look(time.Minute, map[string]mpi.Progress{"demo-node-0-0": podOfRanks(2, 900)}); got != "" {
		t.Errorf("another process has a time of its own: %s", got)
	}
}

// More ranks than processors is nobody's fault among them.
func TestNoRankIsBlamedWhereAllAreHeldUp(t *testing.T) {
	var h heldUpRanks
	for i := range 4 {
		waited := float64(50 * i)
		got := words(h.observePods(time.Unix(int64(1000+60*i), 0), map[string]mpi.Progress{"a": podOfRanks(0, waited, waited+1, waited)}))
		if i > 0 && !strings.HasPrefix(got, "the ranks were ready to run and waited for a processor in 83 % of 60 s, the median of 3") {
			t.Errorf("look %d: %s", i, got)
		}
	}
}

// A rank that a shell starts is that shell's child: who works counts.
func TestTheBusiestProcessOfARankCounts(t *testing.T) {
	var h heldUpRanks
	got := ""
	for i := range 2 {
		got = words(h.observePods(time.Unix(int64(1000+60*i), 0), map[string]mpi.Progress{"a": {Ranks: []mpi.RankSchedule{{Rank: 0, PID: 5}, {Rank: 0, PID: 6, WaitedSeconds: float64(30 * i)}, {Rank: 1, PID: 7}, {Rank: 2, PID: 8}}}}))
	}
	if !strings.HasPrefix(got, "rank 0 on a was ready to run and waited for a processor in 50 %") {
		t.Error(got)
	}
}

func TestTrackerTellsHowRanksAreScheduled(t *testing.T) {
	root := fstest.MapFS{}
	for pid, process := range map[int]struct{ name, state, environ, schedstat string }{
		2: {"orted", "S", "", "1 9000000000 1"},
		3: {"train", "R", "OMPI_COMM_WORLD_RANK=7\x00", "8000000000 1500000000 12\n"},
		4: {"train", "T", "OMPI_COMM_WORLD_RANK=8\x00", "nonsense"},
		5: {"hydra_pmi_proxy", "S", "PMI_RANK=9\x00", "1 1 1"},
	} {
		root[fmt.Sprintf("%d/stat", pid)] = &fstest.MapFile{Data: fmt.Appendf(nil, "%d (%s) %s 1 1 1 0 -1 1 1 1 0 0 100 0 0 0 20 0 1 0 1 0 0", pid, process.name, process.state)}
		root[fmt.Sprintf("%d/environ", pid)] = &fstest.MapFile{Data: []byte(process.environ)}
		root[fmt.Sprintf("%d/schedstat", pid)] = &fstest.MapFile{Data: []byte(process.schedstat)}
	}
	tracker := &ProcessTracker{agent: 1, root: root, now: time.Now}
	want := []mpi.RankSchedule{{Rank: 7, PID: 3, WaitedSeconds: 1.5}, {Rank: 8, PID: 4, Stopped: true}}
	if diff := cmp.Diff(want, tracker.Progress(mpi.ProgressRequest{Ranks: true}).Ranks); diff != "" {
		t.Error(diff)
	}
	if got := tracker.Progress(mpi.ProgressRequest{}).Ranks; got != nil {
		t.Errorf("nobody asked: %v", got)
	}
}
