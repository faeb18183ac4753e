package meter

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestMeasure: what a process uses is counted, what it prints is kept, a failure is an error, and the memory of who measures
// is no more than some megabytes.
func TestMeasure(t *testing.T) {
	m, err := New(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out")
	u, err := m.Measure(t.Context(), Command{
		Args: []string{"sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo $KIND"}, Stdout: out, Env: []string{"KIND=v1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if u.CPU() <= 0 || u.Wall <= 0 || u.PeakRSS < 100<<10 || u.PeakRSS > 16<<20 {
		t.Errorf("a small process that worked used %+v", u)
	}
	if printed, err := os.ReadFile(out); err != nil || string(printed) != "v1\n" {
		t.Errorf("printed %q, %v", printed, err)
	}
	if _, err := m.Measure(t.Context(), Command{Args: []string{"false"}}); err == nil {
		t.Error("a process that failed gives no error")
	}
	if u, err = m.Measure(t.Context(), Command{Args: []string{"sleep", "60"}, Limit: 10 * time.Millisecond}); err != nil || !u.Stopped || u.Wall > 30 {
		t.Errorf("a process that takes longer than its limit gives %+v, %v", u, err)
	}
}
