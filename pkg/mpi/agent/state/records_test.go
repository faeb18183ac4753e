package state

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRecordsKeepTheirOrder(t *testing.T) {
	type loss struct{ Host, Error string }
	path := filepath.Join(t.TempDir(), "losses")
	if got, err := ReadRecords[loss](path); err != nil || got != nil {
		t.Errorf("without a file: %v, %v", got, err)
	}
	want := []loss{{Host: "w-1", Error: "first\nline"}, {Host: "w-0", Error: "second"}}
	for _, l := range want {
		if err := AppendRecord(path, l); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ReadRecords[loss](path)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}
