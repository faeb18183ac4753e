package compare

import (
	"fmt"
	"strings"

	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// maxShown is how many characters of a value are shown; of a longer one it is what differs, with some of what stands around it.
const (
	maxShown = 200
	around   = 20
)

// Excerpts returns what is shown in a table of two values that differ.
func Excerpts(left, right string) (string, string) {
	if !strings.Contains(left+right, "\n") {
		return differingMiddles(left, right)
	}
	return firstDifferingLines(left, right)
}

// sizedExcerpts returns what is shown of two texts that differ: how large each is, and the first line that differs. One that is not there is empty.
func sizedExcerpts(left, right string, hasLeft, hasRight bool) (string, string) {
	var parts [2]string
	if hasLeft && hasRight {
		parts[0], parts[1] = firstDifferingLines(left, right)
	}
	for i, has := range []bool{hasLeft, hasRight} {
		if !has {
			continue
		}
		size := fmt.Sprintf("%d bytes", len([]string{left, right}[i]))
		if size == "1 bytes" {
			size = "1 byte"
		}
		parts[i] = strings.TrimSuffix(size+"; "+parts[i], "; ")
	}
	return parts[0], parts[1]
}

// firstDifferingLines returns the first line in which two texts differ, of each. Of a text that ends before it is none.
func firstDifferingLines(left, right string) (string, string) {
	l, r := strings.Split(left, "\n"), strings.Split(right, "\n")
	at := 0
	for at < len(l) && at < len(r) && l[at] == r[at] {
		at++
	}
	line := func(lines []string) string {
		if at >= len(lines) {
			return ""
		}
		return diagnose.Redact(lines[at])
	}
	one, other := differingMiddles(line(l), line(r))
	if at < len(l) && left != "" {
		one = fmt.Sprintf("line %d: %s", at+1, one)
	}
	if at < len(r) && right != "" {
		other = fmt.Sprintf("line %d: %s", at+1, other)
	}
	return one, other
}

// differingMiddles leaves out of long values what they have in common at both ends.
func differingMiddles(left, right string) (string, string) {
	l, r := []rune(left), []rune(right)
	if len(l) <= maxShown && len(r) <= maxShown {
		return left, right
	}
	begin, end := 0, 0
	for begin < len(l) && begin < len(r) && l[begin] == r[begin] {
		begin++
	}
	for end < len(l)-begin && end < len(r)-begin && l[len(l)-1-end] == r[len(r)-1-end] {
		end++
	}
	begin, end = max(0, begin-around), max(0, end-around)
	return cutEnds(l, begin, end), cutEnds(r, begin, end)
}

// cutEnds leaves out so many characters at each end of a text, and what is still too long.
func cutEnds(text []rune, begin, end int) string {
	if len(text) == 0 {
		return ""
	}
	part, before, after := text[begin:len(text)-end], "", ""
	if begin > 0 {
		before = "…"
	}
	if len(part) > maxShown {
		part, end = part[:maxShown], 1
	}
	if end > 0 {
		after = "…"
	}
	return before + string(part) + after
}
