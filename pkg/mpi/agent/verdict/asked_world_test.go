package verdict

import (
	"strings"
	"testing"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/agenttest"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// A job is never complete with less than the world that its launches asked for.
func TestALaunchWithLessThanItsWorldIsAFailure(t *testing.T) {
	const launcher, first, second = "j-launcher-0-0", "j-node-0-0", "j-node-0-1"
	asked := func(ranks, atLeast int, hosts ...string) AskedWorld {
		return AskedWorld{Line: "mpirun train", Dialect: mpi.PRRTE, Ranks: ranks, Hosts: hosts, AtLeast: atLeast}
	}
	all := asked(0, 3, launcher, first, second)
	node := func(name string, daemons, world int) mpi.NodeReport {
		return mpi.NodeReport{Name: name + ".j", Daemons: daemons, Seen: min(world, 1), World: world}
	}
	seen := func(name string, ranks, world int) mpi.NodeReport {
		return mpi.NodeReport{Name: name + ".j", Daemons: 1, Seen: ranks, World: world}
	}
	mpich := all
	mpich.Dialect = mpi.Hydra
	cases := map[string]struct {
		asked    []AskedWorld
		nodes    []mpi.NodeReport
		admitted bool
		want     mpi.Reason
		says     string
	}{
		"all":                    {[]AskedWorld{all}, []mpi.NodeReport{node(first, 1, 6), node(second, 1, 6)}, false, "", ""},
		"none":                   {[]AskedWorld{all}, []mpi.NodeReport{node(first, 0, 0), node(second, 0, 0)}, false, mpi.ReasonWorldIncomplete, first + ", " + second},
		"one of two":             {[]AskedWorld{all}, []mpi.NodeReport{node(first, 1, 6), node(second, 0, 0)}, false, mpi.ReasonWorldIncomplete, second},
		"another MPI":            {[]AskedWorld{mpich}, []mpi.NodeReport{node(first, 0, 0), node(second, 0, 0)}, false, diagnose.MPIVersionMismatch, "the image has MPICH, and the runtime is for Open MPI 5"},
		"ranks of two nodes":     {[]AskedWorld{asked(4, 2, launcher, first, second)}, []mpi.NodeReport{node(first, 0, 0), node(second, 0, 0)}, false, mpi.ReasonWorldIncomplete, "at least 2 nodes"},
		"two of three":           {[]AskedWorld{asked(4, 2, launcher, first, second)}, []mpi.NodeReport{node(first, 0, 0), node(second, 1, 0)}, false, "", ""},
		"made smaller":           {[]AskedWorld{asked(2, 1, launcher, first, second)}, []mpi.NodeReport{node(first, 1, 2), node(second, 0, 0)}, false, "", ""},
		"hosts":                  {[]AskedWorld{asked(0, 1, second)}, []mpi.NodeReport{node(first, 0, 0), node(second, 1, 2)}, false, "", ""},
		"hosts that were not":    {[]AskedWorld{asked(0, 1, second)}, []mpi.NodeReport{node(first, 1, 2), node(second, 0, 0)}, false, mpi.ReasonWorldIncomplete, second},
		"a smaller world":        {[]AskedWorld{asked(6, 3, launcher, first, second)}, []mpi.NodeReport{node(first, 1, 2), node(second, 1, 2)}, false, mpi.ReasonWorldIncomplete, "for 6 ranks at least, and their world had 2"},
		"a rank on each host":    {[]AskedWorld{all}, []mpi.NodeReport{node(first, 1, 1), node(second, 1, 0)}, false, mpi.ReasonWorldIncomplete, "none ran on " + second},
		"daemons without ranks":  {[]AskedWorld{all}, []mpi.NodeReport{seen(first, 2, 4), seen(second, 0, 0)}, false, mpi.ReasonWorldIncomplete, second},
		"a smaller world, meant": {[]AskedWorld{asked(4, 2, launcher, first, second)}, []mpi.NodeReport{seen(first, 2, 4), seen(second, 0, 0)}, false, "", ""},
		"the second ran alone":   {[]AskedWorld{all, all}, []mpi.NodeReport{node(first, 1, 0), node(second, 1, 0)}, false, mpi.ReasonWorldIncomplete, first},
		"both":                   {[]AskedWorld{all, all}, []mpi.NodeReport{node(first, 2, 0), node(second, 2, 0)}, false, "", ""},
		"the first was admitted": {[]AskedWorld{all, all}, []mpi.NodeReport{node(first, 1, 0), node(second, 1, 0)}, true, "", ""},
		"unknown":                {nil, []mpi.NodeReport{node(first, 1, 0), node(second, 0, 0)}, false, "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := Evidence{
				Argv: []string{"mpirun", "train"}, Status: agenttest.StatusOfCode(0), Runtime: mpi.PRRTE, Asked: tc.asked, Reports: tc.nodes, Now: time.Now(),
				Own: mpi.NodeReport{Name: launcher, Seen: 2}, AllowIdle: true, // which is no remedy
			}
			if tc.admitted {
				e.Admitted = e.Now
			}
			got, code := Judge(e)
			if got.Reason != tc.want || !strings.Contains(got.Message, tc.says) || (code == 0) != (tc.want == "") {
				t.Errorf("code %d, %s: %s", code, got.Reason, got.Message)
			}
		})
	}
}

// A rank of a second launch may live too short to be seen, beside ranks of the first that were.
func TestRanksOfAnotherLaunchProveNothing(t *testing.T) {
	for relaunched, want := range map[bool]mpi.Reason{false: mpi.ReasonWorldIncomplete, true: ""} {
		e := Evidence{
			Argv: []string{"bash"}, Status: agenttest.StatusOfCode(0), Runtime: mpi.PRRTE, Now: time.Now(),
			Asked: []AskedWorld{{Line: "mpirun -H b", Hosts: []string{"b"}, AtLeast: 1}}, Relaunched: relaunched,
			Reports: []mpi.NodeReport{{Name: "a.j", Daemons: 1, Seen: 1, World: 1}, {Name: "b.j", Daemons: 1}},
		}
		if got, _ := Judge(e); got.Reason != want {
			t.Errorf("relaunched: %t: %s: %s", relaunched, got.Reason, got.Message)
		}
	}
}
