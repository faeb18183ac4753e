package platform

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// watchInterval is how often a long step says how far it has come.
const watchInterval = 10 * time.Second

// Progress prints one line per finished step with its own time and the time since the start, and for a long step one every
// 10 s while it works.
type Progress struct {
	out   io.Writer
	start time.Time
	mu    sync.Mutex
}

// NewProgress starts the clock.
func NewProgress(out io.Writer) *Progress { return &Progress{out: out, start: time.Now()} }

// Step runs do and reports how it ended.
func (p *Progress) Step(name string, do func() (detail string, err error)) error {
	start := time.Now()
	detail, err := do()
	if err != nil {
		p.line("FAILED", start, name, err.Error())
		return fmt.Errorf("%s: %w", name, err)
	}
	p.line("ok", start, name, detail)
	return nil
}

// Watch is Step for work of minutes: do tells at any time, from any goroutine, how far it has come, and the latest is printed
// every 10 s and at the end.
func (p *Progress) Watch(name string, do func(now func(detail string)) error) error {
	var latest atomic.Value
	latest.Store("")
	detail := func() string { return latest.Load().(string) } //nolint:forcetypeassert // nothing else is stored
	return p.Step(name, func() (string, error) {
		defer p.repeat(name, detail)()
		err := do(func(detail string) { latest.Store(detail) })
		return detail(), err
	})
}

// repeat prints a line every interval until it is stopped.
func (p *Progress) repeat(name string, detail func() string) (stop func()) {
	start, done := time.Now(), make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		tick := time.NewTicker(watchInterval)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				p.line("...", start, name, detail())
			}
		}
	})
	return func() { close(done); work.Wait() }
}

// Elapsed is the time since the start.
func (p *Progress) Elapsed() time.Duration { return time.Since(p.start) }

func (p *Progress) line(state string, start time.Time, name, detail string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = fmt.Fprintf(p.out, "[%6.1fs] %-6s %-34s %6.1fs  %s\n", p.Elapsed().Seconds(), state, name, time.Since(start).Seconds(), detail)
}
