package validate

import (
	"iter"
	"reflect"
	"slices"
	"strings"
)

// jsonFields yields the fields of a struct by their names in JSON, those of embedded structs too.
func jsonFields(t reflect.Type) iter.Seq2[string, reflect.Type] {
	return func(yield func(string, reflect.Type) bool) {
		for i := range t.NumField() {
			field := t.Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "" && field.Anonymous {
				for inner, kind := range jsonFields(field.Type) {
					if !yield(inner, kind) {
						return
					}
				}
				continue
			}
			if name != "" && name != "-" && !yield(name, field.Type) {
				return
			}
		}
	}
}

func fieldOf(t reflect.Type, name string) (reflect.Type, bool) {
	for field, kind := range jsonFields(t) {
		if field == name {
			return kind, true
		}
	}
	return t, false
}

func sortNames(names []string) []string {
	slices.Sort(names)
	return names
}
