package syntax

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"lockstep.dev/lockstep/pkg/compile/source"
)

// MaxDocuments is the largest number of documents in one file.
const MaxDocuments = 1000

// MaxSeparators is how many lines, commas and open brackets a file may have that the library reads. It keeps about 1 KB per value, so
// that without a bound some files of source.MaxFileSize take gigabytes.
const MaxSeparators = 150_000

// Why not all of a file is read.
var (
	// ErrTooMany says that a file has more than MaxDocuments documents.
	ErrTooMany = errors.New("too many documents")
	// ErrTooManyValues says that a file has more than MaxSeparators lines, commas and open brackets.
	ErrTooManyValues = errors.New("too many values")
)

// Error is text that cannot be read.
type Error struct {
	// At is where reading stopped.
	At      source.Span
	Message string
}

func (e *Error) Error() string { return e.At.String() + ": " + e.Message }

// Reader reads files one after the other. The zero Reader is ready. It is not for concurrent use.
type Reader struct {
	// Paths are those of computed values, such as `spec.quota.cpu`; see Place.
	Paths []string

	nodes nodeArena
}

// YAML returns the documents of a file that are not empty, up to the first error: an *Error, ErrTooMany or ErrTooManyValues. The nodes are valid until
// the next call. The file must be UTF-8.
func (r *Reader) YAML(file *source.File) ([]*Node, error) {
	r.nodes.reset()
	r.Paths = nil
	if documents, ok := readPlain(file.Text(), &r.nodes); ok {
		return documents, nil
	}
	r.nodes.reset()
	return r.readWithLibrary(file)
}

// readWithLibrary reads a file with go.yaml.in/yaml.
func (r *Reader) readWithLibrary(file *source.File) ([]*Node, error) {
	if countSeparators(file.Data) > MaxSeparators {
		return nil, ErrTooManyValues
	}
	c := libraryConverter{file: file, nodes: &r.nodes, known: map[*yaml.Node]*Node{}}
	var documents []*Node
	decoder := yaml.NewDecoder(bytes.NewReader(file.Data))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return documents, LocateError(file, err)
		}
		root := document.Content[0]
		if root.ShortTag() == "!!null" {
			continue
		}
		if len(documents) == MaxDocuments {
			return documents, ErrTooMany
		}
		documents = append(documents, c.convert(root))
	}
}

func countSeparators(data []byte) int {
	n := 0
	for _, separator := range []byte("\n,[{") {
		n += bytes.Count(data, []byte{separator})
	}
	return n
}

// LocateError returns an error of the library with its place.
func LocateError(file *source.File, err error) *Error {
	at, message := source.Span{File: file, Line: 1, Column: 1, Length: 1}, err.Error()
	var load *yaml.LoadError
	if errors.As(err, &load) {
		message = load.Message
		if load.Mark.Line > 0 {
			at = file.Token(load.Mark.Line, max(1, load.Mark.Column), 1)
		} else if control := firstControlCharacter(file); control.Line > 0 {
			at = control
		}
	}
	return &Error{At: at, Message: message}
}

// firstControlCharacter returns the first character that YAML does not allow, which the library reports without a place.
func firstControlCharacter(file *source.File) source.Span {
	line, column := 1, 1
	for _, c := range file.Text() {
		switch {
		case c == '\n':
			line, column = line+1, 0
		case c < ' ' && c != '\t' && c != '\r', c >= 0x7f && c < 0xa0 && c != 0x85, c == 0xfffe, c == 0xffff:
			return file.Token(line, column, 1)
		}
		column++
	}
	return source.Span{}
}

// libraryConverter makes nodes from the library's. It remembers them by identity, because aliases may make cycles.
type libraryConverter struct {
	file  *source.File
	nodes *nodeArena
	known map[*yaml.Node]*Node
}

var kinds = map[yaml.Kind]Kind{yaml.MappingNode: Mapping, yaml.SequenceNode: Sequence, yaml.ScalarNode: Scalar, yaml.AliasNode: Alias}

var tags = map[string]Tag{
	"!!str": String, "!!int": Int, "!!float": Float, "!!bool": Bool, "!!null": Null, "!!timestamp": Timestamp, "!!merge": Merge,
	"!!map": Map, "!!seq": List,
}

func (c *libraryConverter) convert(from *yaml.Node) *Node {
	node := c.nodes.new(Node{Kind: kinds[from.Kind], At: PlaceOf(c.file, from), Value: from.Value})
	if from.Anchor != "" || from.Kind == yaml.AliasNode {
		c.known[from] = node
	}
	tag := from.ShortTag()
	if node.Tag = tags[tag]; node.Tag == 0 {
		node.Tag, node.Foreign = Foreign, tag
	}
	if from.Kind == yaml.AliasNode {
		node.Tag, node.Foreign = 0, ""
		node.Target = c.known[from.Alias]
		return node
	}
	last := &node.First
	for _, child := range from.Content {
		*last = c.convert(child)
		last = &(*last).Next
	}
	return node
}

// PlaceOf returns where a node of the library begins.
func PlaceOf(file *source.File, node *yaml.Node) Place {
	span := file.Token(node.Line, node.Column, tokenLength(file, node))
	return Place{Line: int32(span.Line), Column: int32(span.Column), Length: int32(span.Length)}
}

func tokenLength(file *source.File, node *yaml.Node) int {
	switch {
	case !file.Measurable(node.Line):
		return 1
	case node.Kind == yaml.AliasNode:
		return utf8.RuneCountInString(node.Value) + 1
	case node.Kind == yaml.MappingNode && node.Style&yaml.FlowStyle == 0 && len(node.Content) > 0:
		return tokenLength(file, node.Content[0])
	case node.Kind != yaml.ScalarNode:
		return 1
	case node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return 1
	case node.Style&yaml.DoubleQuotedStyle != 0:
		return quotedLength(file, node, '"')
	case node.Style&yaml.SingleQuotedStyle != 0:
		return quotedLength(file, node, '\'')
	}
	first, _, _ := strings.Cut(node.Value, "\n")
	return utf8.RuneCountInString(first)
}

// quotedLength looks for the closing quote in the text, because escapes make the token longer than its value.
func quotedLength(file *source.File, node *yaml.Node, quote rune) int {
	text := []rune(file.Line(node.Line))
	start := node.Column - 1
	for i := start + 1; i < len(text); i++ {
		switch {
		case quote == '"' && text[i] == '\\':
			i++
		case quote == '\'' && text[i] == quote && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return i - start + 1
		}
	}
	return max(1, len(text)-start)
}
