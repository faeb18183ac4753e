package main

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
)

// saving is a daemon with a rank that takes longer to save its work than any agent would wait by itself, and leaves how it got on
// in files of the test.
func saving(j *job) {
	j.script("save", "#!/bin/sh\ntrap 'sleep 0.8; touch "+j.dir+"/saved-$HOSTNAME; exit 0' TERM\n"+untilTheEnd(j.dir+"/started-$HOSTNAME"))
	j.script("orted", "#!/bin/sh\nOMPI_COMM_WORLD_RANK=0 save; exit 1\n")
}

// preempted launches a command, and asks all pods to stop once something runs on each node. It returns the launcher.
func (j *job) preempted(nodes []*running, command ...string) *running {
	j.t.Helper()
	launcher := j.launch(nil, command...)
	if result, err := j.push(); err != nil || !result.Passed {
		j.t.Fatal(result, err)
	}
	for i := range nodes {
		awaitFile(j.t, j.dir+"/started-demo-node-0-"+strconv.Itoa(i))
	}
	for _, pod := range append(nodes, launcher) {
		pod.signal(syscall.SIGTERM)
	}
	return launcher
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// All pods of a job that is preempted are asked to stop at the same time.
func TestRanksSaveTheirWorkWhenTheirJobIsPreempted(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{"mpirun": "exec mpirun", "a script": "mpirun; true", "a pipe": "mpirun | cat", "left behind": "trap 'exit 1' TERM; mpirun & wait"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, 2)
			nodes := j.nodes()
			saving(j)
			j.script("mpirun", fakeMPIRun)
			launcher := j.preempted(nodes, "sh", "-c", script)
			got, verdict := launcher.wait(), j.verdict()
			if verdict.Stopped != "SIGTERM" {
				t.Errorf("%+v, verdict %+v", got, verdict)
			}
			for i, host := range []string{"demo-node-0-0", "demo-node-0-1"} {
				if node := nodes[i].wait(); node.code != 0 || !exists(j.dir+"/saved-"+host) {
					t.Errorf("%s: saved %v, %+v", host, exists(j.dir+"/saved-"+host), node)
				}
			}
		})
	}
}

// A remote shell ends an mpiexec whose proxy was lost. A proxy that ends because its ranks have saved their work is not, and other ranks
// may still be at it.
func TestMpiexecIsKeptForRanksThatSaveTheirWork(t *testing.T) {
	t.Parallel()
	j := newJob(t, 2)
	nodes := j.nodes()
	j.script("save", "#!/bin/sh\ntrap 'sleep $1; exit 0' TERM\n"+untilTheEnd(j.dir+"/started-$HOSTNAME"))
	j.script("hydra_pmi_proxy", "#!/bin/sh\nif [ $HOSTNAME = demo-node-0-0 ]; then PMI_RANK=0 save 0.2; else PMI_RANK=1 save 1.5; fi\n")
	j.script("mpirun", strings.Replace(strings.ReplaceAll(fakeMPIRun, "orted -mca", "hydra_pmi_proxy --control-port x:1"), "exit $code", ": > "+j.dir+"/over; exit $code", 1)) // not touch, which would be asked to end as any program of a pod that stops
	launcher := j.preempted(nodes, "mpirun")
	launcher.wait()
	if !exists(j.dir + "/over") {
		t.Error("mpiexec was ended before the ranks of all nodes had saved their work")
	}
}

// mpirun ends all ranks when it loses a daemon, so that a node whose own ranks have ended waits for the others.
func TestADaemonWithoutRanksIsKeptForTheOthers(t *testing.T) {
	t.Parallel()
	j := newJob(t, 2)
	nodes := j.nodes()
	saving(j)
	// As real ones do, the daemons end with their launch, here when rank 0 has, and the loss of one is the end of all.
	j.script("orted", "#!/bin/sh\nif [ $HOSTNAME = demo-node-0-0 ]; then OMPI_COMM_WORLD_RANK=0 save; : > "+j.dir+"/over; exit 0; fi\n"+
		"touch "+j.dir+"/started-$HOSTNAME; while ! test -e "+j.dir+"/over; do sleep 0.05; done\n")
	j.script("mpirun", fakeMPIRun)
	launcher := j.preempted(nodes, "mpirun")
	nodes[1].wait()
	if !exists(j.dir + "/saved-demo-node-0-0") {
		t.Error("a node has gone while a rank of another one saved its work")
	}
	launcher.wait()
}

// kubelet kills an agent whose pod has used up its grace, and reads what it has left until then.
func TestAVerdictIsThereWhenTheGraceIsOver(t *testing.T) {
	t.Parallel()
	j := newJob(t, 1)
	j.nodes()
	launcher := j.launch(nil, "sh", "-c", "trap '' TERM; "+untilTheEnd(j.dir+"/started"))
	if result, err := j.push(); err != nil || !result.Passed {
		t.Fatal(result, err)
	}
	awaitFile(t, j.dir+"/started")
	launcher.signal(syscall.SIGTERM)
	var verdict mpi.Verdict
	for err := errors.New("not there"); err != nil; time.Sleep(2 * time.Millisecond) { // it is written in place
		text, _ := os.ReadFile(j.verdictAt)
		verdict, err = mpi.DecodeVerdict(string(text))
	}
	if verdict.Reason != mpi.ReasonCommandKilled || verdict.Stopped != "SIGTERM" {
		t.Errorf("%+v", verdict)
	}
	launcher.signal(syscall.SIGKILL)
	launcher.wait()
}

// Nobody waits for a pod in which nothing runs.
func TestANodeWithoutProgramsEndsAtOnce(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{"unused": "true", "used": "mpirun"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, 1)
			nodes := j.nodes()
			j.script("mpirun", fakeMPIRun)
			launcher := j.launch(nil, "sh", "-c", command)
			if result, err := j.push(); err != nil || !result.Passed {
				t.Fatal(result, err)
			}
			launcher.wait()
			begin := time.Now()
			nodes[0].signal(syscall.SIGTERM)
			if got := nodes[0].wait(); got.code != 0 || time.Since(begin) > 2*time.Second {
				t.Errorf("after %v: %+v", time.Since(begin), got)
			}
		})
	}
}
