package platform

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Progress prints one line per finished step with its own time and the time since the start.
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

// Elapsed is the time since the start.
func (p *Progress) Elapsed() time.Duration { return time.Since(p.start) }

func (p *Progress) line(state string, start time.Time, name, detail string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = fmt.Fprintf(p.out, "[%6.1fs] %-6s %-34s %6.1fs  %s\n", p.Elapsed().Seconds(), state, name, time.Since(start).Seconds(), detail)
}
