package main

import (
	"strings"
	"testing"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/verdict"
)

// What a user writes into the variable either counts or is refused: a job that fails after hours because `yes` meant no is worse.
func TestIdleNodesAreAllowedByAWordThatIsUnderstood(t *testing.T) {
	for _, variable := range []string{verdict.AllowIdleVariable, verdict.AllowUnfinishedVariable} {
		testSwitch(t, variable)
	}
}

func testSwitch(t *testing.T, variable string) {
	t.Helper()
	for value, allowed := range map[string]bool{"true": true, "TRUE": true, "1": true, "": false, "false": false, "0": false} {
		t.Setenv(variable, value)
		if got, err := boolVariable(variable); got != allowed || err != nil {
			t.Errorf("%q: want %v, got %v, %v", value, allowed, got, err)
		}
	}
	j := newJob(t, 1)
	j.setenv(variable, "maybe")
	got := j.launch(nil, "true").wait()
	if verdict := j.verdict(); got.code != 125 || verdict.Reason != mpi.ReasonAgentFailed || !strings.Contains(verdict.Message, variable+" is `maybe`: allowed are true, false, 1 and 0") {
		t.Errorf("%+v, verdict %+v", got, verdict)
	}
}
