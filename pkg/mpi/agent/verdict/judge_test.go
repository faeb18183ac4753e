package verdict

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/agenttest"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
	"lockstep.dev/lockstep/pkg/mpi/agent/program"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

func TestJudge(t *testing.T) {
	ran := mpi.NodeReport{Name: "w-0.demo", Daemons: 1}
	idle := mpi.NodeReport{Name: "w-1.demo"}
	cases := map[string]struct {
		reason   string
		evidence Evidence
		want     mpi.Reason
		code     int
		words    string
	}{
		"success":          {"all nodes ran ranks", Evidence{Reports: []mpi.NodeReport{ran}}, "", 0, ""},
		"no nodes":         {"the launcher is the only host", Evidence{}, "", 0, ""},
		"exit code":        {"a failed command needs no other reason", Evidence{Status: agenttest.StatusOfCode(7), Reports: []mpi.NodeReport{idle}}, mpi.ReasonCommandFailed, 7, "`mpirun x` exited with code 7"},
		"signal":           {"128+n", Evidence{Status: agenttest.StatusOfSignal(syscall.SIGSEGV)}, mpi.ReasonCommandKilled, 139, "was killed by SIGSEGV"},
		"signal of a rank": {"as mpirun reports it", Evidence{Status: agenttest.StatusOfCode(139)}, mpi.ReasonCommandFailed, 139, "exited with code 139 (as after SIGSEGV)"},
		"code above":       {"no signal has this number", Evidence{Status: agenttest.StatusOfCode(255)}, mpi.ReasonCommandFailed, 255, "exited with code 255"},
		"idle":             {"one of two", Evidence{Reports: []mpi.NodeReport{ran, idle}}, "", 0, "no rank ever ran on w-1 (LOCKSTEP_ALLOW_IDLE_NODES=true if that is meant;"},
		"unused":           {"a launcher that ran alone", Evidence{Reports: []mpi.NodeReport{idle, idle}}, mpi.ReasonWorldIncomplete, 0, "nothing ever ran on any of the 2 other nodes;"},
		"unused, allowed":  {"the user said so", Evidence{Reports: []mpi.NodeReport{idle, idle}, AllowIdle: true}, "", 0, ""},
		"unused, launcher": {"its own pod is a host too", Evidence{Own: mpi.NodeReport{Seen: 2, World: 2}, Reports: []mpi.NodeReport{idle}}, "", 0, "no rank ever ran on w-1"},
		"without MPI":      {"tasks by ssh", Evidence{Reports: []mpi.NodeReport{{Name: "w-0.demo", Commands: 3}}}, "", 0, ""},
		"idle, allowed":    {"the user said so", Evidence{Reports: []mpi.NodeReport{ran, idle}, AllowIdle: true}, "", 0, ""},
		"killed daemon":    {"Open MPI 5 may exit 0", Evidence{Reports: []mpi.NodeReport{{Name: "w-0.demo", Daemons: 1, LastExitCode: 137, DaemonAgo: 1}}}, diagnose.LaunchDaemonLost, 0, "w-0 failed: the launch daemon ended with code 137, as after a kill; the command"},
		"rank's code":      {"horovodrun starts ranks as others start daemons, and may pass over one", Evidence{Reports: []mpi.NodeReport{{Name: "w-0.demo", Daemons: 1, LastExitCode: 139}}}, "", 0, ""},
		"lost":             {"Open MPI 5 may exit 0", Evidence{Reports: []mpi.NodeReport{ran}, Losses: []Loss{{Host: "w-0.demo", Address: "10.0.0.1", Error: "connection lost"}}}, diagnose.WorkerLost, 0, "w-0 (10.0.0.1): connection lost"},
		"silent":           {"nobody knows", Evidence{Reports: []mpi.NodeReport{{Name: "w-0.demo", Error: "connection refused"}}, AllowIdle: true}, mpi.ReasonWorldIncomplete, 0, "no report could be had from w-0 (connection refused)"},
		"OOM":              {"the cause behind an exit code", Evidence{Status: agenttest.StatusOfCode(137), Reports: []mpi.NodeReport{{Name: "w-0.demo", Daemons: 1, OOMKills: 1}}}, diagnose.OOMKilled, 137, "on w-0 the kernel killed a process for lack of memory"},
		"gone":             {"Open MPI 4 says only 205", Evidence{Status: agenttest.StatusOfCode(205), Reports: []mpi.NodeReport{ran, {Name: "w-1.demo", Error: "connection refused"}}}, diagnose.WorkerLost, 205, "exited with code 205; no answer any more from w-1 (connection refused)"},
		"OOM, launcher":    {"the pod outlives its process, so kubelet says nothing", Evidence{Status: agenttest.StatusOfSignal(syscall.SIGKILL), Own: mpi.NodeReport{OOMKills: 2}}, diagnose.OOMKilled, 137, "was killed by SIGKILL; in the launcher's pod the kernel killed 2 processes for lack of memory"},
		"OOM, survived":    {"a child that the command did without", Evidence{Reports: []mpi.NodeReport{{Name: "w-0.demo", Daemons: 1, OOMKills: 1}}}, "", 0, ""},
		"lost and failed":  {"the first cause is named, MPI's own message blames libraries", Evidence{Status: agenttest.StatusOfCode(1), Losses: []Loss{{Host: "w-0.demo", Address: "", Error: "stopped answering"}, {Host: "w-1.demo", Address: "", Error: "other"}}}, diagnose.WorkerLost, 1, "exited with code 1; w-0: stopped answering"},
		"stopped":          {"eviction, preemption, deletion", Evidence{Status: agenttest.StatusOfSignal(syscall.SIGTERM), Stopped: syscall.SIGTERM}, mpi.ReasonCommandKilled, 143, "the pod was asked to stop (SIGTERM)"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.evidence.Argv = []string{"mpirun", "x"}
			got := judgeCommand(c.evidence)
			if got.Reason != c.want || got.ExitCode != c.code || !strings.Contains(got.Message, c.words) || (got.Message == "") != (c.words == "") {
				t.Errorf("%s: got %+v", c.reason, got)
			}
			if diff := cmp.Diff(c.evidence.Reports, got.Nodes); diff != "" {
				t.Errorf("%s: reports: %s", c.reason, diff)
			}
		})
	}
}

// Whose memory limit it was decides what to do.
func TestJudgeCountsKillsInTheLaunchersPod(t *testing.T) {
	got := judgeCommand(Evidence{Status: agenttest.StatusOfCode(1), Own: mpi.NodeReport{OOMKills: 2}, Reports: []mpi.NodeReport{{Name: "w-0.demo", Daemons: 1, OOMKills: 1}}})
	if got.OOMKills != 3 || got.LauncherOOMKills != 2 {
		t.Errorf("want 2 of 3 in the launcher's pod, got %d of %d", got.LauncherOOMKills, got.OOMKills)
	}
}

var judgedAt = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// on is a node whose ranks failed.
func on(host string, ends ...mpi.RankEnd) mpi.NodeReport {
	return mpi.NodeReport{Name: host, Daemons: 1, Ranks: ends}
}

// died is how a rank ended; signal is empty for an exit code.
func died(rank, code int, signal string, ago float64) mpi.RankEnd {
	return mpi.RankEnd{Rank: &rank, Code: code, Signal: signal, Ago: ago}
}

var secondInterface = mpi.HostTable{Hosts: []mpi.HostAddress{{Name: "demo-node-0-0.demo", Address: "10.0.0.1"}, {Name: "demo-node-0-1.demo", Address: "10.0.0.2"}}}

