package pinned

import (
	"os"
	"strings"
	"testing"
)

// TestVersionsThatRun: objects are checked against the versions of Kueue, JobSet and Kubeflow Trainer that the tests run.
func TestVersionsThatRun(t *testing.T) {
	data, err := os.ReadFile("../../../../test/integration/kueue/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, source := range Sources {
		_, rest, required := strings.Cut(string(data), "\t"+source.Module+" ")
		if !required || source.Minor != 0 {
			continue
		}
		found++
		if runs := strings.Fields(rest)[0]; runs != source.Version {
			t.Errorf("%s: schemas of %s, tests run %s", source.Module, source.Version, runs)
		}
	}
	if found < 3 {
		t.Errorf("%d modules are in both, want at least Kueue, JobSet and Kubeflow Trainer", found)
	}
}
