package diag

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Nearest returns the candidate that differs least from what was written, if it is close enough to be meant: at most a
// third of its letters are wrong. Of equally near ones the first wins.
func Nearest(got string, candidates []string) (string, bool) {
	best, distance := "", len(got)+1
	for _, candidate := range candidates {
		a, b := []rune(got), []rune(candidate)
		if max(len(a), len(b))-min(len(a), len(b)) > allowedTypos(b) {
			continue // too far whatever the letters are; the text may be very long
		}
		if d := editDistance(a, b); d <= allowedTypos(b) && d < distance {
			best, distance = candidate, d
		}
	}
	return best, best != ""
}

// NearMiss returns the candidate that a name is one letter beside, where this is more likely a mistake than another name: team-a and team-b are
// two names, and so are gpu1 and gpu2.
func NearMiss(got string, candidates []string) (string, bool) {
	i := slices.IndexFunc(candidates, func(candidate string) bool {
		return almostSame(got, candidate) && editDistance([]rune(got), []rune(candidate)) == 1 && withoutDigits(got) != withoutDigits(candidate) && isNearMiss(strings.Split(got, "-"), strings.Split(candidate, "-"))
	})
	if i < 0 {
		return "", false
	}
	return candidates[i], true
}

// almostSame reports whether two texts may be one edit apart: all but two characters at one place are equal. It spares the count of edits,
// because a thousand tenants are compared with a thousand others.
func almostSame(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	begin, end := 0, 0
	for begin < len(a) && a[begin] == b[begin] {
		begin++
	}
	for end < len(a)-begin && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	return len(b)-begin-end <= 2*utf8.UTFMax
}

// isNearMiss reports whether the parts of two names that differ are words, or the names differ by a hyphen.
func isNearMiss(a, b []string) bool {
	const word = 4
	for i := range a {
		if len(a) == len(b) && a[i] != b[i] && min(len(a[i]), len(b[i])) < word {
			return false
		}
	}
	return true
}

func withoutDigits(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, text)
}

// allowedTypos is how many letters may be wrong for a candidate to be meant.
func allowedTypos(candidate []rune) int { return max(1, len(candidate)/3) }

// editDistance is the optimal string alignment distance: insert, delete, replace, or swap two neighbours. Letters that differ in
// case only count as equal.
func editDistance(a, b []rune) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if foldCase(a[i-1]) == foldCase(b[j-1]) {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

func foldCase(r rune) rune {
	if r >= 'A' && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}
