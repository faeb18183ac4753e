package format

import (
	"reflect"
	"slices"

	"go.yaml.in/yaml/v4"

	"lockstep.dev/lockstep/pkg/compile/decode"
)

// maxDepth bounds recursion.
const maxDepth = decode.MaxDepth

// block is a collection that is written as entries on lines of their own.
type block struct {
	node    *yaml.Node
	entries []*entry
	// head are the comments at the top of a document, foot those at the end of the block; "" is a blank line.
	head, foot []string
	parent     *entry
	// kind is the Go type of what a mapping says, nil where it is unknown.
	kind reflect.Type
}

// entry is a key with its value, or an item of a list.
type entry struct {
	key, value *yaml.Node
	// inner is the value as a block, nil for what is written on the line of the entry.
	inner *block
	in    *block
	// line and col are where the entry begins, last is the line on which its own value ends, unless it is a block.
	line, col, last int
	// head are the comments and blank lines above, beside is the comment at its end.
	head   []string
	beside string
}

// blockBuilder makes the blocks of one document.
type blockBuilder struct {
	text     *fileText
	comments []*comment
	// anchored says that the document has aliases: its keys keep their order, because an alias must follow its anchor.
	anchored bool
}

func (b *blockBuilder) buildRoot(node *yaml.Node) (*block, error) {
	if err := b.refuseUnusedYAML(node, 0); err != nil {
		return nil, err
	}
	var kind reflect.Type
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == "kind" && !b.anchored {
			kind = decode.TypeOf(node.Content[i+1].Value)
		}
	}
	return b.buildBlock(node, nil, kind), nil
}

// refuseUnusedYAML refuses what specs do not use.
func (b *blockBuilder) refuseUnusedYAML(node *yaml.Node, depth int) error {
	switch {
	case depth > maxDepth:
		return refusalOf(b.text.file, node, "values are nested more than %d deep", maxDepth)
	case depth == 0 && node.Anchor != "":
		return refusalOf(b.text.file, node, "a document cannot have an anchor")
	case node.Style&yaml.TaggedStyle != 0:
		return refusalOf(b.text.file, node, "the tag `%s` is not used in specs: remove it", node.ShortTag())
	case node.Kind == yaml.AliasNode:
		b.anchored = true
		return nil
	}
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 && (child.Kind != yaml.ScalarNode || child.Anchor != "") {
			return refusalOf(b.text.file, child, "a key must be a string")
		}
		if err := b.refuseUnusedYAML(child, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (b *blockBuilder) buildBlock(node *yaml.Node, parent *entry, kind reflect.Type) *block {
	made := &block{node: node, parent: parent, kind: kind}
	if node.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i]
			b.addEntry(made, &entry{key: key, value: node.Content[i+1], line: key.Line, col: key.Column}, fieldType(kind, key.Value))
		}
		return made
	}
	dash := node.Line
	for i, item := range node.Content {
		e := &entry{value: item, line: item.Line, col: item.Column}
		if node.Style&yaml.FlowStyle == 0 {
			if i > 0 {
				dash = b.dashAfter(dash, node.Column)
			}
			e.line, e.col = dash, node.Column
		}
		b.addEntry(made, e, kind)
	}
	return made
}

// dashAfter returns the next line that begins with the dash of an item at a column.
func (b *blockBuilder) dashAfter(line, column int) int {
	for number := line + 1; number <= len(b.text.lines); number++ {
		if n, ok := b.text.indent(number); ok && n == column-1 && b.text.line(number)[n] == '-' {
			if _, isHidden := b.text.hiddenAt(number, n); !isHidden {
				return number
			}
		}
	}
	return line
}

