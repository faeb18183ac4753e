package server

import (
	"fmt"
	"log"
	"sync"
	"time"
)

const (
	// refusalsPerSecond bounds the lines that strangers can put into the log of a pod: who is refused tries again and again.
	refusalsPerSecond = 10
	// maxMethod is how many bytes of a method are shown that a stranger says he authenticates by: real ones are shorter.
	maxMethod = 32
)

// refusalLog writes lines about peers that were refused, so many in a second. The zero value is ready.
type refusalLog struct {
	mu sync.Mutex
	// since is when the second began in which so many lines were written and so many left out.
	since            time.Time
	written, omitted int
}

// print writes a line, or counts it for the next one that is written in another second.
func (r *refusalLog) print(to *log.Logger, now time.Time, format string, arguments ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.since) >= time.Second {
		r.printOmitted(to)
		r.since, r.written = now, 0
	}
	if r.written == refusalsPerSecond {
		r.omitted++
		return
	}
	r.written++
	to.Printf(format, arguments...)
}

// close says what was left out last.
func (r *refusalLog) close(to *log.Logger) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.printOmitted(to)
}

func (r *refusalLog) printOmitted(to *log.Logger) {
	if r.omitted > 0 {
		to.Printf("refused peers %d times more, without a line for each", r.omitted)
	}
	r.omitted = 0
}

// quoteMethod shows what a stranger said, on one line.
func quoteMethod(method string) string {
	if len(method) > maxMethod {
		return fmt.Sprintf("%q…", method[:maxMethod])
	}
	return fmt.Sprintf("%q", method)
}
