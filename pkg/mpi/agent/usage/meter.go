package usage

import (
	"context"
	"io/fs"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/sleep"
)

// Meter measures one pod from its beginning on.
type Meter struct {
	root   fs.FS
	group  cgroup
	began  time.Time
	before struct {
		kills, sent int64
		cpu         float64
	}
	peak atomic.Int64
}

// NewMeter begins to measure. The file system is the root of the pod.
func NewMeter(root fs.FS) *Meter {
	m := &Meter{root: root, group: findCgroup(root), began: time.Now()}
	m.before.kills, _ = m.group.oomKills()
	m.before.sent, m.before.cpu = sentBytes(root), m.group.cpuSeconds()
	m.lookAtMemory()
	return m
}

// look is the time between two looks at memory, which the kernel counts, but with all of the file cache in its peak.
const look = time.Second

// Watch looks at memory until the context ends.
func (m *Meter) Watch(ctx context.Context) {
	for sleep.For(ctx, look) {
		m.lookAtMemory()
	}
}

func (m *Meter) lookAtMemory() {
	for used := m.group.memoryInUse(); ; {
		if peak := m.peak.Load(); used <= peak || m.peak.CompareAndSwap(peak, used) {
			return
		}
	}
}

// OOMKills returns how many processes the kernel has killed for memory so far, 0 if it does not count them.
func (m *Meter) OOMKills() int {
	now, _ := m.group.oomKills()
	return int(now - m.before.kills)
}

// Usage returns how much was used so far. Memory can grow between two looks until the kernel kills a process for it:
// then the kernel's own peak counts.
func (m *Meter) Usage() *mpi.PodUsage {
	m.lookAtMemory()
	u := mpi.PodUsage{
		Seconds:    mpi.RoundSeconds(time.Since(m.began).Seconds()),
		CPUSeconds: mpi.RoundSeconds(m.group.cpuSeconds() - m.before.cpu),
		MemoryPeak: m.peak.Load(), MemoryLimit: m.group.memoryLimit(), SentBytes: sentBytes(m.root) - m.before.sent,
	}
	if m.OOMKills() > 0 {
		u.MemoryPeak = max(u.MemoryPeak, m.group.memoryPeak())
	}
	return &u
}

// sentBytes sums the bytes that all interfaces but loopback have sent: the ninth number of each line of /proc/net/dev.
func sentBytes(root fs.FS) int64 {
	text, _ := fs.ReadFile(root, "proc/net/dev") // unreadable: nothing is known to be sent
	var sum int64
	for line := range strings.Lines(string(text)) {
		name, counters, found := strings.Cut(line, ":")
		fields := strings.Fields(counters)
		if !found || strings.TrimSpace(name) == "lo" || len(fields) < 9 {
			continue
		}
		if n, err := strconv.ParseInt(fields[8], 10, 64); err == nil {
			sum += n
		}
	}
	return sum
}
