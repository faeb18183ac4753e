package main

import (
	"crypto/elliptic"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/agenttest"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

func asFailure(err error, failure **client.Failure) bool { return errors.As(err, failure) }

// fakeMPIRun starts a daemon on every host of the hostfile, side by side, as ORTE does, and fails with the last failure.
const fakeMPIRun = `#!/bin/sh
code=0 pids=""
while read host slots; do
	rsh "$host" orted -mca "$@" </dev/null &
	pids="$pids $!"
done <"$HOSTFILE"
for pid in $pids; do wait $pid || code=$?; done
exit $code
`

// noTimes leaves out what differs from run to run.
var noTimes = cmpopts.IgnoreFields(mpi.Verdict{}, "GateSeconds", "RunSeconds", "IdleSeconds", "Timings", "Usage")

func TestRunStartsDaemonsOnAllNodesAndReportsThem(t *testing.T) {
	t.Parallel()
	j := newJob(t, 3)
	j.nodes()
	j.script("mpirun", fakeMPIRun)
	launcher := j.launch(nil, "mpirun", "hello")
	result, err := j.push()
	if err != nil || !result.Passed || len(result.Failures) != 0 {
		t.Errorf("the controller heard %+v, %v", result, err)
	}
	got := launcher.wait()
	for _, host := range j.hosts[1:] {
		name, _, _ := strings.Cut(host.Name, ".")
		if want := "rank on " + name + ": -mca hello\n"; !strings.Contains(got.stdout, want) {
			t.Errorf("no output %q in %q", want, got.stdout)
		}
	}
	want := mpi.Verdict{Nodes: []mpi.NodeReport{
		{Name: "demo-node-0-0.demo", Daemons: 1}, {Name: "demo-node-0-1.demo", Daemons: 1}, {Name: "demo-node-0-2.demo", Daemons: 1},
	}}
	if j.verdict().Usage == nil {
		t.Error("no pod has reported how much it used")
	}
	if diff := cmp.Diff(want, j.verdict(), noTimes); got.code != 0 || diff != "" {
		t.Errorf("exit code %d, verdict %s\n%s", got.code, diff, got.stderr)
	}
	hydra, err := os.ReadFile(filepath.Join(j.dir, j.hosts[0].Name, "hostfile.hydra"))
	if err != nil || string(hydra) != "demo-node-0-0.demo:2\ndemo-node-0-1.demo:2\ndemo-node-0-2.demo:2\n" {
		t.Errorf("hostfile for Hydra: %q, %v", hydra, err)
	}
}

func TestRunAnswersEveryPushTheSame(t *testing.T) {
	t.Parallel()
	j := newJob(t, 1)
	j.nodes()
	j.script("mpirun", fakeMPIRun)
	go1 := filepath.Join(j.dir, "go")
	j.script("patient", "#!/bin/sh\nwhile ! test -e "+go1+"; do sleep 0.01; done; exec mpirun\n")
	launcher := j.launch(nil, "patient")
	first, err := j.push()
	if err != nil {
		t.Fatal(err)
	}
	j.hosts[1].Address = "127.0.0.9" // a different table after the gate has passed is ignored
	second, err := j.push()
	if diff := cmp.Diff(first, second); err != nil || diff != "" {
		t.Errorf("%v, %s", err, diff)
	}
	j.write(go1, "", 0o644)
	if got := launcher.wait(); got.code != 0 {
		t.Error(got)
	}
}

func TestRunRefusesATableWithoutAllNodes(t *testing.T) {
	t.Parallel()
	j := newJob(t, 2)
	j.launch(nil, "true")
	j.hosts = j.hosts[:2]
	var refused *client.RefusedError
	if _, err := j.push(); !errors.As(err, &refused) || !strings.Contains(err.Error(), "lacks `demo-node-0-1.demo`") {
		t.Errorf("got %v", err)
	}
}

func TestRunWaitsForALateNode(t *testing.T) {
	t.Parallel()
	j := newJob(t, 2)
	j.node(0)
	j.script("mpirun", fakeMPIRun)
	launcher := j.launch(nil, "mpirun")
	passed := make(chan bool)
	go func() {
		result, err := j.push()
		passed <- err == nil && result.Passed
	}()
	time.Sleep(200 * time.Millisecond) // some attempts are refused; the outcome does not depend on how many
	j.node(1)
	if !<-passed {
		t.Error("the gate did not pass")
	}
	if got := launcher.wait(); got.code != 0 {
		t.Error(got)
	}
}

func TestRunVerdicts(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		flags   []string
		command []string
		code    int
		want    mpi.Verdict
		words   []string
	}{
		"failure": {
			reason: "the exit code is the user's", command: []string{"sh", "-c", "mpirun; exit 7"}, code: 7,
			want: mpi.Verdict{Reason: mpi.ReasonCommandFailed, ExitCode: 7}, words: []string{"`sh -c 'mpirun; exit 7'` exited with code 7"},
		},
		"signal": {
			reason: "as shells report it", command: []string{"sh", "-c", "kill -SEGV $$"}, code: 139,
			want: mpi.Verdict{Reason: mpi.ReasonCommandKilled, ExitCode: 139}, words: []string{"was killed by SIGSEGV"},
		},
		"alone": {
			reason: "the worst defect of the field: the launcher ran alone and exits 0", command: []string{"true"}, code: 125,
			want:  mpi.Verdict{Reason: mpi.ReasonWorldIncomplete},
			words: []string{"nothing ever ran on any of the 2 other nodes", "exited with code 0"},
		},
		"without MPI": {
			reason:  "what a script runs on nodes is its work",
			command: []string{"sh", "-c", "rsh demo-node-0-0 hostname; rsh demo-node-0-1 hostname"},
		},
		"on one node": {
			reason: "a smaller world may be meant", command: []string{"rsh", "demo-node-0-1", "orted"},
			words: []string{"no rank ever ran on demo-node-0-0 (LOCKSTEP_ALLOW_IDLE_NODES=true if that is meant"},
		},
		"idle allowed": {reason: "the user knows better", flags: []string{"--allow-idle-nodes"}, command: []string{"true"}},
		"not found": {
			reason: "a misspelt command fails at once, not after the gate", command: []string{"mpirum"}, code: 127,
			want: mpi.Verdict{Reason: mpi.ReasonCommandNotFound, ExitCode: -1}, words: []string{"`mpirum` was not found"},
		},
		"not executable": {
			reason: "as shells report it", command: []string{"/etc/passwd"}, code: 126,
			want: mpi.Verdict{Reason: mpi.ReasonCommandNotFound, ExitCode: -1}, words: []string{"not executable"},
		},
		"no command": {
			reason: "a runtime without a command", code: 125,
			want: mpi.Verdict{Reason: mpi.ReasonCommandNotFound, ExitCode: -1}, words: []string{"spec.trainer.command"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, 2)
			j.nodes()
			j.script("mpirun", fakeMPIRun)
			launcher := j.launch(c.flags, c.command...)
			go func() { _, _ = j.push() }() // a launcher that fails before its gate hears nothing
			got := launcher.wait()
			if got.code != c.code {
				t.Errorf("%s: got exit code %d\n%s", c.reason, got.code, got.stderr)
			}
			verdict := j.verdict()
			for _, words := range c.words {
				if !strings.Contains(verdict.Message, words) || !strings.Contains(got.stderr, words) {
					t.Errorf("%s: no %q in %q", c.reason, words, verdict.Message)
				}
			}
			if diff := cmp.Diff(c.want, verdict, noTimes, cmpopts.IgnoreFields(mpi.Verdict{}, "Message", "Nodes", "Lines")); diff != "" {
				t.Errorf("%s: %s", c.reason, diff)
			}
		})
	}
}

