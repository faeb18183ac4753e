package object

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"lockstep.dev/lockstep/pkg/compile/origin"
)

// FromTyped returns a typed object without the noise of Go's zero values: no null, no `status`, no empty `metadata` or
// `resources`, no empty `spec` of the object itself. Other empty values stay, because they have a meaning: `emptyDir: {}`,
// `podSelector: {}`. The table says where its values come from; nil is an empty one.
//
// The values are those that encoding/json would write, whose way through text is too long for objects as large as runtimes. Types
// with an encoding of their own, such as quantities, go that way.
func FromTyped(typed any, table *Table) (Node, error) {
	root, err := typedNode("", reflect.ValueOf(typed))
	if err != nil {
		return Node{}, fmt.Errorf("encode %T: %w", typed, err)
	}
	root.Children = slices.DeleteFunc(root.Children, func(n Node) bool {
		return n.Key == "status" || n.Key == "spec" && isEmptyMap(&n)
	})
	if table != nil {
		table.apply(&root)
	}
	return root, nil
}

// typedNode does what encoding/json does.
func typedNode(key string, v reflect.Value) (Node, error) {
	switch {
	case !v.IsValid() || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && v.IsNil():
		return Node{Key: key, Kind: NullNode}, nil
	case encodesItself(v.Type()):
		return nodeFromJSON(key, v.Interface())
	case v.CanAddr() && encodesItself(reflect.PointerTo(v.Type())):
		return nodeFromJSON(key, v.Addr().Interface())
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return typedNode(key, v.Elem())
	case reflect.String:
		return Text(key, v.String(), nil), nil
	case reflect.Bool:
		return Bool(key, v.Bool(), nil), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return Node{Key: key, Kind: NumberNode, Text: strconv.FormatInt(v.Int(), 10)}, nil
	case reflect.Struct:
		return typedStruct(key, v)
	case reflect.Map:
		return typedMap(key, v)
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			return typedList(key, v)
		}
	}
	return nodeFromJSON(key, v.Interface())
}

// nodeFromJSON asks encoding/json.
func nodeFromJSON(key string, value any) (Node, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return Node{}, err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var content any
	if err := decoder.Decode(&content); err != nil {
		return Node{}, err
	}
	node := FromValue(key, content, nil)
	node.pruneNoise()
	return node, nil
}

// pruneNoise drops noise at all depths.
func (n *Node) pruneNoise() {
	for i := range n.Children {
		n.Children[i].pruneNoise()
	}
	if n.Kind == MapNode {
		n.Children = slices.DeleteFunc(n.Children, func(child Node) bool { return isNoise(&child) })
	}
}

func typedStruct(key string, v reflect.Value) (Node, error) {
	fields := fieldsOf(v.Type())
	node := Node{Key: key, Kind: MapNode, Children: make([]Node, 0, 8)}
	for i := range fields {
		f := &fields[i]
		value := v.FieldByIndex(f.index)
		if f.omitEmpty && isEmptyValue(value) || f.omitZero && value.IsZero() {
			continue
		}
		if err := node.addTyped(f.name, value); err != nil {
			return Node{}, err
		}
	}
	sortByKey(node.Children)
	return node, nil
}

func typedMap(key string, v reflect.Value) (Node, error) {
	if v.IsNil() {
		return Node{Key: key, Kind: NullNode}, nil
	}
	if v.Type().Key().Kind() != reflect.String {
		return nodeFromJSON(key, v.Interface())
	}
	node := Node{Key: key, Kind: MapNode, Children: make([]Node, 0, v.Len())}
	for entries := v.MapRange(); entries.Next(); {
		if err := node.addTyped(entries.Key().String(), entries.Value()); err != nil {
			return Node{}, err
		}
	}
	sortByKey(node.Children)
	return node, nil
}

