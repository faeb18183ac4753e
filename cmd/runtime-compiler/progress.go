package main

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

// progress shows on a terminal how far a long build is, in one line that disappears. Without a terminal it does nothing.
type progress struct {
	out   io.Writer
	now   func() time.Time
	next  time.Time
	shown bool
}

func newProgress(w io.Writer) *progress {
	if file, isFile := w.(*os.File); !isFile || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(file.Fd())) {
		w = nil
	}
	return progressOn(w, time.Now)
}

func progressOn(w io.Writer, now func() time.Time) *progress {
	return &progress{out: w, now: now, next: now().Add(progressAfter)}
}

func (p *progress) tell(done, of int) {
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

// clear removes the line.
func (p *progress) clear() {
	if p.shown {
		p.shown = false
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