func TestRunWithoutNodesNeedsNoTable(t *testing.T) {
	t.Parallel()
	j := newJob(t, 1)
	j.write(j.hostfile, "demo-launcher-0-0.demo slots=4\n", 0o644)
	if got := j.launch(nil, "echo", "alone").wait(); got.code != 0 || got.stdout != "alone\n" {
		t.Error(got)
	}
	if verdict := j.verdict(); !verdict.Succeeded() {
		t.Error(verdict)
	}
}

func TestRunNamesTheNodesThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	j := newJob(t, 3)
	j.node(0)
	other := newJob(t, 1)
	other.port, other.hosts[1] = j.port, j.hosts[2]
	other.node(0) // another job's agent has the address
	awaitListener(t, j, 1)
	awaitListener(t, j, 2)
	launcher := j.launch([]string{"--gate-timeout", "3s"}, "true")
	result, err := j.push()
	want := []mpi.NodeFailure{
		{Name: "demo-node-0-1.demo", Address: j.hosts[2].Address, Error: "authentication failed"},
		{Name: "demo-node-0-2.demo", Address: j.hosts[3].Address, Error: "connection refused"},
	}
	if diff := cmp.Diff(want, result.Failures); err != nil || result.Passed || diff != "" {
		t.Errorf("the controller heard %+v, %v: %s", result, err, diff)
	}
	got := launcher.wait()
	verdict := j.verdict()
	if got.code != 125 || verdict.Reason != mpi.ReasonGateTimeout || verdict.ExitCode != -1 {
		t.Errorf("exit code %d, verdict %+v", got.code, verdict)
	}
	for _, words := range []string{"2 nodes did not answer", "demo-node-0-1 (" + j.hosts[2].Address + "): authentication failed", "NetworkPolicy", "same Secret"} {
		if !strings.Contains(verdict.Message, words) {
			t.Errorf("no %q in %q", words, verdict.Message)
		}
	}
}