func (b *blockBuilder) addEntry(in *block, e *entry, kind reflect.Type) {
	e.in = in
	e.last = max(e.line, e.value.Line)
	in.entries = append(in.entries, e)
	switch {
	case e.value.Kind != yaml.MappingNode && e.value.Kind != yaml.SequenceNode || len(e.value.Content) == 0:
		e.last = max(e.last, b.lastLineOfScalar(e.value))
	case e.value.Style&yaml.FlowStyle != 0 && b.staysFlow(e):
		e.last = b.closingBracketLine(e.value)
	default:
		e.last = e.line
		e.inner = b.buildBlock(e.value, e, kind)
	}
}

// lastLineOfScalar returns the last line of a quoted or block scalar.
func (b *blockBuilder) lastLineOfScalar(node *yaml.Node) int {
	last := node.Line
	if node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		for len(b.text.hidden[last+1]) > 0 && b.text.hidden[last+1][0].from == 0 {
			last++
		}
	} else if node.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		for pieces := b.text.hidden[last]; len(pieces) > 0 && pieces[len(pieces)-1].to == len(b.text.line(last)) && len(b.text.hidden[last+1]) > 0 && b.text.hidden[last+1][0].from == 0; pieces = b.text.hidden[last] {
			last++
		}
	}
	return last
}

// maxFlow is how long a line with a flow collection may be.
const maxFlow = 100

// staysFlow reports whether a flow collection is written on one line: it is short, and no comment stands in it.
func (b *blockBuilder) staysFlow(e *entry) bool {
	last := b.closingBracketLine(e.value)
	for _, c := range b.comments {
		if c.line >= e.value.Line && c.line < last {
			return false
		}
	}
	length := e.col + len(flowText(e.value))
	if e.key != nil {
		length += len(e.key.Value) + 2
	}
	return length <= maxFlow && !hasLineBreak(e.value)
}

// hasLineBreak reports whether a value holds a line break, which has no short form in a flow collection.
func hasLineBreak(node *yaml.Node) bool {
	return slices.ContainsFunc(node.Content, hasLineBreak) || node.Kind == yaml.ScalarNode && slices.Contains([]rune(node.Value), '\n')
}

// closingBracketLine returns the line of the bracket that closes a flow collection.
func (b *blockBuilder) closingBracketLine(node *yaml.Node) int {
	open := 0
	for number, column := node.Line, node.Column-1; number <= len(b.text.lines); number, column = number+1, 0 {
		line := b.text.line(number)
		for i := column; i < len(line); i++ {
			if to, isHidden := b.text.hiddenAt(number, i); isHidden {
				i = to - 1
				continue
			}
			switch c := line[i]; {
			case c == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t'):
				i = len(line)
			case c == '[' || c == '{':
				open++
			case c == ']' || c == '}':
				open--
				if open == 0 {
					return number
				}
			}
		}
	}
	return node.Line
}

// fieldType returns the type of a field of a struct, or nil.
func fieldType(kind reflect.Type, key string) reflect.Type {
	for kind != nil && (kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice) {
		kind = kind.Elem()
	}
	if !isSpec(kind) {
		return nil
	}
	for _, f := range decode.Fields(kind) {
		if f.Key == key {
			return f.Go.Type
		}
	}
	return nil
}

// isSpec reports whether a type has keys of its own, as opposed to types such as quantities.
func isSpec(kind reflect.Type) bool {
	return kind != nil && kind.Kind() == reflect.Struct && len(decode.Fields(kind)) > 0
}

// sortByType puts the entries of mappings into the order of their types. What is unknown comes last, in its own order.
func (b *block) sortByType() {
	kind := b.kind
	for kind != nil && (kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice) {
		kind = kind.Elem()
	}
	if b.node.Kind == yaml.MappingNode && isSpec(kind) {
		rank := map[string]int{}
		for i, f := range decode.Fields(kind) {
			rank[f.Key] = i - len(decode.Fields(kind))
		}
		slices.SortStableFunc(b.entries, func(x, y *entry) int { return rank[x.key.Value] - rank[y.key.Value] })
	}
	for _, e := range b.entries {
		if e.inner != nil {
			e.inner.sortByType()
		}
	}
}
