package watch

import (
	"strings"
	"testing"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
)

func TestAStoppedRankIsNamedOnceItStaysStopped(t *testing.T) {
	stopped := stoppedRanks{}
	begin := time.Unix(1000, 0)
	for _, look := range []struct {
		after       time.Duration
		stop        bool
		mute, close bool
		want        string
	}{
		{0, false, false, false, ""},
		{10 * time.Second, true, false, true, ""}, // as a checkpoint does, for a moment
		{12 * time.Second, false, false, false, ""},
		{20 * time.Second, true, false, true, ""},
		{22 * time.Second, true, true, true, ""},
		{26 * time.Second, true, false, false, "rank 1 on a is stopped, as by SIGSTOP: "},
		{36 * time.Second, false, false, false, ""},
	} {
		pods := map[string]mpi.Progress{}
		if !look.mute {
			pod := podOfRanks(0, 0, 0, 0)
			pod.Ranks[1].Stopped, pod.Ranks[2].Stopped = look.stop, look.stop
			pods["a"] = pod
		}
		now := begin.Add(look.after)
		got := words(stopped.observePods(now, pods))
		if !strings.HasPrefix(got, look.want) || look.want == "" && got != "" || stopped.areNew(now) != look.close {
			t.Errorf("after %v: %q, look again soon: %v", look.after, got, stopped.areNew(now))
		}
	}
}