func TestRunSaysThatNobodySentTheTable(t *testing.T) {
	t.Parallel()
	j := newJob(t, 1)
	j.nodes()
	got := j.launch([]string{"--gate-timeout", "50ms"}, "true").wait()
	if verdict := j.verdict(); got.code != 125 || !strings.Contains(verdict.Message, "nobody sent the addresses") ||
		!strings.Contains(verdict.Message, "mpi-controller") {
		t.Errorf("exit code %d, verdict %+v", got.code, verdict)
	}
}

func TestRunBlamesTheLostNode(t *testing.T) {
	t.Parallel()
	hides := map[string]string{"the command fails": "exit 1", "the command hides it, as Open MPI 5 may": "exit 0"}
	for name, end := range hides {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, 2)
			nodes := j.nodes()
			j.script("orted", "#!/bin/sh\n"+untilTheEnd(j.dir+"/started-$HOSTNAME"))
			launcher := j.launch(nil, "sh", "-c", "rsh demo-node-0-1.demo orted; "+end)
			if result, err := j.push(); err != nil || !result.Passed {
				t.Fatal(result, err)
			}
			awaitFile(t, j.dir+"/started-demo-node-0-1")
			nodes[1].signal(syscall.SIGKILL)
			got := launcher.wait()
			verdict := j.verdict()
			if got.code == 0 || verdict.Succeeded() {
				t.Errorf("exit code %d, verdict %+v", got.code, verdict)
			}
			if want := "demo-node-0-1 (" + j.hosts[2].Address + "): connection lost"; !strings.Contains(verdict.Message, want) {
				t.Errorf("no %q in %q", want, verdict.Message)
			}
			if !strings.Contains(got.stderr, "lost node demo-node-0-1.demo") {
				t.Errorf("the log does not name the node: %s", got.stderr)
			}
		})
	}
}

