// Package syntax turns the text of a file into trees of values with their places, whatever language it is written in; package
// decode gives them meaning.
//
// YAML is YAML 1.2 as the library go.yaml.in/yaml/v4 reads it:
//
//   - `yes`, `no`, `on` and `off` are strings, as in YAML 1.2.
//   - `0o17` and `0x1f` are numbers as in YAML 1.2; so are `017`, `0b11` and `1_000` as in YAML 1.1, which other readers take
//     for something else. Package decode takes decimal numbers only, so that no number means two things.
//   - 2027-03-31 is a date, `.inf` and `.nan` are numbers, `~` and nothing are null.
//   - Keys may repeat, and anchors and aliases are resolved; what that may cost is bounded by package decode.
//
// A byte order mark, CRLF and CR as line ends, directives and all escapes are accepted. NUL and other characters that YAML does
// not allow are syntax errors.
//
// Nearly every spec is plain: block mappings and lists, short flow collections, ASCII, no anchors. A Reader reads such text
// itself (plain_reader.go), twenty times faster than the library. It gives up at the first character that it is not sure about, and the
// library reads the whole file: a test and a fuzz target hold both against each other, places included.
package syntax

import "lockstep.dev/lockstep/pkg/compile/source"

// Kind is the shape of a node.
type Kind uint8

// The shapes.
const (
	Scalar Kind = iota + 1
	Mapping
	Sequence
	Alias
)

// Tag is the type of a value.
type Tag uint8

// The types. Foreign is a tag of somebody's own, which is in Node.Foreign.
const (
	String Tag = iota + 1
	Int
	Float
	Bool
	Null
	Timestamp
	Merge
	Map
	List
	Foreign
)

// Place is the first token of a node: a scalar as it is written, the bracket of a flow collection, the first key of a block mapping.
type Place struct {
	// Line and Column count from 1; Column counts characters.
	Line, Column int32
	// Length is in characters, at least 1.
	Length int32
	// Path is 0, or for a computed value, whose place is that of the expression around it, the number of its path in Reader.Paths,
	// from 1.
	Path int32
}

// In returns the place as a span of a file.
func (p Place) In(file *source.File) source.Span {
	if p.Line == 0 {
		return source.WholeFile(file)
	}
	return source.Span{File: file, Line: int(p.Line), Column: int(p.Column), Length: int(p.Length)}
}

// Node is one value.
type Node struct {
	Kind Kind
	Tag  Tag
	At   Place
	// Value is the text of a scalar without quotes and escapes.
	Value string
	// First is the first child. The children of a mapping are its keys and values in turn.
	First *Node
	// Next is the next child of the same parent.
	Next *Node
	// Target is what an alias stands for.
	Target *Node
	// Foreign is the tag as it is written, where Tag is Foreign.
	Foreign string
}

// NewScalar returns a scalar as it is read from text without quotes. It is nowhere.
func NewScalar(text string) *Node {
	if text == "" {
		return &Node{Kind: Scalar, Tag: Null}
	}
	return &Node{Kind: Scalar, Tag: resolveTag(text), Value: text}
}

// Follow returns the node, or what it stands for if it is an alias.
func (n *Node) Follow() *Node {
	for n.Kind == Alias {
		n = n.Target
	}
	return n
}

// Get returns the value of the first entry of a mapping with a key, or nil.
func (n *Node) Get(key string) *Node {
	if n.Kind != Mapping {
		return nil
	}
	for k := n.First; k != nil; k = k.Next.Next {
		if k.Value == key {
			return k.Next.Follow()
		}
	}
	return nil
}

// Len returns the number of children; a mapping has two per entry.
func (n *Node) Len() int {
	count := 0
	for child := n.First; child != nil; child = child.Next {
		count++
	}
	return count
}

// nodeArena hands out nodes, and takes them all back at once.
type nodeArena struct {
	chunks [][]Node
	used   int
}

const chunkSize = 128

func (a *nodeArena) new(node Node) *Node {
	chunk, index := a.used/chunkSize, a.used%chunkSize
	if chunk == len(a.chunks) {
		a.chunks = append(a.chunks, make([]Node, chunkSize))
	}
	a.used++
	a.chunks[chunk][index] = node
	return &a.chunks[chunk][index]
}

// maxKept is how many chunks are kept for the next file; one large file must not hold its memory forever.
const maxKept = 64

func (a *nodeArena) reset() {
	a.used = 0
	if len(a.chunks) > maxKept {
		a.chunks = a.chunks[:maxKept:maxKept]
	}
}
