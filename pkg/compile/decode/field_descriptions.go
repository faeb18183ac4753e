package decode

import (
	"maps"
	"reflect"
	"slices"
)

// Field is one key of a spec and the rules that hold for it, for those who tell people about specs.
type Field struct {
	// Key is the name in a spec, Go the field behind it.
	Key string
	Go  reflect.StructField
	Rule
}

// Rule is the parsed `jsonschema` tag of a field; package v1alpha1 lists the words. Default, Minimum and Maximum are "" and MinItems
// is 0 where nothing is said.
type Rule struct {
	Required, UniqueItems     bool
	Shorthand                 bool
	Enum                      []string
	Default, Minimum, Maximum string
	MinItems                  int
	Format                    string
	// KeyFormat and ValueFormat are what Format means for the keys and the values of a map.
	KeyFormat, ValueFormat string
}

// Fields returns the keys of a struct, those of embedded structs included, in the order of their declaration.
func Fields(t reflect.Type) []Field {
	var fields []Field
	for _, f := range structFieldsOf(t).fields {
		fields = append(fields, Field{Key: f.name, Go: t.FieldByIndex(f.index), Rule: describeRule(f.rule)})
	}
	return fields
}

func describeRule(r *fieldRule) Rule {
	described := Rule{
		Required: r.required, UniqueItems: r.unique, Shorthand: r.shorthand, Enum: r.enum, Minimum: r.least, Maximum: r.most,
		MinItems: r.minItems, Format: r.format, KeyFormat: r.key.format, ValueFormat: r.entry.format,
	}
	if r.def != nil {
		described.Default = r.def.Value
	}
	return described
}

// Formats returns the names of all formats in order.
func Formats() []string { return slices.Sorted(maps.Keys(formats)) }

// HasFormat reports whether a text has a format.
func HasFormat(format, text string) bool { return formats[format].valid(text) }

// FormatDescription says what a format allows, as messages do: `must be` goes before it.
func FormatDescription(format string) string { return formats[format].allowed }
