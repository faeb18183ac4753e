package process

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOverrideLeavesOneValuePerName(t *testing.T) {
	got := OverrideVariables([]string{"A=1", "B=2", "AB=3"}, []string{"A=9", "C=4"})
	if diff := cmp.Diff([]string{"A=9", "C=4", "B=2", "AB=3"}, got); diff != "" {
		t.Error(diff)
	}
}
