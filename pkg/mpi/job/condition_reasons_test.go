package job_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// progressReasons say how far a job has come; all other reasons are documented in package diagnose.
var progressReasons = map[mpi.Reason]bool{
	job.ReasonWaitingForDeletion: true, job.ReasonJobSetCreated: true, job.ReasonFetchingData: true, job.ReasonSuspended: true, job.ReasonResumed: true, job.ReasonPodsPending: true,
	job.ReasonPodsReady: true, job.ReasonWaitingForPods: true, job.ReasonWaitingForNodes: true, job.ReasonGatePassed: true, job.ReasonFinished: true,
	job.ReasonCompleted: true, job.ReasonRestarting: true, job.ReasonRestarted: true,
}

// TestEveryReasonIsDocumented: the list of reasons is closed, whichever file declares one.
func TestEveryReasonIsDocumented(t *testing.T) {
	declared := regexp.MustCompile(`mpi\.Reason\s*=\s*"(\w+)"`)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range declared.FindAllStringSubmatch(string(text), -1) {
			reason := mpi.Reason(match[1])
			if _, documented := diagnose.ReasonDocOf(reason); !documented && !progressReasons[reason] {
				t.Errorf("%s declares %s: document it in pkg/mpi/diagnose (reasons.go, entries.go), or count it as progress here", file, reason)
			}
		}
	}
}