func TestJudgeNamesWhoFailed(t *testing.T) {
	loose := died(2, 137, "SIGKILL", 4)
	loose.WithoutMPI = true
	hydra := died(1, 3, "", 1)
	hydra.Hydra = true
	lines := func(text string) []string { return strings.Split(text, "\n") }
	cases := map[string]struct {
		reason   string
		evidence Evidence
		want     mpi.Reason
		host     string
		rank     int // -1: none
		words    string
	}{
		"exit code": {
			"the first of all ranks", Evidence{Status: agenttest.StatusOfCode(3), Reports: []mpi.NodeReport{on("demo-node-0-0.demo", died(0, 137, "SIGKILL", 1.0)), on("demo-node-0-1.demo", died(2, 3, "", 1.5))}},
			diagnose.RankFailed, "demo-node-0-1.demo", 2, "Worker 1 failed: rank 2 exited with code 3; the command `mpirun x` exited with code 3",
		},
		"killed, without MPI": {
			"DeepSpeed makes another code of the signal, and its other ranks lose their connections", Evidence{
				Status: agenttest.StatusOfCode(247), Ended: judgedAt.Add(-time.Second), Now: judgedAt,
				Reports: []mpi.NodeReport{on("demo-node-0-0.demo", died(0, 1, "", 3)), on("demo-node-0-1.demo", loose, died(3, 143, "SIGTERM", 3.5))},
				Lines:   lines("RuntimeError: [gloo/transport/tcp/pair.cc:547] Connection closed by peer [10.0.0.1]:1"),
			},
			diagnose.RankKilled, "demo-node-0-1.demo", 2, "Worker 1 failed: rank 2 was killed by SIGKILL",
		},
		"killed at the end, without MPI": {
			"what the agent kills once the command has ended is not to blame", Evidence{
				Status: agenttest.StatusOfCode(7), Ended: judgedAt.Add(-5 * time.Second), Now: judgedAt, Reports: []mpi.NodeReport{on("demo-node-0-1.demo", loose)},
			},
			diagnose.CommandFailed, "", -1, "exited with code 7",
		},
		"taken along": {
			"Horovod's rank that exits shuts the others down first, which say so", Evidence{
				Status: agenttest.StatusOfCode(1), Reports: []mpi.NodeReport{on("demo-node-0-0.demo", died(0, 1, "", 2.5)), on("demo-node-0-1.demo", died(2, 3, "", 2.0), died(3, 143, "SIGTERM", 1.9))},
				Lines: lines("[0]<stderr>:Traceback (most recent call last):\n[0]<stderr>:  File \"train.py\", line 9, in <module>\n[0]<stderr>:horovod.common.exceptions.HorovodInternalError: Horovod has been shut down.\nProcess 0 exit with status code 1."),
			},
			diagnose.RankFailed, "demo-node-0-1.demo", 2, "Worker 1 failed: rank 2 exited with code 3",
		},
		"taken along, long ago": {
			"what comes much later is another matter", Evidence{
				Status: agenttest.StatusOfCode(1), Reports: []mpi.NodeReport{on("demo-node-0-0.demo", died(0, 1, "", 42)), on("demo-node-0-1.demo", died(2, 3, "", 2.0))},
				Lines: lines("[0]<stderr>:horovod.common.exceptions.HorovodInternalError: Horovod has been shut down.\nProcess 0 exit with status code 1."),
			},
			diagnose.RankFailed, "demo-node-0-0.demo", 0, "Worker 0 failed: rank 0 exited with code 1",
		},
		"clean-up": {
			"machines do not see at one time what happened at one time: who was killed by the launcher is not the first", Evidence{Status: agenttest.StatusOfCode(1), Reports: []mpi.NodeReport{on("demo-node-0-0.demo", died(0, 137, "SIGKILL", 1.01)), on("demo-node-0-1.demo", died(2, 139, "SIGSEGV", 1.0))}},
			diagnose.RankKilled, "demo-node-0-1.demo", 2, "Worker 1 failed: rank 2 was killed by SIGSEGV",
		},
		"killed": {
			"a rank that somebody kills is the first", Evidence{Status: agenttest.StatusOfCode(137), Reports: []mpi.NodeReport{on("demo-node-0-0.demo", died(0, 137, "SIGKILL", 1.5)), on("demo-node-0-1.demo", died(2, 1, "", 1.0))}},
			diagnose.RankKilled, "demo-node-0-0.demo", 0, "Worker 0 failed: rank 0 was killed by SIGKILL",
		},
		"only clean-up":  {"the launcher ended it because of another one that nobody saw", Evidence{Status: agenttest.StatusOfCode(1), Reports: []mpi.NodeReport{on("demo-node-0-0.demo", died(1, 143, "SIGTERM", 1))}}, mpi.ReasonCommandFailed, "", -1, "the command `mpirun x` exited with code 1"},
		"of launcher":    {"a launcher that runs ranks", Evidence{Status: agenttest.StatusOfCode(3), Own: mpi.NodeReport{Name: "demo-launcher-0-0", Ranks: []mpi.RankEnd{died(0, 3, "", 1)}}}, diagnose.RankFailed, "demo-launcher-0-0", 0, "Launcher failed: rank 0 exited with code 3"},
		"shared memory":  {"SIGBUS", Evidence{Status: agenttest.StatusOfCode(135), Reports: []mpi.NodeReport{on("demo-node-0-1.demo", died(2, 135, "SIGBUS", 1))}}, diagnose.SharedMemoryTooSmall, "demo-node-0-1.demo", 2, "rank 2 was killed by SIGBUS: most often /dev/shm is too small"},
		"CUDA":           {"the words that users must read", Evidence{Status: agenttest.StatusOfCode(1), Reports: []mpi.NodeReport{on("demo-node-0-2.demo", died(5, 1, "", 1))}, Lines: lines("step 1\nRuntimeError: CUDA out of memory. Tried to allocate 2 GiB")}, diagnose.CUDAOutOfMemory, "demo-node-0-2.demo", 5, "Worker 2 failed: CUDA out of memory (rank 5 exited with code 1); the command"},
		"unseen":         {"a rank that lived too short to be seen, and not one that the launcher ended", Evidence{Status: agenttest.StatusOfCode(1), Reports: []mpi.NodeReport{on("demo-node-0-0.demo", died(0, 143, "SIGTERM", 1))}, Lines: lines("RuntimeError: CUDA out of memory.")}, diagnose.CUDAOutOfMemory, "", -1, "CUDA out of memory; the command"},
		"unseen, lesser": {"", Evidence{Status: agenttest.StatusOfCode(1), Reports: []mpi.NodeReport{on("demo-node-0-0.demo", died(1, 143, "SIGTERM", 1))}, Lines: lines("head: error writing 'standard output': No space left on device")}, diagnose.DiskFull, "", -1, "no space left on device; the command"},
		"tagged":         {"the rank that printed it, not the first that ended", Evidence{Status: agenttest.StatusOfCode(1), Reports: []mpi.NodeReport{on("demo-node-0-0.demo", died(0, 1, "", 2)), on("demo-node-0-2.demo", died(5, 1, "", 1))}, Lines: lines("[1,5]<stderr>:RuntimeError: CUDA out of memory.")}, diagnose.CUDAOutOfMemory, "demo-node-0-2.demo", 5, "Worker 2 failed: CUDA out of memory"},
		"exception":      {"", Evidence{Status: agenttest.StatusOfCode(1), Reports: []mpi.NodeReport{on("demo-node-0-0.demo", died(0, 1, "", 2))}, Lines: lines("Traceback (most recent call last):\n  File \"a.py\"\nValueError: bad")}, diagnose.PythonException, "demo-node-0-0.demo", 0, "Worker 0 failed: ValueError: bad (rank 0 exited with code 1)"},
		"later rank":     {"what a rank printed that failed later is no cause", Evidence{Status: agenttest.StatusOfCode(255), Reports: []mpi.NodeReport{on("demo-node-0-0.demo", died(1, 15, "", 1)), on("demo-node-0-1.demo", died(3, 3, "", 2))}, Lines: lines("Abort(7) on node 1 (rank 1 in comm 0): Fatal error in internal_Send: Invalid rank, error stack:")}, diagnose.RankFailed, "demo-node-0-1.demo", 3, "Worker 1 failed: rank 3 exited with code 3"},
		"symptom":        {"the rank says more than who lost it", Evidence{Status: agenttest.StatusOfCode(1), Reports: []mpi.NodeReport{on("demo-node-0-0.demo", died(0, 139, "SIGSEGV", 2))}, Lines: lines("Connection reset by peer")}, diagnose.RankKilled, "demo-node-0-0.demo", 0, "SIGSEGV"},
		"printed elsewhere": {"the pod that printed it, not the rank that ended first; and the interface before policies", Evidence{
			Status: agenttest.StatusOfCode(15), Table: secondInterface,
			Reports: []mpi.NodeReport{on("demo-node-0-0.demo", died(0, 15, "", 2)), on("demo-node-0-1.demo", died(2, 15, "", 1))},
			Lines:   lines("[1720000000.1] [demo-node-0-1:31  :0] sock.c:337  UCX  ERROR connect(fd=35, dest_addr=192.168.77.11:41000) failed: No route to host"),
		}, diagnose.MPIPortsBlocked, "demo-node-0-1.demo", 2, "Worker 1 failed: MPI communication failure - 192.168.77.11 is not the address of any pod of the job: name the interface of the pods (UCX_NET_DEVICES"},
		"printed, no rank": {"Open MPI prints it too", Evidence{
			Status: agenttest.StatusOfCode(1), Table: secondInterface, Reports: []mpi.NodeReport{on("demo-node-0-0.demo"), on("demo-node-0-1.demo")},
			Lines: lines("[demo-node-0-1:00031] btl_tcp_endpoint.c:667 connect() to 192.168.77.10:1024 failed: No route to host (113)"),
		}, diagnose.MPIPortsBlocked, "demo-node-0-1.demo", -1, "192.168.77.10 is not the address of any pod"},
		"blocked between pods": {"a policy is in the way", Evidence{
			Status: agenttest.StatusOfCode(15), Table: secondInterface, Reports: []mpi.NodeReport{on("demo-node-0-0.demo", died(0, 15, "", 2))},
			Lines: lines("[1720000000.1] [demo-node-0-0:31  :0] sock.c:337  UCX  ERROR connect(fd=35, dest_addr=10.0.0.2:41000) failed: Connection timed out"),
		}, diagnose.MPIPortsBlocked, "demo-node-0-0.demo", 0, "Worker 0 failed: MPI communication failure - check NetworkPolicies"},
		"symptom alone":  {"", Evidence{Status: agenttest.StatusOfCode(1), Lines: lines("Connection reset by peer")}, diagnose.PeerFailed, "", -1, "the connection to another rank was lost; the command"},
		"no rank":        {"a rank that nobody saw", Evidence{Status: agenttest.StatusOfCode(1), Lines: lines("OSError: [Errno 28] No space left on device")}, diagnose.DiskFull, "", -1, "no space left on device; the command `mpirun x` exited with code 1"},
		"host of a text": {"", Evidence{Status: agenttest.StatusOfCode(1), Lines: lines("ssh: connect to host demo-node-0-1 port 2222: Connection refused")}, diagnose.ConnectionRefused, "demo-node-0-1", -1, "Worker 1 failed: MPI communication failure - check NetworkPolicies: demo-node-0-1 port 2222"},
		"a report":       {"what a launcher reports of an exit code says nothing new", Evidence{Status: agenttest.StatusOfCode(3), Lines: lines("exits with return code = 3")}, mpi.ReasonCommandFailed, "", -1, "the command `mpirun x` exited with code 3"},
		"OOM":            {"over the exit code", Evidence{Status: agenttest.StatusOfCode(137), Reports: []mpi.NodeReport{{Name: "demo-node-0-1.demo", Daemons: 1, OOMKills: 1, Ranks: []mpi.RankEnd{died(3, 137, "SIGKILL", 1)}}}}, diagnose.OOMKilled, "demo-node-0-1.demo", 3, "Worker 1 failed: out of memory: rank 3 was killed by SIGKILL"},
		"OOM at its limit": {"users must know how much was needed", Evidence{Status: agenttest.StatusOfCode(137), Reports: []mpi.NodeReport{{
			Name: "demo-node-0-1.demo", Daemons: 1, OOMKills: 1, Ranks: []mpi.RankEnd{died(3, 137, "SIGKILL", 1)},
			Usage: &mpi.PodUsage{MemoryPeak: 4 << 30, MemoryLimit: 4 << 30},
		}}}, diagnose.OOMKilled, "demo-node-0-1.demo", 3, "out of memory (4 GiB in use, limit 4 GiB): rank 3"},
		"lost":              {"over the ranks that fail because of it", Evidence{Status: agenttest.StatusOfCode(1), Reports: []mpi.NodeReport{on("demo-node-0-0.demo", died(0, 1, "", 1))}, Losses: []Loss{{Host: "demo-node-0-1.demo", Address: "10.0.0.2", Error: "stopped answering"}}}, diagnose.WorkerLost, "demo-node-0-1.demo", -1, "Worker 1 was lost; the command `mpirun x` exited with code 1; demo-node-0-1 (10.0.0.2): stopped answering"},
		"daemon":            {"a daemon that ended says less than a rank", Evidence{Status: agenttest.StatusOfCode(1), Reports: []mpi.NodeReport{on("demo-node-0-0.demo", died(0, 3, "", 1))}, Losses: []Loss{{Host: "demo-node-0-1.demo", Address: "", Daemon: 137}}}, diagnose.RankFailed, "demo-node-0-0.demo", 0, "rank 0 exited with code 3"},
		"killed daemon":     {"ranks end when they lose their daemon", Evidence{Status: agenttest.StatusOfCode(205), Reports: []mpi.NodeReport{{Name: "demo-node-0-0.demo", Daemons: 1, LastExitCode: 137, DaemonAgo: 1, Ranks: []mpi.RankEnd{died(1, 195, "", 1.01)}}}, Losses: []Loss{{Host: "demo-node-0-0.demo", Daemon: 137}}}, diagnose.LaunchDaemonLost, "demo-node-0-0.demo", -1, "Worker 0 failed: the launch daemon ended with code 137"},
		"rank, then daemon": {"a rank that failed before its daemon was killed", Evidence{Status: agenttest.StatusOfCode(1), Reports: []mpi.NodeReport{{Name: "demo-node-0-0.demo", Daemons: 1, LastExitCode: 137, DaemonAgo: 1, Ranks: []mpi.RankEnd{died(1, 3, "", 1.5)}}}, Losses: []Loss{{Host: "demo-node-0-0.demo", Daemon: 137}}}, diagnose.RankFailed, "demo-node-0-0.demo", 1, "rank 1 exited with code 3"},
		"mpirun killed":     {"its daemons end the ranks afterwards", Evidence{Status: agenttest.StatusOfSignal(syscall.SIGKILL), Ended: judgedAt.Add(-time.Second), Now: judgedAt, Reports: []mpi.NodeReport{on("demo-node-0-0.demo", died(1, 137, "SIGKILL", 0.9))}}, mpi.ReasonCommandKilled, "", -1, "the command `mpirun x` was killed by SIGKILL"},
		"before mpirun":     {"who killed the command may have had a reason", Evidence{Status: agenttest.StatusOfSignal(syscall.SIGKILL), Ended: judgedAt.Add(-time.Second), Now: judgedAt, Reports: []mpi.NodeReport{on("demo-node-0-0.demo", died(1, 139, "SIGSEGV", 3))}}, diagnose.RankKilled, "demo-node-0-0.demo", 1, "rank 1 was killed by SIGSEGV"},
		"daemon alone":      {"", Evidence{Status: agenttest.StatusOfCode(1), Losses: []Loss{{Host: "demo-node-0-1.demo", Address: "", Daemon: 137}}}, diagnose.LaunchDaemonLost, "demo-node-0-1.demo", -1, "Worker 1 failed: the launch daemon ended with code 137"},
		"daemon stopped":    {"its pod goes", Evidence{Status: agenttest.StatusOfCode(1), Losses: []Loss{{Host: "demo-node-0-1.demo", Address: "", Daemon: 143}}}, diagnose.WorkerLost, "demo-node-0-1.demo", -1, "Worker 1 was lost"},
		"stopped":           {"whoever stops the pod is the cause of all that follows", Evidence{Status: agenttest.StatusOfCode(143), Stopped: syscall.SIGTERM, Reports: []mpi.NodeReport{on("demo-node-0-0.demo", died(0, 143, "SIGTERM", 1))}}, mpi.ReasonCommandFailed, "", -1, "asked to stop (SIGTERM)"},

		"Hydra lies":     {"pmodels/mpich#7057", Evidence{Reports: []mpi.NodeReport{on("demo-node-0-1.demo", hydra)}}, diagnose.RankFailed, "demo-node-0-1.demo", 1, "Worker 1 failed: rank 1 exited with code 3; the command `mpirun x` exited with code 0, because Hydra"},
		"Hydra admits":   {"a script may pass over a failure", Evidence{Admitted: judgedAt, Reports: []mpi.NodeReport{on("demo-node-0-1.demo", hydra)}}, "", "", -1, ""},
		"Hydra stopped":  {"ranks end with a pod that is told to stop", Evidence{Stopped: syscall.SIGTERM, Reports: []mpi.NodeReport{on("demo-node-0-1.demo", hydra)}}, "", "", -1, ""},
		"Open MPI knows": {"a rank that failed under a launcher that tells the truth was passed over", Evidence{Reports: []mpi.NodeReport{on("demo-node-0-1.demo", died(1, 3, "", 1))}}, "", "", -1, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.evidence.Argv = []string{"mpirun", "x"}
			got, rank := judgeCommand(c.evidence), -1
			if got.Rank != nil {
				rank = *got.Rank.Rank
			}
			if got.Reason != c.want || got.Host != c.host || rank != c.rank || !strings.Contains(got.Message, c.words) {
				t.Errorf("%s:\nwant %s, host %s, rank %d, %q\ngot  %s, host %s, rank %d, %q", c.reason, c.want, c.host, c.rank, c.words, got.Reason, got.Host, rank, got.Message)
			}
		})
	}
}

