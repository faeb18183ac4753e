package verdict

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/agenttest"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

func TestRanksThatNobodySawAreNamed(t *testing.T) {
	early := func(ago float64) mpi.RankEnd { return mpi.RankEnd{Hydra: true, Early: true, Ago: ago} }
	pod := func(name string, numbers []int, ends ...mpi.RankEnd) mpi.NodeReport {
		return mpi.NodeReport{Name: name, World: 4, Numbers: numbers, Ranks: ends}
	}
	cases := map[string]struct {
		reason string
		own    []int
		nodes  []mpi.NodeReport
		// want are the numbers of the first pod with such ranks, -1 for unknown.
		want []int
	}{
		"one":              {"", nil, []mpi.NodeReport{pod("a", []int{0, 1}), pod("b", []int{2}, early(1))}, []int{3}},
		"in turn":          {"mpirun -ppn 1", nil, []mpi.NodeReport{pod("a", []int{0, 2}), pod("b", []int{3}, early(1))}, []int{1}},
		"two of one":       {"", nil, []mpi.NodeReport{pod("a", []int{3}), pod("b", []int{1}, early(1), early(1))}, []int{0, 2}},
		"with launcher":    {"ranks of the launcher's pod", []int{0, 1}, []mpi.NodeReport{pod("b", []int{2}, early(1))}, []int{3}},
		"of two pods":      {"nobody knows which is which", nil, []mpi.NodeReport{pod("a", []int{0}, early(1)), pod("b", []int{2}, early(1))}, []int{-1}},
		"no report":        {"a node was lost", nil, []mpi.NodeReport{{Name: "a", Error: "gone"}, pod("b", []int{2}, early(1))}, []int{-1}},
		"several launches": {"of different sizes", nil, []mpi.NodeReport{{Name: "a", World: 2, Numbers: []int{0, 1}}, {Name: "b", World: 4, Numbers: []int{2}, Ranks: []mpi.RankEnd{early(1)}}}, []int{-1}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := Evidence{Reports: c.nodes, Own: mpi.NodeReport{Numbers: c.own}}
			if c.own != nil {
				f.Own.World = 4
			}
			named := f.assignEarlyExitNumbers()
			for _, report := range named.podReports() {
				if report.Numbers != nil {
					t.Errorf("numbers stay in the verdict: %v", report.Numbers)
				}
			}
			for _, report := range named.Reports {
				var got []int
				for _, end := range report.Ranks {
					if got = append(got, -1); end.Rank != nil {
						got[len(got)-1] = *end.Rank
					}
				}
				if got != nil {
					if diff := cmp.Diff(c.want, got); diff != "" {
						t.Errorf("%s: %s", c.reason, diff)
					}
					return
				}
			}
		})
	}
}

// The others were ended after the agent had seen that they waited.
func TestARankThatWasGoneEarlyIsBlamed(t *testing.T) {
	three, two := 3, 2
	nodes := []mpi.NodeReport{
		{Name: "job-node-0-0", Daemons: 1, World: 4, Numbers: []int{0, 1}},
		{Name: "job-node-0-1", Daemons: 1, World: 4, Numbers: []int{2}, Ranks: []mpi.RankEnd{
			{Hydra: true, Early: true, Ago: 7}, {Rank: &two, Code: 137, Signal: "SIGKILL", Hydra: true, Ago: 2},
		}},
	}
	for name, status := range map[string]process.Status{"failed": agenttest.StatusOfCode(255), "success": agenttest.StatusOfCode(0)} {
		verdict := judgeCommand(Evidence{Argv: []string{"mpirun", "train"}, Status: status, Reports: nodes})
		if verdict.Reason != diagnose.RankFailed || verdict.Host != "job-node-0-1" || verdict.Rank == nil || *verdict.Rank.Rank != three ||
			!strings.HasPrefix(verdict.Message, "Worker 1 failed: rank 3 ended before it came to MPI_Init") {
			t.Errorf("%s: %+v", name, verdict)
		}
	}
}

// Which of several nodes a rank was on, nobody can know.
func TestRanksOfTwoNodesStayUnnamed(t *testing.T) {
	end := func(host string) mpi.RankEnd { return mpi.RankEnd{Host: host, Hydra: true, Early: true} }
	f := Evidence{Own: mpi.NodeReport{World: 4, Numbers: []int{0, 1}, Ranks: []mpi.RankEnd{end("a"), end("b")}}}
	if named := f.assignEarlyExitNumbers(); named.Own.Ranks[0].Rank != nil || named.Own.Ranks[1].Rank != nil {
		t.Error("named all the same")
	}
}
