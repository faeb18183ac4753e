package cli

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Go's collector starts at 4 MiB, and later runs whenever the heap has doubled. A run that compiles one tenant or nothing would collect
// several times for nothing, and so would watch, whose heap is small but for moments: that is a fifth of their processor time. A large
// repository needs its memory for itself: growing by less than double takes a tenth off its peak for 4 % of the processor time.
const (
	// smallHeap is how far the heap grows before anybody looks for garbage, in bytes.
	smallHeap = 20 << 20
	// startHeap is where Go starts with 100 percent.
	startHeap = 4 << 20
	// mostGrowth bounds the pace of a small heap in percent: it holds on for a while after the heap has grown large, until the collector has swept
	// what tells of it.
	mostGrowth = 250
)

// TuneHeap sets the pace of the collector, unless the user has an opinion: by how many percent a large heap grows before it is collected.
func TuneHeap(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(growthPercent(startHeap, percent))
		tuneAfterCollection(percent)
	}
}

// tuneAfterCollection sets the pace anew after every collection. The cleanup runs when one finds that nobody has the object any more.
func tuneAfterCollection(percent int) {
	runtime.AddCleanup(new([16]byte), func(struct{}) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		debug.SetGCPercent(growthPercent(live[0].Value.Uint64(), percent))
		tuneAfterCollection(percent)
	}, struct{}{})
}

// growthPercent is by how many percent a heap with so many live bytes may grow, where a large one grows by percent.
func growthPercent(live uint64, percent int) int {
	if live = max(live, startHeap); live >= smallHeap {
		return percent
	}
	return max(percent, min(mostGrowth, int(100*(smallHeap-live)/live)))
}
