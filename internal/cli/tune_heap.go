package cli

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// Go's collector starts at 4 MiB, and later runs whenever the heap has doubled. A run that compiles one tenant or nothing
// would collect several times for nothing: that is a fifth of its processor time. A large repository needs its memory for
// itself: growing by less than double takes a tenth off its peak for 4 % of the processor time.
const (
	// smallHeap is how far the heap grows before anybody looks for garbage, in bytes.
	smallHeap = 20 << 20
	// startHeap is where Go starts with 100 percent.
	startHeap = 4 << 20
	// mostGrowth bounds the pace of a small heap in percent: it holds on for a while after the heap has grown large, until the collector has swept
	// what tells of it.
	mostGrowth = 250
)

// pace is by how many percent a large heap grows before it is collected.
var pace atomic.Int64

// TuneHeap sets the pace of the collector, unless GOGC does. The last call holds from the next collection on.
func TuneHeap(percent int) {
	if os.Getenv("GOGC") != "" {
		return
	}
	if isFirst := pace.Swap(int64(percent)) == 0; isFirst {
		debug.SetGCPercent(growthPercent(startHeap, percent))
		tuneAfterCollection()
	}
}

// tuneAfterCollection sets the pace anew after every collection. The cleanup runs when one finds that nobody has the object any more.
func tuneAfterCollection() {
	runtime.AddCleanup(new([16]byte), func(struct{}) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		debug.SetGCPercent(growthPercent(live[0].Value.Uint64(), int(pace.Load())))
		tuneAfterCollection()
	}, struct{}{})
}

// growthPercent is by how many percent a heap with so many live bytes may grow, where a large one grows by percent.
func growthPercent(live uint64, percent int) int {
	if live = max(live, startHeap); live >= smallHeap {
		return percent
	}
	return max(percent, min(mostGrowth, int(100*(smallHeap-live)/live)))
}
