package rsh

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi/agent/verdict"
)

func TestLossesKeepTheirOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "losses")
	if got, err := ReadLosses(path); err != nil || got != nil {
		t.Errorf("without a file: %v, %v", got, err)
	}
	want := []verdict.Loss{{Host: "w-1", Address: "10.0.0.1", Error: "first\nline"}, {Host: "w-0", Error: "second"}}
	for _, l := range want {
		if err := appendLoss(path, l); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ReadLosses(path)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}