// A rank that fails in its first milliseconds is not seen; those are that the launcher ends because of it.
func TestJudgeNamesARankThatNobodySaw(t *testing.T) {
	const one, two = "demo-node-0-0.demo", "demo-node-0-1.demo"
	const code = "\n\n  Process name: [[40904,1],3]\n  Exit code:    6\n------"
	const segv = "mpirun noticed that process rank 3 with PID 22 on node demo-node-0-1 exited on signal 11 (Segmentation fault)."
	term := func(rank int, ago float64) mpi.RankEnd { return died(rank, 143, "SIGTERM", ago) }
	kill := died(2, 137, "SIGKILL", 1.04)
	hydra := func(end mpi.RankEnd) mpi.RankEnd { end.Hydra = true; return end }
	ended := []mpi.NodeReport{on(one, term(0, 1.01), term(1, 1.02)), on(two, term(2, 1.03))}
	cases := map[string]struct {
		reason string
		status int
		text   string
		ranks  []mpi.NodeReport
		want   mpi.Reason
		host   string
		rank   int // -1: none
		words  string
	}{
		"named":           {"Open MPI says which", 6, code, ended, diagnose.RankFailed, "", 3, "rank 3 exited with code 6; the command"},
		"not named":       {"", 6, "", ended, mpi.ReasonCommandFailed, "", -1, "the command `mpirun x` exited with code 6"},
		"nobody seen":     {"", 6, code, nil, diagnose.RankFailed, "", 3, "rank 3 exited with code 6"},
		"named with node": {"", 139, segv, ended, diagnose.RankKilled, two, 3, "Worker 1 failed: rank 3 was killed by SIGSEGV"},
		"seen late":       {"on a busy machine", 6, code, []mpi.NodeReport{on(one, term(0, 1.1)), on(two, died(3, 6, "", 1))}, diagnose.RankFailed, two, 3, "Worker 1 failed: rank 3 exited with code 6"},
		"late, not named": {"the command passed its code on", 6, "", []mpi.NodeReport{on(one, term(0, 1.1)), on(two, died(3, 6, "", 1))}, diagnose.RankFailed, two, 3, "rank 3 exited with code 6"},
		"a word for it":   {"", 1, "RuntimeError: CUDA out of memory.\n  Process name: [[40904,1],3]\n  Exit code:    1", ended, diagnose.CUDAOutOfMemory, "", 3, "CUDA out of memory (rank 3 exited with code 1); the command"},
		"killed":          {"somebody killed it, and the launcher all others", 137, "", []mpi.NodeReport{on(one, term(0, 1.05)), on(two, kill)}, diagnose.RankKilled, two, 2, "rank 2 was killed by SIGKILL"},
		"killed, script":  {"that has a code of its own", 1, "prterun noticed that process rank 2 with PID 36 on node demo-node-0-1 exited on\nsignal 9 (Killed).", []mpi.NodeReport{on(one, term(0, 1.05)), on(two, kill)}, diagnose.RankKilled, two, 2, "rank 2 was killed by SIGKILL"},
		"killed, Hydra":   {"the code is the number of the signal", 9, "", []mpi.NodeReport{on(two, hydra(kill))}, diagnose.RankKilled, two, 2, "SIGKILL"},
		"Hydra disturbed": {"", 255, "", []mpi.NodeReport{on(two, hydra(kill))}, diagnose.RankKilled, two, 2, "SIGKILL"},
		"Hydra, a code":   {"", 6, "", []mpi.NodeReport{on(two, hydra(kill))}, mpi.ReasonCommandFailed, "", -1, "exited with code 6"},
		"timeout":         {"it ended mpirun, and mpirun the ranks", 124, "", ended, mpi.ReasonCommandFailed, "", -1, "exited with code 124 (as `timeout` does when the time is up)"},
		"timeout, named":  {"", 124, "prterun noticed that process rank 2 with PID 36 on node demo-node-0-1 exited on\nsignal 15 (Terminated).", ended, mpi.ReasonCommandFailed, "", -1, "exited with code 124"},
		"timeout, trap":   {"ranks may end in their own way", 124, "", []mpi.NodeReport{on(one, died(0, 1, "", 1))}, mpi.ReasonCommandFailed, "", -1, "exited with code 124"},
		"timeout, reason": {"a rank failed, and the others hung", 124, "", []mpi.NodeReport{on(one, died(0, 1, "", 30), term(1, 1))}, diagnose.RankFailed, one, 0, "rank 0 exited with code 1; the command `mpirun x` exited with code 124"},
		"timeout, own":    {"`mpirun timeout 60 x`: the code is a rank's", 124, "", []mpi.NodeReport{on(one, died(0, 124, "", 1), term(1, 0.9))}, diagnose.RankFailed, one, 0, "rank 0 exited with code 124"},
		"strange node":    {"any program may print such words", 139, strings.Replace(segv, "demo-node-0-1", "other", 1), ended, diagnose.RankKilled, "", 3, "rank 3 was killed by SIGSEGV"},
		"no rank":         {"a program names a process of its own", 1, "Process 4711 exit with status code 1", []mpi.NodeReport{{Name: one, Seen: 2, World: 2}}, mpi.ReasonCommandFailed, "", -1, "the command `mpirun x` exited with code 1"},
		"passed over":     {"a launch before, with a code of its own", 7, code, nil, mpi.ReasonCommandFailed, "", -1, "exited with code 7"},
		"timeout, Hydra":  {"it says so of its proxies", 124, "[mpiexec@demo-launcher-0-0] control_cb (mpiexec/pmiserv_cb.c:280): assert (!closed) failed", nil, mpi.ReasonCommandFailed, "", -1, "exited with code 124"},
		"daemon":          {"it got SIGTERM and took its ranks with it", 205, "ORTE has lost communication with a remote daemon.\n\n  HNP daemon   : [[28290,0],0] on node demo-launcher-0-0\n  Remote daemon: [[28290,0],2] on node demo-node-0-1.demo", ended, diagnose.LaunchDaemonLost, two, -1, "Worker 1 failed: the launcher lost the daemon of a node"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, rank := judgeCommand(Evidence{Argv: []string{"mpirun", "x"}, Status: agenttest.StatusOfCode(c.status), Lines: strings.Split(c.text, "\n"), Reports: c.ranks}), -1
			if got.Rank != nil {
				rank = *got.Rank.Rank
			}
			if got.Host == "demo-node-0-1" {
				got.Host = two
			}
			if got.Reason != c.want || got.Host != c.host || rank != c.rank || !strings.Contains(got.Message, c.words) {
				t.Errorf("%s:\nwant %s, host %s, rank %d, %q\ngot  %s, host %s, rank %d, %q", c.reason, c.want, c.host, c.rank, c.words, got.Reason, got.Host, rank, got.Message)
			}
		})
	}
}

