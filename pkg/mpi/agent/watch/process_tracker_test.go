package watch

import (
	"context"
	"os"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
)

func TestTrackerLeavesTheAgentsOwnProcessesOut(t *testing.T) {
	stat := func(pid, parent string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(pid + " (x) S " + parent + " 1 1 0 -1 1 1 1 0 0 100 0 0 0 20 0 1 0 1 0 0")}
	}
	link := func(target string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(target), Mode: os.ModeSymlink}
	}
	watch := &ProcessTracker{agent: 1, program: "/opt/mpi-agent", now: time.Now, root: fstest.MapFS{
		"1/stat": stat("1", "0"), "2/stat": stat("2", "1"), "3/stat": stat("3", "2"), "4/stat": stat("4", "2"),
		"3/exe": link("/opt/mpi-agent"), "2/exe": link("/usr/bin/orted"),
		"2/io": {Data: []byte("wchar: 5\n")}, "3/io": {Data: []byte("wchar: 1000\n")},
		"4/environ": {Data: []byte("PMIX_RANK=4\x00")},
	}}
	want := mpi.Progress{Processes: 2, WrittenBytes: 5, CPUSeconds: 2, Evidence: []mpi.StuckProcess{
		{Rank: 4, PID: 4, Name: "x", State: "sleeping"}, {Rank: -1, PID: 2, Name: "x", State: "sleeping"},
	}}
	if diff := cmp.Diff(want, watch.Progress(mpi.ProgressRequest{Evidence: true})); diff != "" {
		t.Error(diff)
	}
	if !watch.hasSeenRank() {
		t.Error("no rank seen")
	}
	watch.NoteDaemonStart(context.Background(), true)
	if got := watch.Progress(mpi.ProgressRequest{}); got.RankAge == nil || got.DaemonAge == nil || watch.LaunchAge() == nil || got.Evidence != nil {
		t.Errorf("%+v", got)
	}
	if _, err := watch.AnswerProgress(context.Background(), []byte("{")); err == nil {
		t.Error("answered nonsense")
	}
}

func TestTrackerReadsConnectionsForThoseWhoAsk(t *testing.T) {
	watch := &ProcessTracker{agent: 1, now: time.Now, root: fstest.MapFS{"self/net/tcp": {Data: []byte(
		"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n   0: 0100007F:A1B2 0200007F:1F90 02 00000000:00000001 01:00000032 00000003     0\n",
	)}}}
	if got := watch.Progress(mpi.ProgressRequest{Evidence: true, Ranks: true}).Unanswered; got != nil {
		t.Errorf("nobody asked, and it was read: %v", got)
	}
	if got := watch.Progress(mpi.ProgressRequest{Unanswered: true}).Unanswered; len(got) != 1 || got[0].Retries != 3 {
		t.Errorf("got %v, want the one connection, tried three times more", got)
	}
}

// The kernel's tables are large: they are read again only after it has sent something again.
func TestTrackerSparesAKernelThatResendsNothing(t *testing.T) {
	const header = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
	blocked := "   0: 0100007F:A1B2 0200007F:1F90 02 00000000:00000001 01:00000032 00000003     0\n"
	root := fstest.MapFS{}
	set := func(connections, resent string) {
		root["self/net/tcp"] = &fstest.MapFile{Data: []byte(header + connections)}
		root["self/net/snmp"] = &fstest.MapFile{Data: []byte("Tcp: RetransSegs\nTcp: " + resent + "\n")}
	}
	watch := &ProcessTracker{agent: 1, now: time.Now, root: root}
	for i, look := range []struct {
		connections, resent string
		want                int
	}{{"", "7", 0}, {blocked, "7", 0}, {blocked, "8", 1}, {blocked, "8", 1}, {"", "8", 0}} {
		set(look.connections, look.resent)
		if got := watch.Progress(mpi.ProgressRequest{Unanswered: true}).Unanswered; len(got) != look.want {
			t.Errorf("look %d: %v", i, got)
		}
	}
}

func TestTrackerKnowsWhenTheNewestLaunchBegan(t *testing.T) {
	now := time.Unix(100, 0)
	watch := &ProcessTracker{agent: 1, root: fstest.MapFS{}, now: func() time.Time { return now }, rankAt: now}
	for _, begins := range []bool{true, false, true, false} { // two launches of two daemons
		watch.NoteDaemonStart(t.Context(), begins)
		now = now.Add(time.Minute)
	}
	if got, launch := watch.Progress(mpi.ProgressRequest{}), watch.LaunchAge(); *got.DaemonAge != 240 || *launch != 120 {
		t.Errorf("daemon %v, launch %v", *got.DaemonAge, *launch)
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
