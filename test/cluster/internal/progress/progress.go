// Package progress tells a person what is going on: one line for every step
// that ended, with the time since the start and the time that it took, and on
// a terminal one live line with the steps that are at work. Elsewhere, in a CI
// log for example, that line comes every half minute.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// Reporter is safe for use by several goroutines. A nil Reporter is silent.
type Reporter struct {
	mu      sync.Mutex
	out     io.Writer
	live    bool
	width   int
	start   time.Time
	running []*Step
	stop    chan struct{}
	done    sync.WaitGroup
}

// New reports to a writer; it draws the live line only on a terminal.
func New(out io.Writer) *Reporter {
	r := &Reporter{out: out, start: time.Now(), width: 200, stop: make(chan struct{})}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		r.live = true
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			r.width = w
		}
	}
	r.done.Go(r.animate)
	return r
}

// Close ends the live line.
func (r *Reporter) Close() {
	if r == nil {
		return
	}
	close(r.stop)
	r.done.Wait()
}

// Elapsed is the time since New.
func (r *Reporter) Elapsed() time.Duration { return time.Since(r.start) }

func (r *Reporter) animate() {
	interval := 30 * time.Second
	if r.live {
		interval = 200 * time.Millisecond
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-r.stop:
			r.mu.Lock()
			r.erase()
			r.mu.Unlock()
			return
		case <-tick.C:
			r.mu.Lock()
			r.draw()
			r.mu.Unlock()
		}
	}
}

// line says which steps are at work, and for how long.
func (r *Reporter) line() string {
	parts := make([]string, 0, len(r.running))
	for _, s := range r.running {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s", s.name, s.note))+" "+seconds(time.Since(s.start)))
	}
	line := fmt.Sprintf("%8s  … %s", seconds(r.Elapsed()), strings.Join(parts, " · "))
	if runes := []rune(line); len(runes) >= r.width {
		line = string(runes[:r.width-1])
	}
	return line
}

func (r *Reporter) erase() {
	if r.live {
		_, _ = io.WriteString(r.out, "\r\x1b[K")
	}
}

// draw shows the line; without a terminal only the ticker does, and the line
// stays.
func (r *Reporter) draw() {
	if len(r.running) == 0 {
		return
	}
	if r.live {
		_, _ = io.WriteString(r.out, "\r\x1b[K"+r.line())
		return
	}
	_, _ = io.WriteString(r.out, r.line()+"\n")
}

// redraw brings the live line back after other output.
func (r *Reporter) redraw() {
	if r.live {
		r.draw()
	}
}

// Say prints a line.
func (r *Reporter) Say(format string, args ...any) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.erase()
	_, _ = fmt.Fprintf(r.out, "%8s  %s\n", seconds(r.Elapsed()), fmt.Sprintf(format, args...))
	r.redraw()
}

// Step is a piece of work.
type Step struct {
	reporter *Reporter
	name     string
	note     string
	start    time.Time
}

// Begin starts a step.
func (r *Reporter) Begin(format string, args ...any) *Step {
	s := &Step{reporter: r, name: fmt.Sprintf(format, args...), start: time.Now()}
	if r != nil {
		r.mu.Lock()
		r.running = append(r.running, s)
		r.redraw()
		r.mu.Unlock()
	}
	return s
}

// Note changes what the live line adds to the step's name.
func (s *Step) Note(format string, args ...any) {
	if s.reporter == nil {
		return
	}
	s.reporter.mu.Lock()
	s.note = fmt.Sprintf(format, args...)
	s.reporter.mu.Unlock()
}

// End closes the step and prints its line, unless it failed: the error is
// reported by whoever handles it. It returns the error, so that a step can end
// in a return statement.
func (s *Step) End(err error) error {
	if s.reporter == nil {
		return err
	}
	s.leave()
	if err == nil {
		s.reporter.Say("%s (%s)", s.name, seconds(time.Since(s.start)))
	}
	return err
}

func (s *Step) leave() {
	r := s.reporter
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, other := range r.running {
		if other == s {
			r.running = append(r.running[:i], r.running[i+1:]...)
			break
		}
	}
	r.erase()
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }
