package match

import (
	"cmp"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/source"
)

// Position is a span without the file behind it, so that equal ones are equal.
type Position struct {
	path               string
	line, column, size int
}

// PositionOf returns the position of a span.
func PositionOf(s source.Span) Position { return Position{s.Path(), s.Line, s.Column, s.Length} }

// Compare orders positions by file, line and column.
func (p Position) Compare(other Position) int {
	return cmp.Or(strings.Compare(p.path, other.path), cmp.Compare(p.line, other.line), cmp.Compare(p.column, other.column), cmp.Compare(p.size, other.size))
}