// A line that a script printed and went on is not why a rank ended in another way.
func TestJudgeIsNotMisledByEarlierLines(t *testing.T) {
	const two = "demo-node-0-1.demo"
	const apex = "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    import apex\nModuleNotFoundError: No module named 'apex'\napex is not there, going on without"
	cases := map[string]struct {
		text string
		code int
		end  mpi.RankEnd
		want mpi.Reason
	}{
		"module":        {apex, 139, died(3, 139, "SIGSEGV", 1), diagnose.RankKilled},
		"module, named": {apex + "\nmpirun noticed that process rank 3 with PID 22 on node demo-node-0-1 exited on signal 11 (Segmentation fault).", 139, died(2, 143, "SIGTERM", 1), diagnose.RankKilled},
		"module, true":  {apex, 1, died(3, 1, "", 1), diagnose.PythonModuleMissing},
		"library":       {"nvidia-smi: error while loading shared libraries: libnvidia-ml.so.1: cannot open", 9, died(1, 9, "", 1), diagnose.RankFailed},
		"memory":        {"cache: std::bad_alloc, falling back to disk", 9, died(2, 9, "", 1), diagnose.RankFailed},
		"memory, true":  {"terminate called after throwing an instance of 'std::bad_alloc'", 134, died(2, 134, "SIGABRT", 1), diagnose.OutOfMemory},
	}
	for name, c := range cases {
		got := judgeCommand(Evidence{Argv: []string{"bash", "x"}, Status: agenttest.StatusOfCode(c.code), Lines: strings.Split(c.text, "\n"), Reports: []mpi.NodeReport{on(two, c.end)}})
		if got.Reason != c.want || got.Host != two {
			t.Errorf("%s: want %s, got %s on %q: %s", name, c.want, got.Reason, got.Host, got.Message)
		}
	}
}

