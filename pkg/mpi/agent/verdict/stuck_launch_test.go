package verdict

import (
	"strings"
	"testing"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/agenttest"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// A launcher that outlives its ranks has no exit code: the verdict follows from how the ranks ended.
func TestAStuckLaunchEndsAsItsRanksDid(t *testing.T) {
	one := 1
	failed := mpi.RankEnd{Rank: &one, Code: 3, Ago: 70}
	pod := func(ended int, ends ...mpi.RankEnd) mpi.NodeReport {
		return mpi.NodeReport{Name: "j-node-0-0.j", Daemons: 1, Seen: 4, World: 4, EndedWell: ended, Ranks: ends}
	}
	mpirun, script := []string{"/usr/bin/mpirun", "train"}, []string{"bash", "-c", "mpirun train; publish"}
	cases := map[string]struct {
		argv []string
		code int
		node mpi.NodeReport
		want mpi.Reason
		// again is when another launch began, after the end of the stuck one.
		again time.Duration
	}{
		"all ended well":                {mpirun, 143, pod(4), "", 0},
		"one is unknown":                {mpirun, 143, pod(3), mpi.ReasonLaunchStuck, 0},
		"none was seen":                 {mpirun, 143, mpi.NodeReport{Name: "j-node-0-0.j", Daemons: 1}, mpi.ReasonLaunchStuck, 0},
		"one failed":                    {mpirun, 143, pod(3, failed), diagnose.RankFailed, 0},
		"a later launch did the work":   {script, 0, pod(3), "", time.Second},
		"the script went on":            {script, 0, pod(4), "", 0},
		"the script stopped with it":    {script, 143, pod(4), mpi.ReasonLaunchStuck, 0},
		"it went on, and one is missed": {script, 0, pod(3), mpi.ReasonLaunchStuck, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			e := Evidence{
				Argv: tc.argv, Status: agenttest.StatusOfCode(tc.code), Ended: now, Now: now,
				Stuck: &StuckLaunch{Seen: "all ranks have ended", Ended: now.Add(-time.Minute)},
				Own:   mpi.NodeReport{Name: "j-launcher-0-0"}, Reports: []mpi.NodeReport{tc.node},
			}
			if tc.again > 0 {
				e.Launched.Seen = e.Stuck.Ended.Add(tc.again)
			}
			got, code := Judge(e)
			if got.Reason != tc.want || (code == 0) != (tc.want == "") || tc.want != diagnose.RankFailed && strings.HasPrefix(got.Message, "all ranks have ended; ") != (tc.again == 0) {
				t.Errorf("code %d, %s: %s", code, got.Reason, got.Message)
			}
		})
	}
}
