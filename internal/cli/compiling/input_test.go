package compiling

import (
	"runtime"
	"testing"
)

// TestLimit: no number of workers makes more threads than there are processors for.
func TestLimit(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	if (&Input{Workers: maxWorkers}).LimitProcessors(); runtime.GOMAXPROCS(0) > runtime.NumCPU() {
		t.Errorf("%d threads for %d processors", runtime.GOMAXPROCS(0), runtime.NumCPU())
	}
}
