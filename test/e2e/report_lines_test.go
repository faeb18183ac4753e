package e2e

import (
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2/types"
)

func TestLinesForPeople(t *testing.T) {
	spec := func(name string, state types.SpecState, seconds float64, message string) types.SpecReport {
		return types.SpecReport{
			LeafNodeType: types.NodeTypeIt, LeafNodeText: name, State: state, RunTime: time.Duration(seconds * float64(time.Second)),
			Failure: types.Failure{Message: message},
		}
	}
	specs := types.SpecReports{
		spec("starts", types.SpecStatePassed, 3.21, ""),
		spec("ends", types.SpecStateFailed, 90, "Timed out after 90 s.\nExpected …"),
		spec("is not asked for", types.SpecStateSkipped, 0, ""),
		{LeafNodeType: types.NodeTypeSynchronizedBeforeSuite, State: types.SpecStatePassed, RunTime: time.Hour},
	}
	for i, want := range []string{"[  12.0s] ok        3.2s  starts", "[  12.0s] FAILED   90.0s  ends: Timed out after 90 s."} {
		if got := specLine(specs[i], 12*time.Second); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	if got, want := counts(specs), "    1 passed, 1 failed, 1 skipped"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := slowest(specs), "the slowest specs:\n    90.0s  ends\n     3.2s  starts\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	specs[3].State = types.SpecStateFailed
	if got, want := counts(specs), "    1 passed, 2 failed, 1 skipped"; got != want {
		t.Errorf("a cluster that does not start counts: got %q, want %q", got, want)
	}
}
