package cli

import (
	"fmt"
	"io"
	"os"
	"time"
)

// How long a build is before it shows progress, and how often that changes.
const (
	progressAfter = 500 * time.Millisecond
	progressEvery = 100 * time.Millisecond
)

// Progress shows on a terminal how far something long is, a build or a job, in one line that disappears. Without a terminal it does nothing.
type Progress struct {
	out   io.Writer
	now   func() time.Time
	next  time.Time
	shown bool
}

// NewProgress returns one for a terminal, or one that shows nothing.
func NewProgress(w io.Writer) *Progress {
	if os.Getenv("TERM") == "dumb" || !IsTerminal(w) {
		w = nil
	}
	return newProgressOn(w, time.Now)
}

func newProgressOn(w io.Writer, now func() time.Time) *Progress {
	return &Progress{out: w, now: now, next: now().Add(progressAfter)}
}

// ShowUnits says that so many units are compiled, of all.
func (p *Progress) ShowUnits(done, of int) {
	if p.out == nil {
		return
	}
	now := p.now()
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(progressEvery)
	p.ShowText(fmt.Sprintf("compiling: %d of %d units, %d %%", done, of, 100*done/of))
}

// ShowText shows a text at once.
func (p *Progress) ShowText(text string) {
	if p.out == nil {
		return
	}
	p.shown = true
	fmt.Fprint(p.out, "\r\x1b[K"+text)
}

// ClearLine removes the line.
func (p *Progress) ClearLine() {
	if p.shown {
		p.shown = false
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
