package overlay

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"lockstep.dev/lockstep/pkg/compile/decode/syntax"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// maxValues bounds one file: aliases may repeat values many times over.
const maxValues = 100000

// readError is something that cannot be read, and where.
type readError struct {
	at      source.Span
	message string
}

func (m *readError) Error() string { return m.message }

// parseDocuments reads a file. Every value of the result has its place as its origin, in the file that shown is: that of the text itself,
// or the one that quotes it. Roots are the same documents as syntax.
func parseDocuments(text, shown *source.File) (result []object.Node, roots []*syntax.Node, err error) {
	if !utf8.Valid(text.Data) {
		return nil, nil, &readError{at: source.WholeFile(shown), message: "the file is not UTF-8"}
	}
	var reader syntax.Reader
	roots, err = reader.YAML(text)
	var wrong *syntax.Error
	switch {
	case errors.As(err, &wrong):
		at := wrong.At
		at.File = shown
		return nil, nil, &readError{at: at, message: wrong.Message}
	case err != nil:
		return nil, nil, &readError{at: source.WholeFile(shown), message: err.Error()}
	}
	t := treeBuilder{file: shown, left: maxValues}
	for _, root := range roots {
		node, err := t.buildValue("", root, 0)
		if err != nil {
			return nil, nil, err
		}
		result = append(result, node)
	}
	return result, roots, nil
}

// treeBuilder turns syntax into nodes.
type treeBuilder struct {
	file *source.File
	left int
}

const maxDepth = 64

func (t *treeBuilder) buildValue(key string, from *syntax.Node, depth int) (object.Node, error) {
	if t.left--; t.left < 0 || depth > maxDepth {
		return object.Node{}, t.errorf(from, "there are too many values, or they are nested more than %d deep", maxDepth)
	}
	if from.Kind == syntax.Alias {
		return t.buildValue(key, from.Target, depth+1)
	}
	at := &origin.Origin{At: from.At.In(t.file)}
	switch from.Kind {
	case syntax.Mapping:
		return t.buildMapping(key, from, at, depth)
	case syntax.Sequence:
		list := object.Node{Key: key, Kind: object.ListNode, From: at}
		for item := from.First; item != nil; item = item.Next {
			child, err := t.buildValue("", item, depth+1)
			if err != nil {
				return object.Node{}, err
			}
			list.Children = append(list.Children, child)
		}
		return list, nil
	}
	return t.buildScalar(key, from, at)
}

func (t *treeBuilder) buildMapping(key string, from *syntax.Node, at *origin.Origin, depth int) (object.Node, error) {
	var entries []object.Node
	seen := map[string]bool{}
	for name := from.First; name != nil; name = name.Next.Next {
		if name.Kind != syntax.Scalar || name.Tag == syntax.Merge || name.Tag == syntax.Foreign {
			return object.Node{}, t.errorf(name, "a key must be a string")
		}
		if seen[name.Value] {
			return object.Node{}, t.errorf(name, "the key `%s` is there twice", name.Value)
		}
		seen[name.Value] = true
		child, err := t.buildValue(name.Value, name.Next, depth+1)
		if err != nil {
			return object.Node{}, err
		}
		entries = append(entries, child)
	}
	return object.Map(key, entries...).With(at), nil
}

func (t *treeBuilder) buildScalar(key string, from *syntax.Node, at *origin.Origin) (object.Node, error) {
	switch from.Tag {
	case syntax.String, syntax.Timestamp:
		return object.Text(key, from.Value, at), nil
	case syntax.Bool:
		return object.Bool(key, strings.EqualFold(from.Value, "true"), at), nil
	case syntax.Null:
		return object.Node{Key: key, Kind: object.NullNode, From: at}, nil
	case syntax.Int, syntax.Float:
		if json.Valid([]byte(from.Value)) {
			return object.Node{Key: key, Kind: object.NumberNode, Text: from.Value, From: at}, nil
		}
		return object.Node{}, t.errorf(from, "the number `%s` is not decimal: write it in digits, or in quotes if it is text", from.Value)
	}
	return object.Node{}, t.errorf(from, "the tag `%s` is not used here", from.Foreign)
}

func (t *treeBuilder) errorf(node *syntax.Node, format string, args ...any) *readError {
	return &readError{at: node.At.In(t.file), message: fmt.Sprintf(format, args...)}
}

// scalarAsFile returns the text of a scalar as a file of its own, in which everything is at the line and column that it has in the file
// around it. That is possible for literal blocks (`|`) only; exact is false for others.
func scalarAsFile(scalar *object.Node) (text *source.File, exact bool) {
	at := scalar.From.At
	lines := strings.Split(scalar.Text, "\n")
	first, indent := at.Line+1, ""
	for i, line := range lines {
		raw := at.File.Line(first + i)
		if line == "" {
			continue
		}
		before, found := strings.CutSuffix(raw, line)
		if !found || strings.Trim(before, " ") != "" || indent != "" && before != indent {
			return source.NewFile(at.Path(), []byte(scalar.Text)), false
		}
		indent = before
	}
	moved := strings.Repeat("\n", at.Line)
	for _, line := range lines {
		moved += indent + line + "\n"
	}
	return source.NewFile(at.Path(), []byte(moved)), true
}

// keyPlaceOf returns the place of the key of a value: in the nearest line up to that of the value that has the key, or
// the end of a path for what a JSON patch adds. Trees of values have no places of keys, because origins do not need them.
func keyPlaceOf(key string, value source.Span) source.Span {
	for _, around := range [][2]string{{"", ":"}, {"/", ""}} {
		for line := value.Line; line > 0; line-- {
			before, _, found := strings.Cut(value.File.Line(line), around[0]+key+around[1])
			column := utf8.RuneCountInString(before+around[0]) + 1
			if found && (line < value.Line || column < value.Column) {
				return value.File.Token(line, column, utf8.RuneCountInString(key))
			}
		}
	}
	return value
}
