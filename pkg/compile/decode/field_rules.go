package decode

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/compile/decode/syntax"
)

// fieldRule is the parsed `jsonschema` tag of a field; package v1alpha1 lists the words.
type fieldRule struct {
	required, unique bool
	// shorthand says that a text in place of the whole mapping is the value of this field.
	shorthand        bool
	enum             []string
	def              *syntax.Node
	minimum, maximum *resource.Quantity
	// least and most are the bounds as they are written in the tag.
	least, most string
	minItems    int
	format      string
	// item is the rule for the items of a list, which must not be empty; key and entry are those of a map.
	item, key, entry *fieldRule
}

// structField is one key of a struct.
type structField struct {
	name  string
	index []int
	of    reflect.Type
	rule  *fieldRule
}

// structFields is what decoding needs to know about a struct.
type structFields struct {
	// fields are those of embedded structs included, in the order of their declaration.
	fields []structField
	// number is the position of a key in fields.
	number map[string]int
}

// structures holds one *structure per type: tags are parsed once, and only those of types that occur.
var structures sync.Map

func structFieldsOf(t reflect.Type) *structFields {
	if known, found := structures.Load(t); found {
		return known.(*structFields)
	}
	made := &structFields{number: map[string]int{}}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "" {
			continue
		}
		made.number[name] = len(made.fields)
		made.fields = append(made.fields, structField{name: name, index: f.Index, of: f.Type, rule: parseRule(f.Tag.Get("jsonschema"))})
	}
	known, _ := structures.LoadOrStore(t, made)
	return known.(*structFields)
}

// shorthand returns the field whose value may stand for the whole mapping, or nil.
func (s *structFields) shorthand() *structField {
	for i := range s.fields {
		if s.fields[i].rule.shorthand {
			return &s.fields[i]
		}
	}
	return nil
}

func (s *structFields) names() []string {
	names := make([]string, len(s.fields))
	for i, f := range s.fields {
		names[i] = f.name
	}
	return names
}

func parseRule(tag string) *fieldRule {
	r := &fieldRule{}
	for _, word := range strings.Split(tag, ",") {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "required":
			r.required = true
		case "shorthand":
			r.shorthand = true
		case "uniqueItems":
			r.unique = true
		case "enum":
			r.enum = append(r.enum, value)
		case "default":
			r.def = syntax.NewScalar(value) // so that a default means what the same text in a spec means
		case "minimum":
			r.minimum, r.least = parseBound(value), value
		case "maximum":
			r.maximum, r.most = parseBound(value), value
		case "minItems":
			r.minItems, _ = strconv.Atoi(value)
		case "format":
			r.format = value
		}
	}
	r.deriveItemRules()
	return r
}

func parseBound(value string) *resource.Quantity {
	q := resource.MustParse(value)
	return &q
}

// deriveItemRules sets the rules of what is inside. A format of a map is about its keys, unless it is one of mapFormats.
func (r *fieldRule) deriveItemRules() {
	inner := *r
	inner.required, inner.def, inner.unique, inner.minItems = false, nil, false, 0
	entry, item := inner, inner
	item.required = true
	r.item = &item
	r.key, r.entry = &fieldRule{format: r.format}, &entry
	entry.format = ""
	if both, found := mapFormats[r.format]; found {
		r.key.format, entry.format = both.key, both.value
	}
}

// mapFormats are the formats that say something about the values of a map too.
var mapFormats = map[string]struct{ key, value string }{
	"label-value": {"label-name", "label-value"},
	"sha256":      {"image", "sha256"},
}

func (r *fieldRule) allows(word string) bool {
	return len(r.enum) == 0 || slices.Contains(r.enum, word)
}

// allowsEmptyString reports whether the empty string is a value that the rule allows, as the published schemas have it.
func (r *fieldRule) allowsEmptyString() bool {
	return r.allows("") && (r.format == "" || formats[r.format].valid(""))
}

func (r *fieldRule) boundsText() string {
	if r.most == "" {
		return "at least " + r.least + " is allowed"
	}
	return r.least + " to " + r.most + " are allowed"
}