func TestRunBlamesTheNodeThatWasStopped(t *testing.T) {
	t.Parallel()
	j := newJob(t, 2)
	nodes := j.nodes()
	// Like the real one it takes SIGTERM for a reason to end in order, with a code that says nothing.
	j.script("orted", "#!/bin/sh\ntrap 'exit 1' TERM\ntouch "+j.dir+"/started-$HOSTNAME; sleep 100; exit 1\n")
	launcher := j.launch(nil, "sh", "-c", "rsh demo-node-0-1.demo orted; exit 205")
	if result, err := j.push(); err != nil || !result.Passed {
		t.Fatal(result, err)
	}
	awaitFile(t, j.dir+"/started-demo-node-0-1")
	nodes[1].signal(syscall.SIGTERM)
	got := launcher.wait()
	want := "exited with code 205; demo-node-0-1 (" + j.hosts[2].Address + "): the launch daemon was told to end (SIGTERM)"
	if verdict := j.verdict(); got.code != 205 || !strings.Contains(verdict.Message, want) {
		t.Errorf("exit code %d, no %q in %q", got.code, want, verdict.Message)
	}
}

// ranks is a launch daemon that runs one rank, which ends with a code: orted -mca RANK CODE. It lives for a second, and longer on a machine with so much
// other work that the agent beside it does not get a turn either, so that it is seen.
const ranks = "#!/bin/sh\nOMPI_COMM_WORLD_RANK=$2 sh -c \"for turn in $(seq -s ' ' 20); do sleep 0.05; done; exit $3\"\n"

// A script tries something, passes over its failure and launches the real thing; another one cleans up after a failure.
func TestRunNamesTheRankOfTheLaunchThatFailed(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, command string
		rank, code      int
	}{
		"try first":     {"the first launch was passed over", "mpirun 1 3; mpirun 2 5", 2, 5},
		"another node":  {"also where the second one has no part", "rsh demo-node-0-0 orted -mca 1 3; sleep 1.2; rsh demo-node-0-1 orted -mca 2 5", 2, 5},
		"clean up then": {"the second launch did not fail", "mpirun 1 3; code=$?; mpirun 2 0; exit $code", 1, 3},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, 2)
			j.nodes()
			j.script("mpirun", fakeMPIRun)
			j.script("orted", ranks)
			launcher := j.launch(nil, "sh", "-c", c.command)
			if result, err := j.push(); err != nil || !result.Passed {
				t.Fatal(result, err)
			}
			got, verdict := launcher.wait(), j.verdict()
			if got.code != c.code || verdict.Reason != diagnose.RankFailed || verdict.Rank == nil || *verdict.Rank.Rank != c.rank {
				t.Errorf("%s: exit code %d, verdict %+v", c.reason, got.code, verdict)
			}
		})
	}
}

// A launch that could not reach a node, and one that could: the job is done.
func TestRunPassesOverALossThatTheCommandGotOver(t *testing.T) {
	t.Parallel()
	j := newJob(t, 1)
	j.nodes()
	j.script("mpirun", fakeMPIRun)
	launcher := j.launch(nil, "sh", "-c", "rsh -o ConnectionAttempts=1 -p 1 demo-node-0-0 orted; mpirun hello") // nobody listens on port 1
	if result, err := j.push(); err != nil || !result.Passed {
		t.Fatal(result, err)
	}
	got, verdict := launcher.wait(), j.verdict()
	if got.code != 0 || !verdict.Succeeded() || !strings.Contains(got.stderr, "connection refused") {
		t.Errorf("exit code %d, verdict %+v\n%s", got.code, verdict, got.stderr)
	}
}

func TestRunPassesSIGTERMOnAndSaysSo(t *testing.T) {
	t.Parallel()
	j := newJob(t, 1)
	j.nodes()
	launcher := j.launch(nil, "sh", "-c", "("+untilTheEnd(j.dir+"/started")+") & wait")
	if result, err := j.push(); err != nil || !result.Passed {
		t.Fatal(result, err)
	}
	awaitFile(t, j.dir+"/started")
	launcher.signal(syscall.SIGTERM)
	got := launcher.wait()
	verdict := j.verdict()
	if got.code != 143 || verdict.Reason != mpi.ReasonCommandKilled || !strings.Contains(verdict.Message, "asked to stop (SIGTERM)") {
		t.Errorf("exit code %d, verdict %+v", got.code, verdict)
	}
}

