package decode

import (
	"reflect"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/decode/syntax"
	"lockstep.dev/lockstep/pkg/compile/diag"
)

// Keys and values that are in another place, or in another form, than they belong.

// reportSecondDocument reports a document that begins without separator, once instead of once for each of its keys.
func (d *decoder) reportSecondDocument(node *syntax.Node) {
	var keys nodesByText
	var again []*syntax.Node
	for key := node.First; key != nil; key = key.Next.Next {
		if keys.insert(key) != nil {
			again = append(again, key)
		}
	}
	kinds := 0
	for _, key := range again {
		if key.Value == "kind" || key.Value == "metadata" || key.Value == "apiVersion" {
			kinds++
		}
	}
	if kinds < 2 {
		return // a key that is there twice
	}
	d.twice = node
	d.errorf(diag.DuplicateKey, again[0].At, "a second document begins here: the key `%s` is there twice", again[0].Value).
		Helpf("write `---` in a line before it")
}

// followingDocument returns the document that follows the one in work without separator, as far as its name is known, or nil.
func (d *decoder) followingDocument() *Document {
	if d.twice == nil {
		return nil
	}
	last := syntax.Node{Kind: syntax.Mapping}
	for key := d.twice.First; key != nil; key = key.Next.Next {
		if key.Value != "kind" && key.Value != "metadata" {
			continue
		}
		// The copies stand before those of the first document.
		value := *key.Next
		value.Next = last.First
		entry := *key
		entry.Next = &value
		last.First = &entry
	}
	return d.ofUnknownKind(&last)
}

// keyOfAbbreviation returns the only key of which a word is a short form: with its first letter, and the others in their order.
func keyOfAbbreviation(word string, keys []string) (meant string, found bool) {
	if len(word) < 3 {
		return "", false
	}
	for _, key := range keys {
		if !isAbbreviation(strings.ToLower(word), strings.ToLower(key)) {
			continue
		}
		if found {
			return "", false
		}
		meant, found = key, true
	}
	return meant, found
}

func isAbbreviation(word, key string) bool {
	if len(word) >= len(key) || word[0] != key[0] {
		return false
	}
	for i := range len(key) {
		if word != "" && key[i] == word[0] {
			word = word[1:]
		}
	}
	return word == ""
}

// maxNested is how deep keys are looked for that are in the wrong place.
const maxNested = 5

// hintWhereKeyBelongs adds the place of a key that is unknown in its own: elsewhere in the kind, or at the top of
// another one. Deeper keys of other kinds share no more than the name.
func (d *decoder) hintWhereKeyBelongs(report *diag.Diagnostic, key string, where []string) {
	if len(where) > 0 {
		report.Helpf("`%s` is a key of %s: compare the indentation", key, strings.Join(where[:min(3, len(where))], " or of "))
		return
	}
	for _, other := range kinds {
		if where := pathsWithKey(reflect.TypeOf(other.make()).Elem(), key); slices.Contains(where, "`spec`") {
			report.Helpf("`%s` is a key of %s of the kind `%s`", key, "`spec`", other.name)
			return
		}
	}
}

// isIndentedTooDeep reports whether a key that is missing in a mapping is in one of its values, where it is unknown: it is indented too deep.
func isIndentedTooDeep(node *syntax.Node, s *structFields, missing string) bool {
	for key := node.First; key != nil; key = key.Next.Next {
		i, known := s.number[key.Value]
		if !known || key.Next.Follow().Get(missing) == nil {
			continue
		}
		t := s.fields[i].of
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct || t == quantityType || t == intOrStringType {
			continue
		}
		if _, takes := structFieldsOf(t).number[missing]; !takes {
			return true
		}
	}
	return false
}

// elementType is what a field holds, one or several.
func elementType(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

// pathsWithKey returns the places in a type that have a key, outer ones first.
func pathsWithKey(kind reflect.Type, key string) []string {
	type place struct {
		t    reflect.Type
		path string
	}
	var where []string
	level := []place{{kind, ""}}
	for depth := 0; depth < maxNested && kind != nil; depth++ {
		var below []place
		for _, p := range level {
			for _, f := range Fields(p.t) {
				inner, path := f.Go.Type, strings.TrimPrefix(p.path+"."+f.Key, ".")
				if f.Key == key {
					home := "the document"
					if p.path != "" {
						home = "`" + p.path + "`"
					}
					where = append(where, home)
				}
				if inner = elementType(inner); inner.Kind() == reflect.Struct && inner != quantityType && inner != intOrStringType {
					below = append(below, place{inner, path})
				}
			}
		}
		level = below
	}
	return where
}

// reportNotList reports a value where a list is wanted.
func (d *decoder) reportNotList(node *syntax.Node, t decodeTarget) {
	report := d.reportWrongType(node, t, "a list")
	item := t.value.Type().Elem()
	for item.Kind() == reflect.Pointer {
		item = item.Elem()
	}
	switch {
	case node.Kind == syntax.Scalar && item.Kind() == reflect.String && node.Tag != syntax.Null:
		words := strings.FieldsFunc(node.Value, func(r rune) bool { return r == ',' || r == ' ' })
		if len(words) > 0 {
			report.Helpf("write `[%s]`, or each item in a line of its own, with `- ` before it", shortenQuoted(strings.Join(words, ", ")))
		}
	case node.Kind == syntax.Mapping && item.Kind() == reflect.String && node.First != nil && hasOnlyKeys(node):
		var names []string
		for _, key := range d.uniqueKeys(node) {
			names = append(names, key.Value)
		}
		report.Helpf("write `[%s]`: braces are for keys with values", shortenQuoted(strings.Join(names, ", ")))
	case node.Kind == syntax.Mapping && item.Kind() == reflect.Struct:
		report.Helpf("write `- ` before the first key of each item, and indent the others as deep as that key")
	default:
		report.Helpf("write each item in a line of its own, with `- ` before it")
	}
}

// hasOnlyKeys reports whether no key of a mapping has a value.
func hasOnlyKeys(node *syntax.Node) bool {
	for key := node.First; key != nil; key = key.Next.Next {
		if key.Next.Follow().Tag != syntax.Null {
			return false
		}
	}
	return true
}

// reportNotMapping reports a value where keys are wanted.
func (d *decoder) reportNotMapping(node *syntax.Node, t decodeTarget) {
	report := d.reportWrongType(node, t, "a mapping")
	names := structFieldsOf(t.value.Type()).names()
	if node.Kind == syntax.Sequence && node.First != nil && node.First.Follow().Kind == syntax.Mapping {
		report.Helpf("remove the `- `: `%s` is there once, and has keys", t.name)
		return
	}
	report.Helpf("write its keys below it, indented deeper: %s", quotedNames(names))
}
