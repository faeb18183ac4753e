package node

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/agenttest"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/agent/server"
	"lockstep.dev/lockstep/pkg/mpi/agent/usage"
	"lockstep.dev/lockstep/pkg/mpi/agent/watch"
	"lockstep.dev/lockstep/pkg/mpi/agent/watch/hydra"
)

// Whether a rank failed before a launch or in it can be a matter of milliseconds, so one answer tells both.
func TestANodeTellsOfItsLaunchTogetherWithItsRanks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := watch.NewProcessTracker(nil)
		l := newActivityLog(usage.NewMeter(os.DirFS(t.TempDir())), watch.NewRankWatcher(tracker, false))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 2 { // what failed before the second was passed over
			l.ranks.NoteRankEnd(mpi.RankEnd{}, nil, agenttest.StatusOfCode(3), time.Now())
			time.Sleep(time.Second)
			ended, begins := l.noteDaemonStart("orted")
			tracker.NoteDaemonStart(ctx, begins)
			ended(0)
		}
		time.Sleep(10 * time.Second)
		got := (Node{Hostname: "demo-node-0-0"}).answerReport(ctx, l, tracker)
		if got.Name != "demo-node-0-0" || len(got.Ranks) != 1 || got.Ranks[0].Ago != 11 || got.LaunchAge == nil || *got.LaunchAge != 10 {
			t.Errorf("%+v", got)
		}
	})
}

func TestExitOf(t *testing.T) {
	for name, c := range map[string]struct {
		status process.Status
		want   server.Exit
	}{
		"code":                            {agenttest.StatusOfCode(7), server.Exit{Code: 7}},
		"a signal that SSH knows":         {agenttest.StatusOfSignal(syscall.SIGSEGV), server.Exit{Code: 139, Signal: "SEGV"}},
		"a core dump":                     {agenttest.StatusOfSignal(syscall.SIGABRT | 0x80), server.Exit{Code: 134, Signal: "ABRT", CoreDumped: true}},
		"a signal that SSH has not":       {agenttest.StatusOfSignal(syscall.SIGBUS), server.Exit{Code: 135}},
		"a signal whose name contains it": {agenttest.StatusOfSignal(syscall.SIGSTKFLT), server.Exit{Code: 144}},
	} {
		if diff := cmp.Diff(c.want, exitOf(c.status)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestTheLogSaysWhyACommandEnded(t *testing.T) {
	stopping, stop := context.WithCancel(t.Context())
	pod, release := withEndCause(stopping, errPodStops)
	defer release()
	session, leave := context.WithCancel(pod)
	if got := describeEndCause(session); got != "" {
		t.Error(got)
	}
	hung, end := context.WithCancelCause(session)
	end(hydra.ErrRanksWait)
	if got := describeEndCause(hung); !strings.Contains(got, "a rank had ended") {
		t.Error(got)
	}
	other, cancel := context.WithCancel(pod)
	defer cancel()
	leave()
	if got := describeEndCause(session); got != " after the launcher closed the session" {
		t.Error(got)
	}
	stop()
	<-other.Done()
	if got := describeEndCause(other); got != " after the pod was asked to stop" {
		t.Error(got)
	}
}