func typedList(key string, v reflect.Value) (Node, error) {
	if v.IsNil() {
		return Node{Key: key, Kind: NullNode}, nil
	}
	node := Node{Key: key, Kind: ListNode, Children: make([]Node, v.Len())}
	for i := range node.Children {
		var err error
		if node.Children[i], err = typedNode("", v.Index(i)); err != nil {
			return Node{}, err
		}
	}
	return node, nil
}

// addTyped adds a child that is not noise.
func (n *Node) addTyped(key string, v reflect.Value) error {
	child, err := typedNode(key, v)
	if err == nil && !isNoise(&child) {
		n.Children = append(n.Children, child)
	}
	return err
}

func isNoise(n *Node) bool {
	return n.Kind == NullNode || isEmptyMap(n) && (n.Key == "status" || n.Key == "metadata" || n.Key == "resources")
}

func isEmptyMap(n *Node) bool { return n.Kind == MapNode && len(n.Children) == 0 }

// isEmptyValue says what encoding/json means by `omitempty`.
func isEmptyValue(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Map, reflect.Slice, reflect.String, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

var jsonEncoder, textEncoder = reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()

// encoders says of types that were asked for whether they have an encoding of their own.
var encoders sync.Map

func encodesItself(t reflect.Type) bool {
	if known, found := encoders.Load(t); found {
		return known.(bool)
	}
	encodes := t.Implements(jsonEncoder) || t.Implements(textEncoder)
	encoders.Store(t, encodes)
	return encodes
}

// structField is a field of a struct, or of one that is embedded in it.
type structField struct {
	name                string
	index               []int
	omitEmpty, omitZero bool
}

// structs are the fields of types that were asked for.
var structs sync.Map

func fieldsOf(t reflect.Type) []structField {
	if known, found := structs.Load(t); found {
		return known.([]structField)
	}
	var fields []structField
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case tag == "-":
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			for _, inner := range fieldsOf(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				fields = append(fields, inner)
			}
		case f.IsExported():
			if name == "" {
				name = f.Name
			}
			options = "," + options + ","
			fields = append(fields, structField{name: name, index: []int{i}, omitEmpty: strings.Contains(options, ",omitempty,"), omitZero: strings.Contains(options, ",omitzero,")})
		}
	}
	structs.Store(t, fields)
	return fields
}

// Table says where the values of a typed object come from. The zero Table is empty and ready.
type Table struct {
	root tableEntry
}

// tableEntry is what a Table knows about one path, whose last segment is its name.
type tableEntry struct {
	name string
	from *origin.Origin
	// next are few, so that a list is faster than a map.
	next []*tableEntry
}

// entryBelow returns the entry for a path that is one segment longer, or nil.
func (e *tableEntry) entryBelow(segment string) *tableEntry {
	for _, next := range e.next {
		if next.name == segment {
			return next
		}
	}
	return nil
}

// Set gives the values at a path and below it an origin. A path has the segments of Node.Segment; the segment `*` stands for all
// keys or items for which the table has no path of their own.
func (t *Table) Set(from *origin.Origin, path ...string) {
	e := &t.root
	for _, segment := range path {
		next := e.entryBelow(segment)
		if next == nil {
			next = &tableEntry{name: segment}
			e.next = append(e.next, next)
		}
		e = next
	}
	e.from = from
}

func (t *Table) apply(root *Node) { root.setOrigins([]*tableEntry{&t.root}) }

// setOrigins gives a node the origin of the entries for its path, the most exact first.
func (n *Node) setOrigins(entries []*tableEntry) {
	for _, e := range entries {
		if e.from != nil {
			n.From = e.from
			break
		}
	}
	for i := range n.Children {
		if below := entriesBelow(entries, n.Segment(i)); len(below) > 0 {
			n.Children[i].setOrigins(below)
		}
	}
}

// entriesBelow returns the entries for a path that is one segment longer.
func entriesBelow(entries []*tableEntry, segment string) []*tableEntry {
	var below []*tableEntry
	for _, name := range [...]string{segment, "*"} {
		for _, e := range entries {
			if next := e.entryBelow(name); next != nil {
				below = append(below, next)
			}
		}
	}
	return below
}