// What nobody saw the time of explains only what nothing else does.
func TestJudgeKnowsCausesFromCircumstances(t *testing.T) {
	const one, two = "demo-node-0-0.demo", "demo-node-0-1.demo"
	killedFor := func(r mpi.NodeReport) mpi.NodeReport { r.OOMKills = 1; return r }
	unheard := func(host string, why client.Cause) mpi.NodeReport {
		return mpi.NodeReport{Name: host, Error: string(why)}
	}
	idle, gone := mpi.NodeReport{Name: two, Daemons: 1}, unheard(two, client.Refused)
	lines := func(line string) []string { return []string{line} }
	const cuda, peer = "RuntimeError: CUDA out of memory.", "ORTE has lost communication with a remote daemon."
	cases := map[string]struct {
		reason   string
		evidence Evidence
		want     mpi.Reason
		host     string
	}{
		"silent, rank failed":   {"a report that cannot be had is no cause", Evidence{Status: agenttest.StatusOfCode(3), Reports: []mpi.NodeReport{on(one, died(0, 3, "", 1)), gone}}, diagnose.RankFailed, one},
		"silent, rank crashed":  {"", Evidence{Status: agenttest.StatusOfCode(139), Reports: []mpi.NodeReport{on(one, died(0, 139, "SIGSEGV", 1)), gone}}, diagnose.RankKilled, one},
		"silent, root":          {"the program says it", Evidence{Status: agenttest.StatusOfCode(1), Lines: lines(cuda), Reports: []mpi.NodeReport{on(one, died(0, 1, "", 1)), gone}}, diagnose.CUDAOutOfMemory, one},
		"silent, rank ended":    {"the launcher ended it because of the node", Evidence{Status: agenttest.StatusOfCode(1), Reports: []mpi.NodeReport{on(one, died(0, 137, "SIGKILL", 1)), gone}}, diagnose.WorkerLost, two},
		"silent, rank lost it":  {"it failed because of the node", Evidence{Status: agenttest.StatusOfCode(1), Lines: lines(peer), Reports: []mpi.NodeReport{on(one, died(0, 1, "", 1)), gone}}, diagnose.WorkerLost, two},
		"silent, busy":          {"it accepts connections, so it is there", Evidence{Status: agenttest.StatusOfCode(3), Reports: []mpi.NodeReport{on(one, died(0, 3, "", 1)), unheard(two, client.NoHandshake)}}, diagnose.RankFailed, one},
		"silent, restarts":      {"its machine answers", Evidence{Status: agenttest.StatusOfCode(3), Reports: []mpi.NodeReport{on(one, died(0, 3, "", 1)), unheard(two, client.Lost)}}, diagnose.RankFailed, one},
		"dead, rank aborted":    {"transports notice a dead machine before rsh does", Evidence{Status: agenttest.StatusOfCode(134), Lines: lines("Transport retry count exceeded on mlx5_0:1/RoCE"), Reports: []mpi.NodeReport{on(one, died(0, 134, "SIGABRT", 1)), unheard(two, client.TimedOut)}}, diagnose.WorkerLost, two},
		"dead, rank exited":     {"", Evidence{Status: agenttest.StatusOfCode(1), Reports: []mpi.NodeReport{on(one, died(0, 1, "", 1)), unheard(two, client.TimedOut)}}, diagnose.WorkerLost, two},
		"dead, no route":        {"its neighbours know already", Evidence{Status: agenttest.StatusOfCode(1), Reports: []mpi.NodeReport{on(one, died(0, 1, "", 1)), unheard(two, client.Unreachable)}}, diagnose.WorkerLost, two},
		"dead, other silent":    {"the dead one made the other's pod fail", Evidence{Status: agenttest.StatusOfCode(1), Reports: []mpi.NodeReport{unheard(one, client.Refused), unheard(two, client.TimedOut)}}, diagnose.WorkerLost, two},
		"dead, root":            {"the program says it", Evidence{Status: agenttest.StatusOfCode(1), Lines: lines(cuda), Reports: []mpi.NodeReport{on(one, died(0, 1, "", 1)), unheard(two, client.TimedOut)}}, diagnose.CUDAOutOfMemory, one},
		"silent and lost":       {"somebody saw it go", Evidence{Status: agenttest.StatusOfCode(3), Losses: []Loss{{Host: two, Error: "connection lost"}}, Reports: []mpi.NodeReport{on(one, died(0, 3, "", 1)), gone}}, diagnose.WorkerLost, two},
		"silent, daemon killed": {"the node went after its daemon", Evidence{Status: agenttest.StatusOfCode(3), Losses: []Loss{{Host: two, Daemon: 137}}, Reports: []mpi.NodeReport{on(one, died(0, 3, "", 1)), gone}}, diagnose.WorkerLost, two},

		"memory, rank there":     {"", Evidence{Status: agenttest.StatusOfCode(137), Reports: []mpi.NodeReport{killedFor(on(one, died(0, 137, "SIGKILL", 1))), idle}}, diagnose.OOMKilled, one},
		"memory, rank elsewhere": {"a data loader that was done without, an hour ago", Evidence{Status: agenttest.StatusOfCode(3), Reports: []mpi.NodeReport{on(one, died(0, 3, "", 1)), killedFor(idle)}}, diagnose.RankFailed, one},
		"memory, two nodes":      {"where the first rank failed", Evidence{Status: agenttest.StatusOfCode(137), Reports: []mpi.NodeReport{killedFor(on(one, died(0, 1, "", 1))), killedFor(on(two, died(1, 137, "SIGKILL", 2)))}}, diagnose.OOMKilled, two},
		"memory, peer first":     {"machines do not see at one time what happened at one time", Evidence{Status: agenttest.StatusOfCode(1), Reports: []mpi.NodeReport{on(one, died(3, 1, "", 1.01)), killedFor(on(two, died(5, 137, "SIGKILL", 1)))}}, diagnose.OOMKilled, two},
		"memory, both nodes":     {"the rank that the kernel killed, and not a data loader an hour ago", Evidence{Status: agenttest.StatusOfCode(1), Reports: []mpi.NodeReport{killedFor(on(one, died(3, 1, "", 1))), killedFor(on(two, died(5, 137, "SIGKILL", 1)))}}, diagnose.OOMKilled, two},
		"memory, killed later":   {"the launcher cleaned up", Evidence{Status: agenttest.StatusOfCode(1), Reports: []mpi.NodeReport{on(one, died(3, 1, "", 1.1)), killedFor(on(two, died(5, 137, "SIGKILL", 1)))}}, diagnose.RankFailed, one},
		"memory, peer killed":    {"", Evidence{Status: agenttest.StatusOfCode(1), Reports: []mpi.NodeReport{killedFor(on(one, died(3, 139, "SIGSEGV", 1))), on(two, died(5, 137, "SIGKILL", 1))}}, diagnose.OOMKilled, one},
		"memory, cleaned up":     {"who was ended by the launcher is not the first", Evidence{Status: agenttest.StatusOfCode(1), Reports: []mpi.NodeReport{on(one, died(0, 143, "SIGTERM", 1)), killedFor(idle)}}, diagnose.OOMKilled, two},
		"memory, daemon there":   {"", Evidence{Status: agenttest.StatusOfCode(205), Losses: []Loss{{Host: two, Daemon: 137}}, Reports: []mpi.NodeReport{on(one, died(0, 1, "", 1)), killedFor(idle)}}, diagnose.OOMKilled, two},
		"memory, other daemon":   {"", Evidence{Status: agenttest.StatusOfCode(205), Losses: []Loss{{Host: one, Daemon: 137}}, Reports: []mpi.NodeReport{{Name: one, Daemons: 1}, killedFor(idle)}}, diagnose.LaunchDaemonLost, one},
		"memory, other lost":     {"", Evidence{Status: agenttest.StatusOfCode(1), Losses: []Loss{{Host: one, Error: "stopped answering"}}, Reports: []mpi.NodeReport{{Name: one, Error: "connection timed out"}, killedFor(idle)}}, diagnose.WorkerLost, one},
		"memory, program":        {"it names another trouble", Evidence{Status: agenttest.StatusOfCode(1), Lines: lines("OSError: [Errno 28] No space left on device"), Reports: []mpi.NodeReport{killedFor(idle)}}, diagnose.DiskFull, ""},
		"memory, symptom":        {"a rank that lost a peer nobody saw", Evidence{Status: agenttest.StatusOfCode(1), Lines: lines("Connection reset by peer"), Reports: []mpi.NodeReport{killedFor(idle)}}, diagnose.OOMKilled, two},
		"memory, command":        {"the kernel took mpirun", Evidence{Status: agenttest.StatusOfSignal(syscall.SIGKILL), Own: mpi.NodeReport{Name: "demo-launcher-0-0", OOMKills: 1}, Reports: []mpi.NodeReport{idle}}, diagnose.OOMKilled, "demo-launcher-0-0"},
		"memory, launcher's":     {"something of the script", Evidence{Status: agenttest.StatusOfCode(3), Own: mpi.NodeReport{Name: "demo-launcher-0-0", OOMKills: 1}, Reports: []mpi.NodeReport{on(one, died(0, 3, "", 1))}}, diagnose.RankFailed, one},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.evidence.Argv = []string{"mpirun", "x"}
			if got := judgeCommand(c.evidence); got.Reason != c.want || got.Host != c.host {
				t.Errorf("%s: want %s on %q, got %s on %q: %s", c.reason, c.want, c.host, got.Reason, got.Host, got.Message)
			}
		})
	}
}

