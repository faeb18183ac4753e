package format

import (
	"strings"

	"go.yaml.in/yaml/v4"

	"lockstep.dev/lockstep/pkg/compile/source"
)

// fileText is a file as lines of characters.
type fileText struct {
	file  *source.File
	lines [][]rune
	// hidden are the pieces of lines that belong to quoted and block scalars, where `#` is not a comment.
	hidden map[int][]columnRange
}

// columnRange is part of a line, from a column (from 0) up to another.
type columnRange struct{ from, to int }

func newText(file *source.File) *fileText {
	t := &fileText{file: file, hidden: map[int][]columnRange{}}
	count := strings.Count(file.Text(), "\n") + strings.Count(file.Text(), "\r") + 1
	for i := 1; i <= count; i++ {
		t.lines = append(t.lines, []rune(file.Line(i)))
	}
	return t
}

// line returns a line; they count from 1.
func (t *fileText) line(number int) []rune {
	if number < 1 || number > len(t.lines) {
		return nil
	}
	return t.lines[number-1]
}

// indent returns the number of blanks that a line begins with, and whether it has anything else.
func (t *fileText) indent(number int) (n int, ok bool) {
	for _, c := range t.line(number) {
		if c != ' ' && c != '\t' {
			return n, true
		}
		n++
	}
	return n, false
}

// comment is one comment and where it stands.
type comment struct {
	text      string
	line, col int
	// own says that nothing is before it on its line.
	own    bool
	placed bool
}

// findComments returns all comments in the order of the file.
func (t *fileText) findComments(documents []*yaml.Node) []*comment {
	for _, document := range documents {
		t.hideScalars(document, 0, -1)
	}
	var all []*comment
	for number := 1; number <= len(t.lines); number++ {
		if c := t.commentOnLine(number); c != nil {
			all = append(all, c)
		}
	}
	return all
}

func (t *fileText) commentOnLine(number int) *comment {
	line := t.line(number)
	for i := 0; i < len(line); i++ {
		if to, isHidden := t.hiddenAt(number, i); isHidden {
			i = to - 1
			continue
		}
		if line[i] == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			own := strings.TrimSpace(string(line[:i])) == ""
			return &comment{text: strings.TrimRight(string(line[i:]), " \t"), line: number, col: i + 1, own: own}
		}
	}
	return nil
}

func (t *fileText) hiddenAt(number, column int) (to int, ok bool) {
	for _, p := range t.hidden[number] {
		if p.from <= column && column < p.to {
			return p.to, true
		}
	}
	return 0, false
}

// hideScalars notes the quoted and block scalars of a tree. indent is that of the block around a node, from 0, or -1.
func (t *fileText) hideScalars(node *yaml.Node, depth, indent int) {
	if depth > maxDepth {
		return
	}
	switch {
	case node.Kind == yaml.ScalarNode && node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		t.hideBlock(node, indent)
	case node.Kind == yaml.ScalarNode && node.Style&yaml.DoubleQuotedStyle != 0:
		t.hideQuoted(node, '"')
	case node.Kind == yaml.ScalarNode && node.Style&yaml.SingleQuotedStyle != 0:
		t.hideQuoted(node, '\'')
	}
	for _, child := range node.Content {
		inner := indent
		if node.Style&yaml.FlowStyle == 0 {
			inner = blockColumn(node) - 1
		}
		t.hideScalars(child, depth+1, inner)
	}
}

// blockColumn returns the column of the entries of a block collection, which an anchor or tag may not have.
func blockColumn(node *yaml.Node) int {
	if node.Kind == yaml.MappingNode && len(node.Content) > 0 {
		return node.Content[0].Column
	}
	return node.Column
}

func (t *fileText) hideQuoted(node *yaml.Node, quote rune) {
	number, i := node.Line, node.Column-1
	for line := t.line(number); i < len(line) && line[i] != quote; {
		i++
	}
	from := i
	i++
	for ; number <= len(t.lines); number, from, i = number+1, 0, 0 {
		line := t.line(number)
		for ; i < len(line); i++ {
			switch {
			case quote == '"' && line[i] == '\\':
				i++
			case quote == '\'' && line[i] == quote && i+1 < len(line) && line[i+1] == quote:
				i++
			case line[i] == quote:
				t.hidden[number] = append(t.hidden[number], columnRange{from, i + 1})
				return
			}
		}
		t.hidden[number] = append(t.hidden[number], columnRange{from, len(line)})
	}
}

// hideBlock hides the lines below the header of a block scalar: those that are deeper than the block around it.
func (t *fileText) hideBlock(node *yaml.Node, indent int) {
	content := -1
	for number := node.Line + 1; number <= len(t.lines); number++ {
		n, ok := t.indent(number)
		switch {
		case !ok:
		case content < 0 && n > indent:
			content = n
			if explicit := t.indentIndicator(node); explicit > 0 {
				content = max(indent, 0) + explicit
			}
		case content < 0 || n < content:
			return
		}
		t.hidden[number] = append(t.hidden[number], columnRange{0, len(t.line(number))})
	}
}

// indentIndicator returns the digit in the header of a block scalar, or 0.
func (t *fileText) indentIndicator(node *yaml.Node) int {
	line := t.line(node.Line)
	for i := node.Column - 1; i < len(line) && line[i] != '#'; i++ {
		if line[i] == '|' || line[i] == '>' {
			for _, c := range line[i+1 : min(i+3, len(line))] {
				if c >= '1' && c <= '9' {
					return int(c - '0')
				}
			}
		}
	}
	return 0
}
