package diagnose

import (
	"regexp"
	"strings"
)

// openTracebacks finds the exception at the end of a Python traceback: the first line that is not indented. Ranks print at the
// same time, so every tag is followed on its own.
type openTracebacks struct{ open map[int]bool }

const tracebackBegin = "Traceback (most recent call last)"

// exceptionLine is a name, and a text that may be missing.
var exceptionLine = regexp.MustCompile(`^[A-Za-z_][\w.]*(?:: .*)?$`)

// endsWithException reports whether a line is such an exception.
func (t *openTracebacks) endsWithException(rank *int, line string) bool {
	by := -1
	if rank != nil {
		by = *rank
	}
	if t.open == nil {
		t.open = map[int]bool{}
	}
	switch {
	case strings.Contains(line, tracebackBegin):
		t.open[by] = true
		return false
	case !t.open[by], line == "", strings.HasPrefix(line, " "):
		return false
	}
	t.open[by] = false
	return exceptionLine.MatchString(line)
}