// A script may launch more than once, and pass over what fails.
func TestJudgeOfSeveralLaunches(t *testing.T) {
	const one, two = "demo-node-0-0.demo", "demo-node-0-1.demo"
	began := func(ago map[string]float64) map[string]time.Time {
		launches := map[string]time.Time{}
		for host, seconds := range ago {
			launches[hosts.FirstLabel(host)] = judgedAt.Add(-time.Duration(seconds * float64(time.Second)))
		}
		return launches
	}
	at := func(ago time.Duration) time.Time { return judgedAt.Add(-ago * time.Second) }
	mpiexec := func(ago time.Duration) Launch {
		return Launch{After: at(ago).Add(-100 * time.Millisecond), Seen: at(ago)}
	}
	hydra := func(rank int, ago float64) mpi.RankEnd {
		end := died(rank, 3, "", ago)
		end.Hydra = true
		return end
	}
	cases := map[string]struct {
		reason   string
		evidence Evidence
		want     mpi.Reason
		rank     int // -1: none
	}{
		"first tolerated":          {"the second failed", Evidence{Status: agenttest.StatusOfCode(5), Launches: began(map[string]float64{one: 100, two: 100}), Reports: []mpi.NodeReport{on(one, died(0, 1, "", 101), died(7, 5, "", 3)), {Name: two, Daemons: 2}}}, diagnose.RankFailed, 7},
		"at once":                  {"a launch may follow within a moment", Evidence{Status: agenttest.StatusOfCode(5), Launches: began(map[string]float64{one: 100}), Reports: []mpi.NodeReport{on(one, died(0, 1, "", 100.003), died(7, 5, "", 3))}}, diagnose.RankFailed, 7},
		"on another node":          {"the newest launch leaves a node out", Evidence{Status: agenttest.StatusOfCode(5), Launches: began(map[string]float64{one: 200, two: 100}), Reports: []mpi.NodeReport{on(one, died(0, 1, "", 150)), on(two, died(7, 5, "", 3))}}, diagnose.RankFailed, 7},
		"a busy node":              {"its daemon comes late, and all are of one mpiexec", Evidence{Status: agenttest.StatusOfCode(3), Launched: mpiexec(100), Launches: began(map[string]float64{one: 100, two: 98}), Reports: []mpi.NodeReport{on(one, died(0, 3, "", 99.7)), on(two, died(1, 1, "", 97))}}, diagnose.RankFailed, 0},
		"before the look":          {"mpiexec is not seen at once", Evidence{Status: agenttest.StatusOfCode(3), Launched: mpiexec(100), Launches: began(map[string]float64{two: 98}), Reports: []mpi.NodeReport{on(one, died(0, 3, "", 100.1)), on(two, died(1, 1, "", 97))}}, diagnose.RankFailed, 0},
		"next mpiexec":             {"it leaves a node out, and begins at once", Evidence{Status: agenttest.StatusOfCode(5), Launched: mpiexec(100), Launches: began(map[string]float64{one: 200, two: 100}), Reports: []mpi.NodeReport{on(one, died(0, 1, "", 101)), on(two, died(7, 5, "", 3))}}, diagnose.RankFailed, 7},
		"first look":               {"there was only one launcher", Evidence{Status: agenttest.StatusOfCode(3), Launched: Launch{Seen: at(10)}, Launches: began(map[string]float64{two: 2}), Reports: []mpi.NodeReport{on(one, died(0, 3, "", 50)), on(two, died(1, 1, "", 1))}}, diagnose.RankFailed, 0},
		"daemons one by one":       {"a rank may fail before the last daemon of its launch has started", Evidence{Status: agenttest.StatusOfCode(5), Launches: began(map[string]float64{one: 100.5, two: 100}), Reports: []mpi.NodeReport{on(one, died(0, 1, "", 100.4)), on(two, died(7, 5, "", 3))}}, diagnose.RankFailed, 0},
		"cleaned up":               {"the last launch did not fail", Evidence{Status: agenttest.StatusOfCode(5), Launches: began(map[string]float64{one: 2, two: 2}), Reports: []mpi.NodeReport{on(one, died(0, 5, "", 3))}}, diagnose.RankFailed, 0},
		"of the launcher":          {"it runs ranks too", Evidence{Status: agenttest.StatusOfCode(5), Launches: began(map[string]float64{one: 100}), Own: mpi.NodeReport{Name: "demo-launcher-0-0", Ranks: []mpi.RankEnd{died(1, 1, "", 150)}}, Reports: []mpi.NodeReport{on(one, died(7, 5, "", 3))}}, diagnose.RankFailed, 7},
		"unknown":                  {"nobody told when", Evidence{Status: agenttest.StatusOfCode(5), Reports: []mpi.NodeReport{on(one, died(0, 1, "", 150))}}, diagnose.RankFailed, 0},
		"lost, then there again":   {"a launch ran there since", Evidence{Launches: began(map[string]float64{one: 100}), Losses: []Loss{{Host: one, Error: "connection refused", At: at(110)}}, Reports: []mpi.NodeReport{{Name: one, Daemons: 1}}}, "", -1},
		"lost, then a rank failed": {"", Evidence{Status: agenttest.StatusOfCode(5), Launches: began(map[string]float64{one: 100}), Losses: []Loss{{Host: one, Error: "connection refused", At: at(110)}}, Reports: []mpi.NodeReport{on(one, died(7, 5, "", 3))}}, diagnose.RankFailed, 7},
		"lost":                     {"no launch ran there since", Evidence{Launches: began(map[string]float64{one: 100, two: 50}), Losses: []Loss{{Host: one, Error: "connection lost", At: at(90)}}, Reports: []mpi.NodeReport{{Name: one, Error: "x"}, {Name: two, Daemons: 1}}}, diagnose.WorkerLost, -1},
		"hidden":                   {"Hydra says 0", Evidence{Launches: began(map[string]float64{one: 100}), Reports: []mpi.NodeReport{on(one, hydra(7, 3))}}, diagnose.RankFailed, 7},
		"hidden, tolerated":        {"a short mpiexec that nobody saw fail", Evidence{Launches: began(map[string]float64{one: 100}), Reports: []mpi.NodeReport{on(one, hydra(0, 101))}}, "", -1},
		"hidden, a busy node":      {"its proxy starts when the rank has failed already", Evidence{Launched: mpiexec(100), Launches: began(map[string]float64{one: 100, two: 98}), Reports: []mpi.NodeReport{on(one, hydra(0, 99.7)), {Name: two, Daemons: 1}}}, diagnose.RankFailed, 0},
		"hidden, nobody saw":       {"a slow node is no new launch", Evidence{Launches: began(map[string]float64{one: 100, two: 50}), Reports: []mpi.NodeReport{on(one, hydra(0, 99.7)), {Name: two, Daemons: 1}}}, diagnose.RankFailed, 0},
		"hidden, admitted at once": {"the first mpiexec failed, the second one hides it", Evidence{Launched: Launch{After: at(102), Seen: at(100)}, Admitted: at(101), Reports: []mpi.NodeReport{on(one, hydra(7, 3))}}, diagnose.RankFailed, 7},
		"hidden, elsewhere":        {"", Evidence{Launched: mpiexec(100), Launches: began(map[string]float64{one: 200, two: 100}), Reports: []mpi.NodeReport{on(one, hydra(0, 150)), {Name: two, Daemons: 1}}}, "", -1},
		"hidden, other admitted":   {"that one failed before", Evidence{Launches: began(map[string]float64{one: 100}), Admitted: at(101), Reports: []mpi.NodeReport{on(one, hydra(0, 102), hydra(7, 3))}}, diagnose.RankFailed, 7},
		"daemon, launched again":   {"`mpirun x || mpirun --host SURVIVORS x`", Evidence{Launched: mpiexec(100), Launches: began(map[string]float64{one: 200, two: 100}), Losses: []Loss{{Host: one, Daemon: 137, At: at(110)}}, Reports: []mpi.NodeReport{{Name: one, Daemons: 1, LastExitCode: 137, DaemonAgo: 110}, {Name: two, Daemons: 2}}}, "", -1},
		"daemon, at once":          {"the second mpirun began between two looks", Evidence{Launched: Launch{After: at(102), Seen: at(100)}, Admitted: at(101), Launches: began(map[string]float64{one: 200, two: 100}), Losses: []Loss{{Host: one, Daemon: 137, At: at(101)}}, Reports: []mpi.NodeReport{{Name: one, Daemons: 1, LastExitCode: 137, DaemonAgo: 101.1}, {Name: two, Daemons: 2}}}, "", -1},
		"daemon, admitted":         {"the script passed over it", Evidence{Launched: mpiexec(100), Admitted: at(2), Launches: began(map[string]float64{one: 100}), Reports: []mpi.NodeReport{{Name: one, Daemons: 1, LastExitCode: 137, DaemonAgo: 3}}}, "", -1},
		"daemon, slow answer":      {"the age is that of when the node answered", Evidence{Launched: mpiexec(100), Admitted: at(2), Launches: began(map[string]float64{one: 100}), Reports: []mpi.NodeReport{{Name: one, Daemons: 1, LastExitCode: 137, DaemonAgo: 1.5}}}, "", -1},
		"daemon, of the second":    {"the first one failed too", Evidence{Launched: mpiexec(100), Admitted: at(101), Launches: began(map[string]float64{one: 100}), Reports: []mpi.NodeReport{{Name: one, Daemons: 2, LastExitCode: 137, DaemonAgo: 3}}}, diagnose.LaunchDaemonLost, -1},
		"daemon, then the node":    {"it is not known what ran there", Evidence{Launched: mpiexec(100), Launches: began(map[string]float64{two: 100}), Losses: []Loss{{Host: one, Daemon: 137, At: at(110)}}, Reports: []mpi.NodeReport{{Name: one, Error: "x"}, {Name: two, Daemons: 2}}}, diagnose.WorkerLost, -1},
		"admitted":                 {"the script passed over it", Evidence{Launches: began(map[string]float64{one: 100}), Admitted: at(2), Reports: []mpi.NodeReport{on(one, hydra(7, 3))}}, "", -1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.evidence.Argv, c.evidence.Now = []string{"sh", "x"}, judgedAt
			got, rank := judgeCommand(c.evidence), -1
			if got.Rank != nil {
				rank = *got.Rank.Rank
			}
			if got.Reason != c.want || rank != c.rank {
				t.Errorf("%s: want %q, rank %d, got %q, rank %d: %s", c.reason, c.want, c.rank, got.Reason, rank, got.Message)
			}
			if diff := cmp.Diff(c.evidence.Reports, got.Nodes); diff != "" {
				t.Errorf("%s: the reports stay as they are: %s", c.reason, diff)
			}
		})
	}
}