func TestRunCanBeStoppedWhileItWaits(t *testing.T) {
	t.Parallel()
	j := newJob(t, 1)
	launcher := j.launch(nil, "true")
	go func() { _, _ = j.push() }()
	awaitListener(t, j, 0)
	launcher.signal(syscall.SIGTERM)
	if got := launcher.wait(); got.code != 143 || j.verdict().Reason != mpi.ReasonCommandKilled {
		t.Errorf("%+v, verdict %+v", got, j.verdict())
	}
}

func TestRunSaysWhyItCannotBegin(t *testing.T) {
	t.Parallel()
	breakage := map[string]struct {
		breakIt func(*job)
		words   string
	}{
		"no key":          {func(j *job) { _ = os.Remove(filepath.Join(j.keyDir, "id_rsa")) }, "read the key of the job"},
		"no hostfile":     {func(j *job) { _ = os.Remove(j.hostfile) }, "read the hostfile"},
		"empty hostfile":  {func(j *job) { j.write(j.hostfile, "# none\n", 0o644) }, "names no host"},
		"broken hostfile": {func(j *job) { j.write(j.hostfile, "a slots=x\n", 0o644) }, "hostfile line 1"},
		"foreign key": {func(j *job) {
			j.write(filepath.Join(j.keyDir, "id_rsa"), string(agenttest.NewKeyPEM(j.t, elliptic.P384())), 0o600)
		}, "allowed are"},
	}
	for name, c := range breakage {
		t.Run(name, func(t *testing.T) {
			j := newJob(t, 1)
			c.breakIt(j)
			got := j.launch(nil, "true").wait()
			if verdict := j.verdict(); got.code != 125 || verdict.Reason != mpi.ReasonAgentFailed || !strings.Contains(verdict.Message, c.words) {
				t.Errorf("exit code %d, verdict %+v", got.code, verdict)
			}
		})
	}
}

func TestRunEndsAsTheCommandDidWhenTheVerdictCannotBeLeft(t *testing.T) {
	t.Parallel()
	j := newJob(t, 1)
	j.write(j.hostfile, "demo-launcher-0-0\n", 0o644)
	j.verdictAt = filepath.Join(j.dir, "none", "verdict")
	if got := j.launch(nil, "sh", "-c", "exit 3").wait(); got.code != 3 || !strings.Contains(got.stderr, "verdict could not be left") {
		t.Error(got)
	}
}

func TestGateLeavesTheTableForACommandThatSomebodyElseStarts(t *testing.T) {
	t.Parallel()
	j := newJob(t, 2)
	j.nodes()
	bin := filepath.Join(j.dir, "opt", "bin")
	gate := j.pod(j.hosts[0], "gate", "--hostfile", j.hostfile, "--termination-log", j.verdictAt, "--install", bin)
	if result, err := j.push(); err != nil || !result.Passed {
		t.Error(result, err)
	}
	if got := gate.wait(); got.code != 0 || !j.verdict().Succeeded() {
		t.Error(got)
	}
	if got := start(t, []string{asAgent + "=1"}, filepath.Join(bin, "mpi-agent"), "version").wait(); got.code != 0 {
		t.Errorf("the agent for the main container: %v", got)
	}
	if got := j.rsh("demo-node-0-1", "echo", "$HOSTNAME").wait(); got.stdout != "demo-node-0-1\n" {
		t.Error(got)
	}
	// A daemon on a node can start one on another node.
	if got := j.rsh("demo-node-0-1", "rsh", "demo-node-0-0", "echo", `'$HOSTNAME'`).wait(); got.stdout != "demo-node-0-0\n" {
		t.Error(got)
	}
}

// untilTheEnd is a script that says that it runs and ends with the test, whose folder vanishes: some tests kill the agent
// that would end it.
func untilTheEnd(file string) string {
	return "touch " + file + "; while test -e " + file + "; do sleep 0.1; done"
}

func awaitFile(t *testing.T, path string) {
	t.Helper()
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}
