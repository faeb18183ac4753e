package verdict

import (
	"strings"
	"testing"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/agenttest"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// A launcher that outlives its ranks says nothing about them: how they ended does.
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
	}{
		"all ended well":                {mpirun, 143, pod(4), ""},
		"one is unknown":                {mpirun, 143, pod(3), mpi.ReasonLaunchStuck},
		"none was seen":                 {mpirun, 143, mpi.NodeReport{Name: "j-node-0-0.j", Daemons: 1}, mpi.ReasonLaunchStuck},
		"one failed":                    {mpirun, 143, pod(3, failed), diagnose.RankFailed},
		"the script went on":            {script, 0, pod(4), ""},
		"the script stopped with it":    {script, 143, pod(4), mpi.ReasonLaunchStuck},
		"it went on, and one is missed": {script, 0, pod(3), mpi.ReasonLaunchStuck},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			got, code := Judge(Evidence{
				Argv: tc.argv, Status: agenttest.StatusOfCode(tc.code), Stuck: "all ranks have ended", Ended: now, Now: now,
				Own: mpi.NodeReport{Name: "j-launcher-0-0"}, Reports: []mpi.NodeReport{tc.node},
			})
			if got.Reason != tc.want || (code == 0) != (tc.want == "") || tc.want != diagnose.RankFailed && !strings.HasPrefix(got.Message, "all ranks have ended; ") {
				t.Errorf("code %d, %s: %s", code, got.Reason, got.Message)
			}
		})
	}
}