// A command that runs where its files are is told as it was asked for.
func TestCommandsAreQuotedAsAsked(t *testing.T) {
	if got := quoteCommand(mpi.WrapInFilesDir([]string{"sh", "run.sh"})); got != "`sh run.sh`" {
		t.Error(got)
	}
}

// A function of Python travels as a program of many lines, which says nothing to its author.
func TestFunctionsAreQuotedByTheirName(t *testing.T) {
	for name, source := range map[string]string{
		"of a module":   "def train(steps):\n    pass\n",
		"of a function": "from __future__ import annotations\nif True:\n    def train(steps):\n        pass\n",
		"a long one":    "def train(steps):\n" + strings.Repeat("    pass\n", program.LongestLine),
	} {
		program := "SOURCE = \"\"\"" + source + "\"\"\"\n\nimport base64\n\nrun(SOURCE, 'a.py', 1, 'train', {})\n"
		if got := quoteCommand([]string{"mpirun", "python3", "-c", program}); got != "`mpirun python3 -c train()`" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestCommandsAreQuotedAsTyped: the shown line can be pasted into a shell.
func TestCommandsAreQuotedAsTyped(t *testing.T) {
	got := quoteCommand([]string{"sh", "-c", "mpirun a && echo 'b'", "", "--lr=0.1"})
	if want := "`sh -c 'mpirun a && echo '\\''b'\\''' '' --lr=0.1`"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A secret at the place where a line is cut must not lose the word by which it is known.
func TestCommandsAreQuotedWithoutSecrets(t *testing.T) {
	line := strings.Repeat("x", 190) + " --token s3cret" + strings.Repeat("y", 100)
	for name, got := range map[string]string{
		"a command":              quoteCommand(strings.Fields(line)),
		"a line of a node's log": program.QuoteCommand(line),
		"a URL":                  program.QuoteCommand(strings.Repeat("x", 185) + " https://u:s3cret@example.test/"),
	} {
		if strings.Contains(got, "s3") || len(got) > 220 {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A command of megabytes is not searched for secrets as a whole, and what is half of one may not look like one.
func TestLongCommandsAreCutBeforeASecret(t *testing.T) {
	long := "run --token=" + strings.Repeat("x", program.LongestLine-20)
	for name, c := range map[string]struct{ line, want string }{
		"in a token": {long + " hf_" + strings.Repeat("y", 30), "run --token=*** …"},
		"in a URL":   {long + " a://u:pw@host", "run --token=*** …"},
		"one word":   {strings.Repeat("x", 2*program.LongestLine), "…"},
	} {
		if got := program.QuoteCommand(c.line); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestAWorldThatLeavesANodeOut(t *testing.T) {
	report := func(host string, seen, world int) mpi.NodeReport {
		return mpi.NodeReport{Name: host, Daemons: 1, Seen: seen, World: world}
	}
	cases := map[string]struct {
		reason   string
		evidence Evidence
		told     bool
	}{
		"mpirun -n 1":     {"Open MPI starts its daemons on all hosts", Evidence{Reports: []mpi.NodeReport{report("w-0", 1, 1), report("w-1", 0, 0)}}, true},
		"allowed":         {"the user said so", Evidence{AllowIdle: true, Reports: []mpi.NodeReport{report("w-0", 1, 1), report("w-1", 0, 0)}}, false},
		"all on one node": {"with as many ranks as nodes", Evidence{Reports: []mpi.NodeReport{report("w-0", 2, 2), report("w-1", 0, 0)}}, true},
		"launcher":        {"ranks of the launcher count", Evidence{Own: mpi.NodeReport{Seen: 1, World: 2}, Reports: []mpi.NodeReport{report("w-0", 1, 2), report("w-1", 0, 0)}}, true},
		"too short":       {"a rank that nobody saw may have been there", Evidence{Reports: []mpi.NodeReport{report("w-0", 1, 2), report("w-1", 0, 0)}}, false},
		"nobody saw any":  {"", Evidence{Reports: []mpi.NodeReport{report("w-0", 0, 0), report("w-1", 0, 0)}}, false},
		"two worlds":      {"a preparation with one rank", Evidence{Reports: []mpi.NodeReport{report("w-0", 3, -1), report("w-1", 0, 0)}}, false},
		"other worlds":    {"on different nodes", Evidence{Reports: []mpi.NodeReport{report("w-0", 1, 1), report("w-1", 1, 4), report("w-2", 0, 0)}}, false},
		"complete":        {"", Evidence{Reports: []mpi.NodeReport{report("w-0", 2, 4), report("w-1", 2, 4)}}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.evidence.Argv = []string{"mpirun", "x"}
			got := judgeCommand(c.evidence)
			if !got.Succeeded() || strings.Contains(got.Message, "no rank ever ran on w-1") != c.told {
				t.Errorf("%s: want %v, got %s: %s", c.reason, c.told, got.Reason, got.Message)
			}
		})
	}
}

func TestVerdictQuotesTheRank(t *testing.T) {
	output := []string{"[1,0]<stderr>:fine", "[1,1]<stderr>:RuntimeError: CUDA out of memory.", "[1,1]<stderr>:WANDB_API_KEY=abc"}
	for i := range 20 {
		output = append(output, fmt.Sprintf("[1,1]<stderr>:late %d", i))
	}
	got := judgeCommand(Evidence{Argv: []string{"mpirun", "--token", "s3cret"}, Status: agenttest.StatusOfCode(1), Lines: output, Reports: []mpi.NodeReport{on("demo-node-0-1.demo", died(1, 1, "", 1))}})
	if len(got.Lines) != 13 || !strings.Contains(got.Lines[0], "CUDA out of memory") || !strings.HasSuffix(got.Lines[12], "late 19") {
		t.Errorf("the line that says why, and the last ones of the rank: %q", got.Lines)
	}
	if strings.Contains(got.Message, "s3cret") {
		t.Errorf("a secret of the command line: %s", got.Message)
	}
}

func TestVerdictOfALargeJobFitsTheTerminationMessage(t *testing.T) {
	f := Evidence{Argv: []string{"mpirun", strings.Repeat("é", 10_000)}, Status: agenttest.StatusOfCode(1)}
	for i := range 1000 {
		f.Reports = append(f.Reports, mpi.NodeReport{Name: fmt.Sprintf("demo-node-0-%d.demo", i), Daemons: 1, OOMKills: 1})
	}
	text, err := judgeCommand(f).Encode()
	if err != nil || len(text) > mpi.MaxVerdictBytes {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	got, err := mpi.DecodeVerdict(string(text))
	if got.OOMKills != 1000 {
		t.Errorf("the reports that were cut counted for nothing: %d", got.OOMKills)
	}
	if err != nil || !strings.Contains(got.Message, "exited with code 1; on demo-node-0-0 the kernel killed") {
		t.Errorf("the message lost its substance: %q, %v", got.Message, err)
	}
}

func TestGateFailureNamesSomeNodesAndWhatToCheck(t *testing.T) {
	var failures []mpi.NodeFailure
	for i := range 100 {
		failures = append(failures, mpi.NodeFailure{Name: fmt.Sprintf("w-%d.demo", i), Address: "10.0.0.1", Error: "connection timed out"})
	}
	got := GateFailed(mpi.GateResult{Seconds: 300, Failures: failures}).Message
	want := "MPI communication failure - check NetworkPolicies: 100 nodes did not answer on port 2222 within 300.0 s: w-0 (10.0.0.1): connection timed out; w-1 (10.0.0.1): connection timed out; " +
		"w-2 (10.0.0.1): connection timed out; and 97 more; check that a NetworkPolicy admits port 2222 between the pods of the job and that the node is healthy"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Whoever reads the verdict must be able to tell a node that was silent from one whose pod was deleted.
func TestJudgeTellsHowLongALostNodeWasSilent(t *testing.T) {
	for name, c := range map[string]struct {
		since time.Time
		want  float64
	}{
		"silent":               {judgedAt.Add(-7 * time.Second), 7},
		"ended its connection": {time.Time{}, 0},
	} {
		got := judgeCommand(Evidence{Status: agenttest.StatusOfCode(255), Now: judgedAt, Losses: []Loss{{Host: "demo-node-0-1.demo", Error: "connection lost", Since: c.since}}})
		if got.Lost != "demo-node-0-1.demo" || got.LostSeconds != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Where the launcher does not end the others, as a shell with a torchrun on each node, they wait in NCCL for a rank that has failed: that is why.
func TestAHangBehindAFailedRank(t *testing.T) {
	hang := &Hang{After: 40 * time.Second}
	lines := []string{"[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 158.36 GiB."}
	killed := died(1, 137, "SIGKILL", 62)
	killed.WithoutMPI = true
	for name, c := range map[string]struct {
		rank mpi.RankEnd
		want mpi.Reason
		says string
	}{
		"failed":             {died(1, 1, "", 62), diagnose.CUDAOutOfMemory, "Worker 1 failed: CUDA out of memory (rank 1 exited with code 1); then none of the 0 processes of the job wrote anything for 40s"},
		"killed":             {killed, diagnose.RankKilled, "Worker 1 failed: rank 1 was killed by SIGKILL; then none of"},
		"ended by us":        {died(1, 143, "SIGTERM", 1), diagnose.Hang, "none of"},
		"ended by us, a 1":   {died(1, 1, "", 1), diagnose.Hang, "none of"},
		"failed an hour ago": {died(1, 1, "", 3600), diagnose.Hang, "none of"},
	} {
		evidence := Evidence{
			Status: agenttest.StatusOfCode(143), Hang: hang, Now: judgedAt, Ended: judgedAt.Add(-time.Second),
			Reports: []mpi.NodeReport{on("demo-node-0-1.demo", c.rank)},
		}
		if c.want == diagnose.CUDAOutOfMemory {
			evidence.Lines = lines
		}
		got, code := Judge(evidence)
		if got.Reason != c.want || code != 125 || !strings.HasPrefix(got.Message, c.says) || (got.Rank != nil) != (c.want != diagnose.Hang) {
			t.Errorf("%s: %d, %+v", name, code, got)
		}
	}
}

// All ranks fail alike and at once: one prints first, another ends first.
func TestRanksThatAllFailAlike(t *testing.T) {
	var lines []string
	for _, rank := range []string{"[rank1]: ", "[rank0]: "} {
		lines = append(lines, rank+"torch.distributed.DistBackendError: NCCL error in: NCCLUtils.cpp:93, invalid usage (run with NCCL_DEBUG=WARN for details), NCCL version 2.28.9",
			rank+"Last error:", rank+"Duplicate GPU detected : "+strings.Trim(rank, "[]: ")+" and another both on CUDA device 60")
	}
	got := judgeCommand(Evidence{Status: agenttest.StatusOfCode(1), Lines: lines, Reports: []mpi.NodeReport{on("demo-node-0-0.demo", died(0, 1, "", 0.3)), on("demo-node-0-1.demo", died(1, 1, "", 0.1))}})
	if got.Reason != diagnose.NCCLFailed || !strings.HasPrefix(got.Message, "Worker 0 failed: NCCL: invalid usage (run with NCCL_DEBUG=WARN for details): Duplicate GPU detected : rank0 and") || len(got.Lines) != 3 {
		t.Errorf("%+v", got)
	}
}

func TestALongLineIsQuotedOnce(t *testing.T) {
	line := "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 158.36 GiB. " + strings.Repeat("Process 2143 has 1008.00 MiB memory in use. ", 10)
	got := judgeCommand(Evidence{Status: agenttest.StatusOfCode(1), Lines: []string{"[rank1]: " + line}, Reports: []mpi.NodeReport{on("demo-node-0-1.demo", died(1, 1, "", 1))}})
	if len(got.Lines) != 1 {
		t.Errorf("%q", got.Lines)
	}
}

// Of a job that we ended, how it ended says nothing; of one that failed by itself, a connection without an answer explains what nothing
// else does.
func TestAnObstacleIsTheCause(t *testing.T) {
	blocked := &BlockedConnection{From: mpi.HostAddress{Name: "demo-node-0-1.demo"}}
	hang := &Hang{After: time.Minute}
	lost := []Loss{{Host: "demo-node-0-0.demo", Error: "connection lost"}}
	for name, c := range map[string]struct {
		evidence Evidence
		want     mpi.Reason
		code     int
	}{
		"failed":         {Evidence{Status: agenttest.StatusOfCode(1), Blocked: blocked}, diagnose.MPIPortsBlocked, 1},
		"a better cause": {Evidence{Status: agenttest.StatusOfCode(1), Blocked: blocked, Losses: lost}, diagnose.WorkerLost, 1},
		"a success":      {Evidence{Blocked: blocked}, "", 0},
		"stopped":        {Evidence{Status: agenttest.StatusOfCode(1), Blocked: blocked, Stopped: syscall.SIGTERM}, mpi.ReasonCommandFailed, 1},
		"hang":           {Evidence{Status: agenttest.StatusOfCode(255), Hang: hang, Losses: lost}, diagnose.Hang, 125},
		"hang, stopped":  {Evidence{Status: agenttest.StatusOfCode(143), Hang: hang, Stopped: syscall.SIGTERM}, mpi.ReasonCommandFailed, 143},
		"a lie":          {Evidence{Losses: lost, Reports: []mpi.NodeReport{{Name: "demo-node-0-0.demo", Daemons: 1}}}, diagnose.WorkerLost, 125},
	} {
		got, code := Judge(c.evidence)
		if got.Reason != c.want || code != c.code || c.want == diagnose.Hang && (got.Lost != "" || got.Host != "" || got.Message != hang.String()) {
			t.Errorf("%s: %d, %+v", name, code, got)
		}
	}
}

// A file that the system cannot run explains the end of a launch of which nobody saw a rank, and no other end.
func TestJudgeNamesWhatCannotBeRun(t *testing.T) {
	const why = "`./run.sh` cannot be run: its first line names no interpreter"
	seen := mpi.NodeReport{Name: "demo-node-0-0.demo", Daemons: 1, Seen: 2}
	cases := map[string]struct {
		reason   string
		evidence Evidence
		want     mpi.Reason
	}{
		"SIGPIPE":   {"all that Open MPI 5 says", Evidence{Status: agenttest.StatusOfCode(141)}, mpi.ReasonCommandNotFound},
		"Daemon":    {"its daemon ends by it", Evidence{Status: agenttest.StatusOfCode(1), Losses: []Loss{{Host: "demo-node-0-0.demo", Daemon: 141}}}, mpi.ReasonCommandNotFound},
		"Lost":      {"what Open MPI 5 may print", Evidence{Status: agenttest.StatusOfCode(1), Lines: []string{"PRTE has lost communication with a remote daemon."}}, mpi.ReasonCommandNotFound},
		"Words":     {"the file says more", Evidence{Status: agenttest.StatusOfCode(126), Lines: []string{"sh: 1: ./run.sh: Exec format error"}}, mpi.ReasonCommandNotFound},
		"Rank":      {"", Evidence{Status: agenttest.StatusOfCode(126), Reports: []mpi.NodeReport{on("demo-node-0-0.demo", died(0, 126, "", 1))}}, mpi.ReasonCommandNotFound},
		"Ran":       {"ranks ran: the file has changed, or another one was meant", Evidence{Status: agenttest.StatusOfCode(3), Reports: []mpi.NodeReport{seen}}, mpi.ReasonCommandFailed},
		"Exception": {"a better cause", Evidence{Status: agenttest.StatusOfCode(1), Lines: []string{"Traceback (most recent call last):", "  File \"a.py\"", "ValueError: bad"}}, diagnose.PythonException},
		"Stopped":   {"", Evidence{Status: agenttest.StatusOfCode(143), Stopped: syscall.SIGTERM}, mpi.ReasonCommandFailed},
		"Success":   {"", Evidence{}, ""},
	}
	for name, tc := range cases {
		tc.evidence.Argv, tc.evidence.Asked = []string{"mpirun", "./run.sh"}, []AskedWorld{{NotRunnable: why}}
		got := judgeCommand(tc.evidence)
		if got.Reason != tc.want || (got.Reason == mpi.ReasonCommandNotFound) != strings.HasPrefix(got.Message, why+"; the command `mpirun ./run.sh` exited") {
			t.Errorf("%s: %s: got %s: %s", name, tc.reason, got.Reason, got.Message)
		}
	}
}
