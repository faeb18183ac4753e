package agent

import (
	"context"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"lockstep.dev/lockstep/pkg/mpi"
)

func TestHangRuleFrom(t *testing.T) {
	cases := map[string]struct {
		after, progress string
		want            HangRule
		err             string
	}{
		"default":     {"", "", HangRule{}, ""},
		"off":         {"0", "output", HangRule{}, ""},
		"ten minutes": {"10m", "output", HangRule{After: 10 * time.Minute}, ""},
		"CPU counts":  {"1h", "output,cpu", HangRule{After: time.Hour, CPUCounts: true}, ""},
		"too short":   {"10ms", "", HangRule{}, "durations from 1s"},
		"negative":    {"-1m", "", HangRule{}, "durations from 1s"},
		"no unit":     {"600", "", HangRule{}, "such as 10m"},
		"CPU alone":   {"1h", "cpu", HangRule{}, "`output,cpu`"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := HangRuleFrom(c.after, c.progress)
			if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStillness(t *testing.T) {
	did := func(written uint64, cpu float64) mpi.Progress {
		return mpi.Progress{Processes: 2, WrittenBytes: written, CPUSeconds: cpu}
	}
	type pods = map[string]mpi.Progress
	still := pods{"a": did(10, 1), "b": did(20, 1)}
	cases := map[string]struct {
		reason string
		cpu    bool
		looks  []pods // one a minute, the rule is two minutes
		silent bool
		want   bool
	}{
		"nothing happens":        {"that is a hang", false, []pods{still, still, still}, false, true},
		"too early":              {"two minutes are not over", false, []pods{still, still}, false, false},
		"one rank writes":        {"any rank will do", false, []pods{still, still, {"a": did(11, 1), "b": did(20, 1)}}, false, false},
		"a process ends":         {"that is progress too", false, []pods{still, still, {"a": {Processes: 1, WrittenBytes: 10}, "b": did(20, 1)}}, false, false},
		"a deadlock spins":       {"CPU time is no progress by default", false, []pods{still, {"a": did(10, 60), "b": did(20, 60)}, {"a": did(10, 120), "b": did(20, 120)}}, false, true},
		"silent, but computing":  {"where CPU time counts", true, []pods{still, {"a": did(10, 60), "b": did(20, 60)}, {"a": did(10, 120), "b": did(20, 120)}}, false, false},
		"waits, wakes up":        {"a little CPU time is what waiting costs", true, []pods{still, {"a": did(10, 2), "b": did(20, 1)}, {"a": did(10, 3), "b": did(20, 1)}}, false, true},
		"a node does not answer": {"nobody knows what goes on there", false, []pods{still, {"a": did(10, 1)}, {"a": did(10, 1)}}, true, false},
		"a node answers late":    {"what it did before is no progress", false, []pods{{"a": did(10, 1)}, still, still}, false, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := stillness{rule: HangRule{After: 2 * time.Minute, CPUCounts: c.cpu}}
			var got bool
			for i, pods := range c.looks {
				got = s.look(time.Unix(int64(60*i), 0), pods, !c.silent)
			}
			if got != c.want {
				t.Errorf("%s: got %v", c.reason, got)
			}
		})
	}
}

func TestDescribeHangNamesTheLowestRanks(t *testing.T) {
	pods := map[string]mpi.Progress{
		"w-0": {Processes: 3, Evidence: []mpi.Stuck{
			{Rank: 0, PID: 7, Name: "train", State: "running"},
			{Rank: 0, PID: 8, Name: "loader", State: "sleeping", Wait: "pipe_read"},
			{Rank: -1, PID: 5, Name: "orted", State: "sleeping"},
		}},
		"w-1": {Processes: 10},
	}
	for i := range 10 {
		progress := pods["w-1"]
		progress.Evidence = append(progress.Evidence, mpi.Stuck{Rank: 1 + i, PID: 20 + i, Name: "train", State: "sleeping", Wait: "futex_wait_queue", Stack: []string{"a", "b"}})
		pods["w-1"] = progress
	}
	got := describeHang(HangRule{After: time.Minute}, pods)
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
	if got := describeHang(HangRule{After: time.Minute, CPUCounts: true}, nil); got != "none of the 0 processes of the job wrote anything or computed for 1m0s" {
		t.Errorf("got %q", got)
	}
}

func TestTrackerLeavesTheAgentsOwnProcessesOut(t *testing.T) {
	stat := func(pid, parent string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(pid + " (x) S " + parent + " 1 1 0 -1 1 1 1 0 0 100 0 0 0 20 0 1 0 1 0 0")}
	}
	link := func(target string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(target), Mode: os.ModeSymlink}
	}
	watch := &tracker{agent: 1, program: "/opt/mpi-agent", now: time.Now, root: fstest.MapFS{
		"1/stat": stat("1", "0"), "2/stat": stat("2", "1"), "3/stat": stat("3", "2"), "4/stat": stat("4", "2"),
		"3/exe": link("/opt/mpi-agent"), "2/exe": link("/usr/bin/orted"),
		"2/io": {Data: []byte("wchar: 5\n")}, "3/io": {Data: []byte("wchar: 1000\n")},
		"4/environ": {Data: []byte("PMIX_RANK=4\x00")},
	}}
	want := mpi.Progress{Processes: 2, WrittenBytes: 5, CPUSeconds: 2, Evidence: []mpi.Stuck{
		{Rank: 4, PID: 4, Name: "x", State: "sleeping"}, {Rank: -1, PID: 2, Name: "x", State: "sleeping"},
	}}
	if diff := cmp.Diff(want, watch.progress(mpi.ProgressRequest{Evidence: true})); diff != "" {
		t.Error(diff)
	}
	if !watch.seesRank() {
		t.Error("no rank seen")
	}
	watch.started(context.Background(), true)
	if got := watch.progress(mpi.ProgressRequest{}); got.RankAge == nil || got.DaemonAge == nil || got.LaunchAge == nil || got.Evidence != nil {
		t.Errorf("%+v", got)
	}
	if _, err := watch.answer(context.Background(), []byte("{")); err == nil {
		t.Error("answered nonsense")
	}
}

