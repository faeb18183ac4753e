package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/agent/identity"
)

// stuck is a launch daemon with a rank that waits for somebody who never comes. Until that one runs, which takes its time on a machine that has
// much other work, the launch says so: only then it is silent.
func (j *job) stuck() string {
	j.t.Helper()
	fifo, started := filepath.Join(j.dir, "fifo"), filepath.Join(j.dir, "started")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		j.t.Fatal(err)
	}
	j.script("orted", "#!/bin/sh\nOMPI_COMM_WORLD_RANK=3 sh -c 'touch "+started+"; read x <"+fifo+"'\n")
	j.script("mpirun", strings.Replace(fakeMPIRun, "\n", "\n(while ! [ -e "+started+" ]; do echo waits for the rank; sleep 0.2; done) &\n", 1))
	return started
}

func TestAJobThatDoesNothingIsEnded(t *testing.T) {
	t.Parallel()
	j := newJob(t, 1)
	j.nodes()
	j.stuck()
	j.setenv("LOCKSTEP_HANG_AFTER", "3s")
	launcher := j.launch(nil, "mpirun")
	if result, err := j.push(); err != nil || !result.Passed {
		t.Fatal(result, err)
	}
	got := launcher.wait()
	verdict := j.verdict()
	if got.code != 125 || verdict.Reason != mpi.ReasonHang {
		t.Fatalf("%+v, verdict %+v", got, verdict)
	}
	for _, words := range []string{"wrote anything for 3s", "rank 3 (sh, pid ", "on demo-node-0-0) is sleeping"} {
		if !strings.Contains(verdict.Message, words) {
			t.Errorf("no %q in %q", words, verdict.Message)
		}
	}
}

func TestAJobThatSaysSomethingIsLeftAlone(t *testing.T) {
	t.Parallel()
	j := newJob(t, 1)
	j.nodes()
	j.script("orted", "#!/bin/sh\nfor i in 1 2 3 4 5 6 7 8 9; do echo $i; sleep 0.5; done\n")
	j.script("mpirun", fakeMPIRun)
	launcher := j.launch([]string{"--hang-after", "3s"}, "mpirun")
	if result, err := j.push(); err != nil || !result.Passed {
		t.Fatal(result, err)
	}
	if got := launcher.wait(); got.code != 0 || !j.verdict().Succeeded() {
		t.Errorf("%+v, verdict %+v", got, j.verdict())
	}
}

func TestAWrongHangRuleIsRefused(t *testing.T) {
	t.Parallel()
	j := newJob(t, 1)
	got := j.launch([]string{"--hang-after", "soon"}, "true").wait()
	if verdict := j.verdict(); got.code != 125 || verdict.Reason != mpi.ReasonAgentFailed || !strings.Contains(verdict.Message, "LOCKSTEP_HANG_AFTER is `soon`") {
		t.Errorf("%+v, verdict %+v", got, verdict)
	}
}

// Whoever holds the key of the job can ask its launcher how far the launch is, while it runs; at the end the verdict says it.
func TestTimingsOfALaunch(t *testing.T) {
	t.Parallel()
	j := newJob(t, 1)
	j.nodes()
	started := j.stuck()
	launcher := j.launch(nil, "mpirun")
	if result, err := j.push(); err != nil || !result.Passed || result.Connect == nil || result.TableFrom != mpi.TableFromController {
		t.Fatal(result, err)
	}
	awaitFile(t, started)
	key, err := identity.LoadKey(j.keyDir)
	if err != nil {
		t.Fatal(err)
	}
	address, err := client.AgentAddress(j.hosts[0], j.port)
	if err != nil {
		t.Fatal(err)
	}
	live, err := client.AskLaunchTimings(t.Context(), j.dial, key, address)
	if err != nil || live.CommandSeconds == nil || live.GateSeconds == nil || *live.GateSeconds > *live.CommandSeconds || live.Connect == nil {
		t.Errorf("live: %+v, %v", live, err)
	}
	j.awaitRank(key, 1)
	if err := os.WriteFile(filepath.Join(j.dir, "fifo"), []byte("go\n"), 0o600); err != nil { // the rank goes on
		t.Fatal(err)
	}
	if got := launcher.wait(); got.code != 0 {
		t.Fatal(got)
	}
	timings := j.verdict().Timings
	if timings == nil || timings.DaemonSeconds == nil || timings.RankSeconds == nil {
		t.Fatalf("%+v", timings)
	}
	if *timings.CommandSeconds > *timings.DaemonSeconds || *timings.DaemonSeconds > *timings.RankSeconds {
		t.Errorf("out of order: command %v, daemon %v, rank %v", *timings.CommandSeconds, *timings.DaemonSeconds, *timings.RankSeconds)
	}
}

// awaitRank waits until the agent of a pod has seen a rank.
func (j *job) awaitRank(key identity.Key, host int) {
	j.t.Helper()
	address, err := client.AgentAddress(j.hosts[host], j.port)
	if err != nil {
		j.t.Fatal(err)
	}
	for {
		progress, err := client.AskProgress(j.t.Context(), j.dial, key, address, mpi.ProgressRequest{})
		if err != nil {
			j.t.Fatal(err)
		}
		if progress.RankAge != nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}
