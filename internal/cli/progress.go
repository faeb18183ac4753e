package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// How long a build is before it shows progress, and how often that changes.
const (
	progressAfter = 500 * time.Millisecond
	progressEvery = 100 * time.Millisecond
)

// Progress shows on a terminal how far a long build is, in one line that disappears. Without a terminal it does nothing.
type Progress struct {
	out   io.Writer
	now   func() time.Time
	next  time.Time
	shown bool
}

// NewProgress returns one for a terminal, or one that shows nothing.
func NewProgress(w io.Writer) *Progress {
	if file, isFile := w.(*os.File); !isFile || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(file.Fd())) {
		w = nil
	}
	return progressOn(w, time.Now)
}

func progressOn(w io.Writer, now func() time.Time) *Progress {
	return &Progress{out: w, now: now, next: now().Add(progressAfter)}
}

// Tell says that so many units are compiled, of all.
func (p *Progress) Tell(done, of int) {
	if p.out == nil {
		return
	}
	now := p.now()
	if now.Before(p.next) {
		return
	}
	p.next, p.shown = now.Add(progressEvery), true
	fmt.Fprintf(p.out, "\r\x1b[Kcompiling: %d of %d units, %d %%", done, of, 100*done/of)
}

// Clear removes the line.
func (p *Progress) Clear() {
	if p.shown {
		p.shown = false
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
