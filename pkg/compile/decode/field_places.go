package decode

import (
	"reflect"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/decode/syntax"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// fieldSpans is where a field of a spec is. A field that is absent has the place of the nearest key around it.
type fieldSpans struct {
	absent bool
	// written is false for what is absent, and for a default; key and value are then those of the nearest key around it.
	written    bool
	key, value syntax.Place
}

// fieldPlace is the place of a field, which is a pointer into a spec.
type fieldPlace struct {
	field any
	fieldSpans
}

// entryPlace is where an entry of a map is, which has no address.
type entryPlace struct {
	field      any
	name       string
	key, value syntax.Place
}

// indexFields makes places findable. A struct and its first field are two pointers, because they have two types.
func indexFields(fields []fieldPlace) map[any]fieldSpans {
	places := make(map[any]fieldSpans, len(fields))
	for _, f := range fields {
		places[f.field] = f.fieldSpans
	}
	return places
}

// findPlace returns the place of a field, or else of the innermost value around it; exact says which.
func (d *Document) findPlace(field any) (found fieldSpans, exact bool) {
	found, known := d.places[field]
	if !known {
		found, _ = d.enclosingPlace(reflect.ValueOf(d.Spec).Elem(), field, fieldSpans{})
	}
	return found, known && !found.absent
}

// enclosingPlace looks for a field inside of a value, and returns the place of the innermost value around it that has one.
func (d *Document) enclosingPlace(value reflect.Value, field any, outer fieldSpans) (fieldSpans, bool) {
	own := value.Addr().Interface()
	if known, is := d.places[own]; is {
		outer = known
	}
	if own == field {
		return outer, true
	}
	for _, inner := range addressableParts(value) {
		if found, is := d.enclosingPlace(inner, field, outer); is {
			return found, true
		}
	}
	return fieldSpans{}, false
}

// addressableParts are the values inside of another that have addresses.
func addressableParts(value reflect.Value) []reflect.Value {
	var inner []reflect.Value
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			inner = append(inner, value.Elem())
		}
	case reflect.Struct:
		for i := range value.NumField() {
			if value.Type().Field(i).IsExported() {
				inner = append(inner, value.Field(i))
			}
		}
	case reflect.Slice:
		for i := range value.Len() {
			inner = append(inner, value.Index(i))
		}
	}
	return inner
}

// At returns the span of a field's value, given a pointer to the field inside Spec. A field that was not written has the
// span of the nearest key around it.
func (d *Document) At(field any) source.Span {
	p, exact := d.findPlace(field)
	if !exact {
		return d.span(p.key)
	}
	return d.span(p.value)
}

// Key returns the span of a field's key, or of the list item when the field is one.
func (d *Document) Key(field any) source.Span {
	p, _ := d.findPlace(field)
	return d.span(p.key)
}

// Written reports whether a field is in the file, as opposed to a default.
func (d *Document) Written(field any) bool {
	p, exact := d.findPlace(field)
	return exact && p.written
}

// Entry returns the spans of an entry of a map, given a pointer to the map inside Spec: its key and its value. They are zero for a
// map or an entry that was not written.
func (d *Document) Entry(field any, name string) (key, value source.Span) {
	for _, e := range d.entries {
		if e.field == field && e.name == name {
			return d.span(e.key), d.span(e.value)
		}
	}
	return source.Span{}, source.Span{}
}

// EntryPlace is where an entry is: its key, or the item of a list, and its value.
type EntryPlace struct{ Key, Value source.Span }

// Entries returns the places of all that a map of free form holds, by JSON pointers, given a pointer to the map inside Spec.
func (d *Document) Entries(field any) map[string]EntryPlace {
	places := map[string]EntryPlace{}
	for _, e := range d.entries {
		if e.field != field {
			continue
		}
		name := e.name
		if !strings.HasPrefix(name, "/") {
			name = "/" + escapePointer(name)
		}
		places[name] = EntryPlace{Key: d.span(e.key), Value: d.span(e.value)}
	}
	return places
}

// SpansBelow returns the spans of all keys and values below a field that holds anything, in their order.
func (d *Document) SpansBelow(field any) []source.Span {
	var spans []source.Span
	for _, e := range d.entries {
		if e.field == field {
			spans = append(spans, d.span(e.key), d.span(e.value))
		}
	}
	return spans
}

func (d *Document) span(p syntax.Place) source.Span {
	if p.Line == 0 {
		return source.Span{}
	}
	if from := patchOrigin(d.changes, p); from != nil {
		return from.At
	}
	return p.In(d.File)
}
