package rootfs

import (
	"bytes"
	"strings"
)

// tailLines is how much of a failed program's output an error quotes.
const tailLines = 15

// lineWriter reports complete lines as they are written and remembers the last ones.
type lineWriter struct {
	report  Report
	pending []byte
	last    []string
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.pending = append(w.pending, p...)
	for {
		line, rest, complete := bytes.Cut(w.pending, []byte("\n"))
		if !complete {
			return len(p), nil
		}
		w.add(string(line))
		w.pending = rest
	}
}

func (w *lineWriter) add(line string) {
	w.report(line)
	w.last = append(w.last, "    "+line)
	w.last = w.last[max(0, len(w.last)-tailLines):]
}

// tail is what was written last, with whatever came without a newline.
func (w *lineWriter) tail() string {
	if len(w.pending) > 0 {
		w.add(string(w.pending))
		w.pending = nil
	}
	return strings.Join(w.last, "\n")
}
