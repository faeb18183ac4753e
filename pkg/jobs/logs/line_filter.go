package logs

import (
	"regexp"
	"slices"
)

// LineFilter chooses lines. The zero LineFilter takes all.
type LineFilter struct {
	// Ranks are those whose lines are wanted; nil for all, also those of nobody.
	Ranks []int
	// Include: one of these must match the text of the line; Exclude: none of these.
	Include, Exclude []*regexp.Regexp
}

// Matches reports whether a line is wanted.
func (f LineFilter) Matches(line Line) bool {
	matches := func(r *regexp.Regexp) bool { return r.MatchString(line.Text) }
	switch {
	case f.Ranks != nil && (line.Rank == nil || !slices.Contains(f.Ranks, *line.Rank)):
		return false
	case len(f.Include) > 0 && !slices.ContainsFunc(f.Include, matches):
		return false
	}
	return !slices.ContainsFunc(f.Exclude, matches)
}