func TestTrackerKnowsWhenTheNewestLaunchBegan(t *testing.T) {
	now := time.Unix(100, 0)
	watch := &tracker{agent: 1, root: fstest.MapFS{}, now: func() time.Time { return now }, rankAt: now}
	for _, begins := range []bool{true, false, true, false} { // two launches of two daemons
		watch.started(t.Context(), begins)
		now = now.Add(time.Minute)
	}
	if got := watch.progress(mpi.ProgressRequest{}); *got.DaemonAge != 240 || *got.LaunchAge != 120 {
		t.Errorf("daemon %v, launch %v", *got.DaemonAge, *got.LaunchAge)
	}
}

func TestTrackerKnowsLaunchersThatWait(t *testing.T) {
	for name, want := range map[string]bool{"mpirun": true, "mpiexec.hydra": true, "prterun": true, "prun": true, "prte": false, "bash": false, "python3": false} {
		watch := &tracker{agent: 1, now: time.Now, root: fstest.MapFS{
			"2/stat": {Data: []byte("2 (" + name + ") S 1 1 1 0 -1 1 1 1 0 0 100 0 0 0 20 0 1 0 1 0 0")},
		}}
		if got := watch.launching(); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestTimelineKeepsTheEarliest(t *testing.T) {
	now := time.Unix(100, 0)
	times := newTimeline(func() time.Time { return now })
	now = now.Add(3 * time.Second)
	times.gate(mpi.GateResult{Passed: true, Seconds: 2, TableSeconds: 0.5, TableFrom: mpi.TableFromController})
	now = now.Add(time.Second)
	times.command()
	now = now.Add(10 * time.Second)
	age := func(seconds float64) *float64 { return &seconds }
	times.seen(mpi.Progress{})
	times.seen(mpi.Progress{DaemonAge: age(9), RankAge: age(8)})
	times.seen(mpi.Progress{DaemonAge: age(9.5), RankAge: age(7)})
	want := mpi.Phases{
		Started: time.Unix(100, 0), TableFrom: mpi.TableFromController, TableSeconds: age(1.5), GateSeconds: age(3),
		CommandSeconds: age(4), DaemonSeconds: age(4.5), RankSeconds: age(6),
	}
	if diff := cmp.Diff(want, times.snapshot(), cmpopts.EquateApprox(0, 1e-6)); diff != "" {
		t.Error(diff)
	}
	before := newTimeline(time.Now)
	before.passedBefore(earlierGate{Started: time.Unix(50, 0), Result: mpi.GateResult{Passed: true, Seconds: 2, TableSeconds: 0.5, TableFrom: mpi.TableFromDNS}})
	want = mpi.Phases{Started: time.Unix(50, 0), TableFrom: mpi.TableFromDNS, TableSeconds: age(0.5), GateSeconds: age(2)}
	if diff := cmp.Diff(want, before.snapshot(), cmpopts.EquateApprox(0, 1e-6)); diff != "" {
		t.Errorf("after an init container: %s", diff)
	}
	failed := newTimeline(time.Now)
	failed.gate(mpi.GateResult{})
	if got := failed.snapshot(); got.GateSeconds != nil || got.TableSeconds != nil {
		t.Errorf("a gate that did not pass: %+v", got)
	}
}

func FuzzDecodeProgressRequest(f *testing.F) {
	f.Add([]byte(`{"evidence":true}`))
	f.Add([]byte("{"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if request, err := decodeProgressRequest(text); err != nil && request.Evidence {
			t.Skip("half a request is not used")
		}
	})
}
