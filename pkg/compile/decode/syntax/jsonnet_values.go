package syntax

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/jsonnet"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Values returns the documents of an evaluated program as trees. What the program writes literally has its own place; what it computes
// has the place of the expression around it and a path, see Paths. The nodes are valid until the next call.
func (r *Reader) Values(file *source.File, program jsonnet.Result) ([]*Node, error) {
	r.nodes.reset()
	r.Paths = nil
	var roots []*Node
	for _, document := range program.Documents {
		b := valueBuilder{reader: r, file: file, literals: program.Literals, decoder: json.NewDecoder(strings.NewReader(document.JSON))}
		b.decoder.UseNumber()
		around := b.placeOf("", "", Place{})
		literal := b.literalPath("", strings.TrimPrefix(document.Path, "/"))
		root, err := b.readValue(document.Path, literal, b.placeOf(document.Path, literal, around))
		if err != nil {
			return nil, err
		}
		roots = append(roots, root)
	}
	return roots, nil
}

// valueBuilder makes the tree of one document.
type valueBuilder struct {
	reader   *Reader
	file     *source.File
	literals map[string]jsonnet.Literal
	decoder  *json.Decoder
}

// literalPath returns the path under which the literals have a child of a value: that of a comprehension has one for all items.
func (b *valueBuilder) literalPath(parent, child string) string {
	if child == "" {
		return parent
	}
	if items := parent + "/" + jsonnet.Items; b.literals[items].Value.Line > 0 {
		return items
	}
	return parent + "/" + child
}

// readValue reads the next value, whose path, path among the literals and place are known.
func (b *valueBuilder) readValue(path, literal string, at Place) (*Node, error) {
	token, err := b.decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Delim:
		if token == '{' {
			return b.readObject(path, literal, at)
		}
		return b.readArray(path, literal, at)
	case string:
		return b.newScalarNode(at, String, token), nil
	case json.Number:
		return b.newScalarNode(at, numberTag(token.String()), token.String()), nil
	case bool:
		return b.newScalarNode(at, Bool, strconv.FormatBool(token)), nil
	}
	return b.newScalarNode(at, Null, "null"), nil
}

func numberTag(text string) Tag {
	if strings.ContainsAny(text, ".eE") {
		return Float
	}
	return Int
}

func (b *valueBuilder) newScalarNode(at Place, tag Tag, text string) *Node {
	return b.reader.nodes.new(Node{Kind: Scalar, Tag: tag, At: at, Value: text})
}

func (b *valueBuilder) readObject(path, literal string, at Place) (*Node, error) {
	object := b.reader.nodes.new(Node{Kind: Mapping, Tag: Map, At: at})
	last := &object.First
	for b.decoder.More() {
		token, err := b.decoder.Token()
		if err != nil {
			return nil, err
		}
		name := fmt.Sprint(token)
		inner, written := path+"/"+jsonnet.EscapePointer(name), b.literalPath(literal, jsonnet.EscapePointer(name))
		valueAt := b.placeOf(inner, written, at)
		key := b.newScalarNode(b.keyPlace(written, valueAt), String, name)
		if key.Next, err = b.readValue(inner, written, valueAt); err != nil {
			return nil, err
		}
		*last = key
		last = &key.Next.Next
	}
	_, err := b.decoder.Token()
	return object, err
}

func (b *valueBuilder) readArray(path, literal string, at Place) (*Node, error) {
	array := b.reader.nodes.new(Node{Kind: Sequence, Tag: List, At: at})
	last := &array.First
	for i := 0; b.decoder.More(); i++ {
		inner, written := path+"/"+strconv.Itoa(i), b.literalPath(literal, strconv.Itoa(i))
		item, err := b.readValue(inner, written, b.placeOf(inner, written, at))
		if err != nil {
			return nil, err
		}
		*last = item
		last = &item.Next
	}
	_, err := b.decoder.Token()
	return array, err
}

// placeOf returns where a value is written, or the place around it; the path too, unless the place is that of this value only.
func (b *valueBuilder) placeOf(path, literal string, around Place) Place {
	at := around
	known, found := b.literals[literal]
	if found {
		at = b.placeOfRange(known.Value)
	}
	if !found || known.Shared {
		b.reader.Paths = append(b.reader.Paths, readablePath(path))
		at.Path = int32(len(b.reader.Paths))
	}
	return at
}

func (b *valueBuilder) keyPlace(literal string, value Place) Place {
	if known, found := b.literals[literal]; found && known.Key.Line > 0 {
		at := b.placeOfRange(known.Key)
		at.Path = value.Path
		return at
	}
	return value
}

func (b *valueBuilder) placeOfRange(r jsonnet.Range) Place {
	span := r.Span(b.file)
	return Place{Line: int32(span.Line), Column: int32(span.Column), Length: int32(span.Length)}
}

// readablePath writes a JSON pointer as people write paths: `spec.quota.cpu`, `[0].spec.namespaces[1]`.
func readablePath(pointer string) string {
	var b strings.Builder
	for _, part := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		_, err := strconv.Atoi(part)
		switch {
		case err == nil:
			b.WriteString("[" + part + "]")
		case b.Len() > 0:
			b.WriteString("." + part)
		default:
			b.WriteString(part)
		}
	}
	return b.String()
}
