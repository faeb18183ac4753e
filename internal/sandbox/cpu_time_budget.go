package sandbox

import (
	"fmt"
	"sync"
	"time"
)

// cpuTimeBudget is the processor time that all processes of a kind may take in one run: each program that does not end costs a whole process,
// and there may be many of them. When it is spent no more process is started, so that it is exceeded by those that run at that moment.
type cpuTimeBudget struct {
	total time.Duration
	what  string

	mu          sync.Mutex
	spent       time.Duration
	interrupted bool
}

func newCPUTimeBudget(seconds int, what string) *cpuTimeBudget {
	return &cpuTimeBudget{total: time.Duration(seconds) * time.Second, what: what}
}

// checkLeft returns why no process may be started any more.
func (b *cpuTimeBudget) checkLeft() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.interrupted:
		return ErrInterrupted
	case b.spent >= b.total:
		return fmt.Errorf("%s may take %v of processor time in one run, and others have taken them: mend those that were ended first", b.what, b.total)
	}
	return nil
}

func (b *cpuTimeBudget) spend(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent += d
}

func (b *cpuTimeBudget) interrupt() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.interrupted = true
}
