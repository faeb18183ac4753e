package job

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// progressReasons say how far a job has come; all other reasons are documented in package diagnose.
var progressReasons = map[mpi.Reason]bool{
	ReasonWaitingForDeletion: true, ReasonJobSetCreated: true, ReasonSuspended: true, ReasonResumed: true, ReasonPodsPending: true,
	ReasonPodsReady: true, ReasonWaitingForPods: true, ReasonWaitingForNodes: true, ReasonGatePassed: true, ReasonFinished: true,
	ReasonCompleted: true, ReasonRestarting: true, ReasonRestarted: true,
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
			if _, documented := diagnose.EntryOf(reason); !documented && !progressReasons[reason] {
				t.Errorf("%s declares %s: document it in pkg/mpi/diagnose (reasons.go, entries.go), or count it as progress here", file, reason)
			}
		}
	}
}
