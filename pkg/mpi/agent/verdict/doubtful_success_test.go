package verdict

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/agenttest"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// lostDaemonOn is what prterun prints before it exits with 0.
func lostDaemonOn(host string) []string {
	return strings.Split("rank 0 step 4\n---\nPRTE has lost communication with a remote daemon.\n\n"+
		"  HNP daemon   : [prterun-demo-launcher-0-0-16@0,0] on node demo-launcher-0-0\n"+
		"  Remote daemon: [prterun-demo-launcher-0-0-16@0,2] on node "+host+"\n\n"+
		"This is usually due to either a failure of the TCP network\nconnection to the node, or possibly an internal failure of\n"+
		"the daemon itself. We cannot recover from this failure, and\ntherefore will terminate the job.\n---", "\n")
}

// An exit code of 0 is believed unless somebody knows better.
func TestDoubtsOfAnExitCodeOf0(t *testing.T) {
	const one, two = "demo-node-0-0.demo", "demo-node-0-1.demo"
	at := func(ago float64) time.Time { return judgedAt.Add(-time.Duration(ago * float64(time.Second))) }
	prterun := Launch{After: at(10.1), Seen: at(10), Program: "prterun", Line: "prterun -n 4 x", Ended: at(1)}
	ran := []mpi.NodeReport{{Name: one, Daemons: 1}, {Name: two, Daemons: 1}}
	said := func(change func(*Evidence)) Evidence {
		f := Evidence{Launched: prterun, Reports: ran, Lines: lostDaemonOn("demo-node-0-1"), SaidLost: at(3)}
		change(&f)
		return f
	}
	own := []mpi.NodeReport{{Name: one, Daemons: 1, LastExitCode: 1, DaemonAgo: 3}}
	by := func(name, line string, ended float64) Launch {
		l := Launch{After: prterun.After, Seen: prterun.Seen, Program: name, Line: line}
		if ended > 0 {
			l.Ended = at(ended)
		}
		return l
	}
	left := func(change func(*Evidence)) Evidence {
		f := Evidence{Reports: ran, Unfinished: "mpirun -n 4 x"}
		change(&f)
		return f
	}
	elastic := func(end mpi.RankEnd) mpi.RankEnd {
		end.WithoutMPI = true
		return end
	}
	cases := map[string]struct {
		reason   string
		evidence Evidence
		want     mpi.Reason
		host     string
		words    string
	}{
		"said":                 {"the node had no time to see how its daemon ended", said(func(*Evidence) {}), diagnose.LaunchDaemonLost, two, "Worker 1 failed: the launcher lost its launch daemon, and ended the ranks; the command `mpirun x` exited with code 0"},
		"said, at once":        {"before the launcher was seen to run", said(func(f *Evidence) { f.SaidLost = at(10.05) }), diagnose.LaunchDaemonLost, two, ""},
		"said, admitted":       {"the script passed over it", said(func(f *Evidence) { f.Admitted = at(2.9) }), "", "", "its last launch ended with an error"},
		"said, copied late":    {"the launcher ended before its words came here", said(func(f *Evidence) { f.Admitted = at(3.1) }), "", "", "its last launch ended with an error"},
		"said, earlier":        {"another launch began since", said(func(f *Evidence) { f.SaidLost = at(11) }), "", "", ""},
		"said, other admitted": {"an earlier launch failed, too", said(func(f *Evidence) { f.Admitted = at(11) }), diagnose.LaunchDaemonLost, two, ""},
		"said, node gone":      {"its machine was lost", said(func(f *Evidence) { f.Reports = []mpi.NodeReport{ran[0], {Name: two, Error: "connection timed out"}} }), diagnose.WorkerLost, two, ""},
		"said of a stranger":   {"a rank prints the log of another job", said(func(f *Evidence) { f.Lines = lostDaemonOn("other-node-0-1") }), "", "", ""},
		"not said":             {"a rank has some of the words", said(func(f *Evidence) { f.Lines = []string{"ORTE has lost communication with a remote daemon."} }), "", "", ""},
		"said, stopped":        {"somebody ended the pod", said(func(f *Evidence) { f.Stopped = 15 }), "", "", ""},
		"daemon's own code":    {"of prted", Evidence{Launched: prterun, Reports: own}, diagnose.LaunchDaemonLost, one, "the launch daemon ended with code 1 before its launch was over: it crashed, or somebody ended it"},

		"daemon of prte":       {"`prte & prun x; kill -9 %1`: prted ends with an error when its prte is gone", Evidence{Launched: by("prun", "prun -n 4 x", 3.5), Reports: own}, "", "", ""},
		"daemon under prun":    {"nobody saw that its prte ran on", Evidence{Launched: by("prun", "prun -n 4 x", 2), Reports: own}, "", "", ""},
		"daemon afterwards":    {"its mpirun was over", Evidence{Launched: by("mpirun", "mpirun -n 4 x", 3.5), Reports: own}, "", "", ""},
		"daemon, end unseen":   {"nobody saw that its mpirun ran on", Evidence{Launched: by("mpirun", "mpirun -n 4 x", 0), Reports: own}, "", "", ""},
		"daemon of nobody":     {"a script called ssh", Evidence{Reports: own}, "", "", ""},
		"daemon killed, prte":  {"after a signal there is no doubt", Evidence{Launched: by("prun", "prun -n 4 x", 2), Reports: []mpi.NodeReport{{Name: one, Daemons: 1, LastExitCode: 137, DaemonAgo: 3}}}, diagnose.LaunchDaemonLost, one, ""},
		"daemon, said by prun": {"the words of its prte", said(func(f *Evidence) { f.Launched, f.Reports = by("prun", "prun x", 2), []mpi.NodeReport{own[0], ran[1]} }), diagnose.LaunchDaemonLost, two, ""},
		"daemon, recovery":     {"the launch survived it", Evidence{Launched: by("prterun", "prterun --with-ft ulfm -n 4 x", 1), Reports: own}, "", "", ""},
		"daemon, recovery on":  {"the same in other words", Evidence{Launched: by("mpirun", "mpirun --runtime-options recoverable=true x", 1), Reports: own}, "", "", ""},
		"killed, recovery":     {"also a daemon that was killed", Evidence{Launched: by("prterun", "prterun --enable-recovery x", 1), Losses: []Loss{{Host: one, Daemon: 137, At: at(3)}}, Reports: []mpi.NodeReport{{Name: one, Daemons: 1, LastExitCode: 137, DaemonAgo: 3}}}, "", "", ""},

		"first daemon": {"the others died of it", Evidence{Launched: prterun, Reports: []mpi.NodeReport{{Name: one, Daemons: 1, LastExitCode: 1, DaemonAgo: 2}, {Name: two, Daemons: 1, LastExitCode: 139, DaemonAgo: 3}}}, diagnose.LaunchDaemonLost, two, "the launch daemon ended with code 139"},

		"unfinished":           {"`mpirun x & exit 0`", left(func(*Evidence) {}), diagnose.LaunchAbandoned, "", "the command `mpirun x` exited with code 0 while its launch `mpirun -n 4 x` still ran, which ended with it (LOCKSTEP_ALLOW_UNFINISHED=true allows that)"},
		"unfinished, stopped":  {"somebody ended the pod", left(func(f *Evidence) { f.Stopped = 15 }), "", "", ""},
		"unfinished and lost":  {"the cause", left(func(f *Evidence) { f.Losses = []Loss{{Host: one, Error: "connection lost"}} }), diagnose.WorkerLost, one, ""},
		"unfinished, idle":     {"no rank had a chance", left(func(f *Evidence) { f.Reports = []mpi.NodeReport{{Name: one}} }), diagnose.LaunchAbandoned, "", ""},
		"passed over":          {"a pipe", Evidence{Launched: prterun, Admitted: at(2), Reports: []mpi.NodeReport{on(one, died(2, 3, "", 2.1))}}, "", "", "in its last launch rank 2 on worker 0 exited with code 3, which the command passed over (in a shell, a pipe needs `set -o pipefail`"},
		"passed over, elastic": {"torchrun started others", Evidence{Reports: []mpi.NodeReport{on(one, elastic(died(2, 137, "SIGKILL", 2.1)))}}, "", "", ""},
		"passed over, MPI too": {"the first of MPI", Evidence{Reports: []mpi.NodeReport{on(one, elastic(died(0, 137, "SIGKILL", 3)), died(2, 3, "", 2.1))}}, "", "", "in its last launch rank 2 on worker 0"},
		"passed over, unseen":  {"a launcher that failed without a rank", Evidence{Launched: prterun, Admitted: at(2), Reports: ran}, "", "", "its last launch ended with an error, which the command passed over"},
		"passed over, earlier": {"another launch did it", Evidence{Launched: prterun, Admitted: at(20), Reports: []mpi.NodeReport{on(one, died(2, 3, "", 20.1)), ran[1]}}, "", "", ""},
		"of the launcher":      {"it runs ranks too", Evidence{Admitted: at(2), Own: mpi.NodeReport{Name: "demo-launcher-0-0", Ranks: []mpi.RankEnd{died(0, 139, "SIGSEGV", 2.1)}}, Reports: ran}, "", "", "rank 0 on launcher was killed by SIGSEGV"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.evidence.Argv, c.evidence.Now = []string{"mpirun", "x"}, judgedAt
			got := judgeCommand(c.evidence)
			if got.Reason != c.want || got.Host != c.host || !strings.Contains(got.Message, c.words) || got.Succeeded() && (got.Message == "") != (c.words == "") {
				t.Errorf("%s: want %q on %q, %q, got %q on %q: %s", c.reason, c.want, c.host, c.words, got.Reason, got.Host, got.Message)
			}
		})
	}
}

