package node

import (
	"context"
	"os"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/agenttest"
	"lockstep.dev/lockstep/pkg/mpi/agent/usage"
	"lockstep.dev/lockstep/pkg/mpi/agent/watch"
)

func TestLedgerReportsWhatRan(t *testing.T) {
	files := fstest.MapFS{"sys/fs/cgroup/memory.events": {Data: []byte("oom_kill 3\n")}}
	l := newActivityLog(usage.NewMeter(files), watch.NewRankWatcher(watch.NewProcessTracker(func(int) bool { return true }), false))
	first, begins := l.noteDaemonStart("orted")
	second, more := l.noteDaemonStart("prted")
	if !begins || more {
		t.Errorf("a launch begins with its first daemon: %v, %v", begins, more)
	}
	first(0)
	files["sys/fs/cgroup/memory.events"] = &fstest.MapFile{Data: []byte("oom_kill 5\n")}
	reports := make(chan mpi.NodeReport)
	go func() { reports <- l.reportWhenIdle(context.Background(), "w-0") }()
	second(137)
	got := <-reports
	if got.DaemonAgo <= 0 {
		t.Errorf("nobody knows when the daemon ended: %+v", got)
	}
	got.DaemonAgo, got.Usage = 0, nil
	if diff := cmp.Diff(mpi.NodeReport{Name: "w-0", Daemons: 2, LastExitCode: 137, OOMKills: 2}, got); diff != "" {
		t.Error(diff)
	}
	l.noteDaemonStart("orted")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got := l.reportWhenIdle(ctx, "w-0"); got.Daemons != 3 {
		t.Errorf("while one runs: %+v", got)
	}
}

// prted ends with 0 however its ranks end, orted may end with their code.
func TestLedgerKnowsADaemonThatDied(t *testing.T) {
	for line, want := range map[string]bool{"/usr/bin/prted --prtemca x": true, "orted -mca ess env": false, "hydra_pmi_proxy --control-port l:1": false} {
		l := newActivityLog(usage.NewMeter(os.DirFS(t.TempDir())), watch.NewRankWatcher(watch.NewProcessTracker(func(int) bool { return true }), false))
		ended, _ := l.noteDaemonStart(line)
		ended(1)
		if got := l.reportWhenIdle(t.Context(), "w-0"); (got.DaemonAgo > 0) != want || got.LastExitCode != 1 {
			t.Errorf("%s: %+v", line, got)
		}
	}
}

// How the daemon of an earlier launch ended says nothing of one that still runs.
func TestALaunchForgetsTheDaemonBeforeIt(t *testing.T) {
	l := newActivityLog(usage.NewMeter(os.DirFS(t.TempDir())), watch.NewRankWatcher(watch.NewProcessTracker(func(int) bool { return true }), false))
	for _, code := range []int{143, 0} {
		ended, _ := l.noteDaemonStart("/usr/bin/prted")
		if got := l.reportWhenIdle(t.Context(), "w-0"); got.DaemonAgo != 0 {
			t.Errorf("%+v", got)
		}
		ended(code)
	}
}

// A rank that horovodrun started by an ssh of its own is not a daemon that somebody killed, and one of many in its launch.
func TestLedgerKnowsRanksFromDaemons(t *testing.T) {
	l := newActivityLog(usage.NewMeter(os.DirFS(t.TempDir())), watch.NewRankWatcher(watch.NewProcessTracker(func(int) bool { return true }), false))
	for range 2 {
		ended, begins := l.noteDaemonStart("HOROVOD_RANK=1 python train.py")
		l.ranks.NoteRankEnd(mpi.RankEnd{}, nil, agenttest.StatusOfSignal(syscall.SIGSEGV), time.Now())
		ended(139)
		if begins {
			t.Error("a rank begins no launch")
		}
	}
	if got := l.reportWhenIdle(t.Context(), "w-0"); got.DaemonAgo != 0 || got.LastExitCode != 139 || len(got.Ranks) != 2 {
		t.Errorf("%+v", got)
	}
}
