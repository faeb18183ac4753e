package main

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"lockstep.dev/lockstep/pkg/mpi/agent/verdict"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// leave runs a job whose script leaves a launch behind that runs a command and then waits forever.
func leave(t *testing.T, command string, variables ...string) (*job, ended) {
	t.Helper()
	j := newJob(t, 1)
	j.variables = append(slices.Clone(variables), verdict.AllowIdleVariable+"=true")
	shell, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	j.script("mpirun", string(shell)) // a script would run under the name of its shell
	if err := syscall.Mkfifo(j.dir+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	j.nodes()
	launcher := j.launch(nil, "sh", "-c", "cd "+j.dir+`; AGENT=$PPID SCRIPT=$$ mpirun -c ">begun; $0; read x <>fifo" >/dev/null 2>&1 & echo $! >launch
		until [ -e begun ]; do sleep 0.01; done # before, it is a shell like any other`, command)
	if result, err := j.push(); err != nil || !result.Passed {
		t.Fatal(result, err)
	}
	got := launcher.wait()
	text, err := os.ReadFile(j.dir + "/launch")
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL) // in a pod it would end with the agent
	return j, got
}

func TestALaunchThatOutlastsItsCommand(t *testing.T) {
	t.Parallel()
	j, got := leave(t, "true")
	if verdict := j.verdict(); got.code != 125 || verdict.Reason != diagnose.LaunchAbandoned || verdict.RunSeconds >= 5 {
		t.Errorf("the 5 s afterwards are none of the command's: %+v, verdict %+v", got, verdict)
	}
}

// A server in the background has done its work when its client has.
func TestServersMayOutlastTheCommand(t *testing.T) {
	t.Parallel()
	j, got := leave(t, "true", verdict.AllowUnfinishedVariable+"=true")
	if verdict := j.verdict(); got.code != 0 || !verdict.Succeeded() || verdict.Message != "" {
		t.Errorf("%+v, verdict %+v", got, verdict)
	}
}

// A pod that is stopped while its agent waits for a launch ends at once, and nobody blames its script.
func TestAStopWhileALaunchIsAwaited(t *testing.T) {
	t.Parallel()
	j, got := leave(t, "while kill -0 $SCRIPT; do sleep 0.02; done; kill -TERM $AGENT")
	if verdict := j.verdict(); verdict.Stopped != "SIGTERM" || !verdict.Succeeded() {
		t.Errorf("%+v, verdict %+v", got, verdict)
	}
}
