package main

import (
	"syscall"
	"testing"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// A command that goes on after its last launch needs no node any more, whatever it does, and however it ends.
func TestANodeThatGoesAfterTheLastLaunch(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		after string
		code  int
		want  mpi.Reason
	}{
		"success":        {"true", 0, ""},
		"failure":        {"exit 4", 4, mpi.ReasonCommandFailed},
		"another launch": {"mpirun", 255, diagnose.WorkerLost},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, 2)
			nodes := j.nodes()
			j.script("mpirun", fakeMPIRun)
			j.script("orted", "#!/bin/sh\nOMPI_COMM_WORLD_RANK=0 sleep 0.6\n")
			// On a busy machine the launcher does not see so short a launch, and asks the nodes ten seconds later.
			launcher := j.launch(nil, "sh", "-c", "mpirun; touch "+j.dir+"/launched; sleep 13; touch "+j.dir+"/waits; while ! test -e "+j.dir+"/gone; do sleep 0.02; done; "+c.after)
			if result, err := j.push(); err != nil || !result.Passed {
				t.Fatal(result, err)
			}
			awaitFile(t, j.dir+"/waits")
			nodes[1].signal(syscall.SIGTERM)
			nodes[1].wait()
			j.write(j.dir+"/gone", "", 0o644)
			got, verdict := launcher.wait(), j.verdict()
			if got.code != c.code || verdict.Reason != c.want || verdict.Message != "" && c.want == "" || (verdict.IdleSeconds > 1) != (c.want != diagnose.WorkerLost) {
				t.Errorf("%+v, verdict %+v", got, verdict)
			}
		})
	}
}
