package decode

import (
	"reflect"
	"strconv"
	"strings"
)

// rule is the parsed `jsonschema` tag of a field; package v1alpha1 lists the words.
type rule struct {
	required, unique bool
	enum             []string
	def              string
	minimum, maximum string
	minItems         int
	format           string
}

// field is one key of a struct.
type field struct {
	name  string
	index []int
	rule  rule
}

// fieldsOf returns the keys of a struct, those of embedded structs included, in the order of their declaration.
func fieldsOf(t reflect.Type) []field {
	var fields []field
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "" {
			continue
		}
		fields = append(fields, field{name: name, index: f.Index, rule: parseRule(f.Tag.Get("jsonschema"))})
	}
	return fields
}

func parseRule(tag string) rule {
	var r rule
	for _, word := range strings.Split(tag, ",") {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "required":
			r.required = true
		case "uniqueItems":
			r.unique = true
		case "enum":
			r.enum = append(r.enum, value)
		case "default":
			r.def = value
		case "minimum":
			r.minimum = value
		case "maximum":
			r.maximum = value
		case "minItems":
			r.minItems, _ = strconv.Atoi(value)
		case "format":
			r.format = value
		}
	}
	return r
}

// item is the rule for the items of a list, which must not be empty.
func (r rule) item() rule {
	r.required, r.unique, r.minItems = true, false, 0
	return r
}