// Who starts several programs at once with a build of Open MPI 5 that cannot does not find out by themselves.
func TestACrashOfSeveralProgramsIsExplained(t *testing.T) {
	for command, want := range map[string]bool{"mpirun -n 2 a : -n 2 b": true, "bash -c mpirun -n 2 a : -n 2 b": true, "mpirun a": false} {
		got := judgeCommand(Evidence{Argv: strings.Split(command, " "), Now: judgedAt, Reports: []mpi.NodeReport{{Name: "demo-node-0-0.demo", Daemons: 1, LastExitCode: 255, DaemonAgo: 1}}})
		if strings.Contains(got.Message, "several programs in one launch") != want || got.Reason != diagnose.LaunchDaemonLost {
			t.Errorf("%s: %s", command, got.Message)
		}
		got = judgeCommand(Evidence{Argv: strings.Split(command, " "), Status: agenttest.StatusOfSignal(syscall.SIGSEGV), Now: judgedAt})
		if strings.Contains(got.Message, "several programs in one launch") != want || got.Reason != mpi.ReasonCommandKilled {
			t.Errorf("%s, which crashed itself: %s", command, got.Message)
		}
	}
}

// The words of a code say no more than the code does.
func TestDaemonEnd(t *testing.T) {
	for code, want := range map[int]string{
		137: "the launch daemon ended with code 137, as after a kill",
		139: "the launch daemon ended with code 139, as after SIGSEGV",
		143: "the launch daemon was told to end (SIGTERM), as when its pod is deleted or evicted, or when a process there sends it that",
		255: "the launch daemon ended with code 255 before its launch was over: it crashed, or somebody ended it",
	} {
		if got := describeDaemonEnd(code); got != want {
			t.Errorf("%d: %s", code, got)
		}
	}
}
