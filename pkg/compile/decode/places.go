package decode

import (
	"cmp"
	"reflect"
	"slices"
	"sync"

	"lockstep.dev/lockstep/pkg/compile/decode/syntax"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// place is where a value is: its address in the spec and its type, because a struct and its first field share an address. Addresses
// are numbers, which cost the garbage collector nothing; they hold as long as nobody changes the spec, which nobody may.
type place struct {
	address uintptr
	size    uint32
	kind    uint16
	// written is false for a default; key and value are then those of the nearest key around it.
	written    bool
	key, value syntax.Place
}

// entryPlace is where an entry of a map is, which has no address.
type entryPlace struct {
	field      any
	name       string
	key, value syntax.Place
}

// index makes places findable: by address, the outer of two before the inner.
func index(places []place) []place {
	sorted := slices.Clone(places)
	slices.SortStableFunc(sorted, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.address, b.address), cmp.Compare(b.size, a.size))
	})
	return sorted
}

// find returns the place of a field, or else of the innermost value around it; exact says which.
func find(places []place, field any) (found place, exact bool) {
	pointer := reflect.ValueOf(field)
	address, kind := pointer.Pointer(), numberOf(pointer.Type().Elem())
	after, _ := slices.BinarySearchFunc(places, address+1, func(p place, a uintptr) int { return cmp.Compare(p.address, a) })
	around := -1
	for i := after - 1; i >= 0; i-- {
		p := places[i]
		if p.address == address && p.kind == kind {
			return p, true
		}
		if around < 0 && address < p.address+uintptr(p.size) {
			around = i
		}
		if p.address != address && around >= 0 {
			break
		}
	}
	if around < 0 {
		return place{}, false
	}
	return places[around], false
}

// numbers gives every type of a spec a number.
var numbers struct {
	sync.Mutex
	of sync.Map
	n  uint16
}

func numberOf(t reflect.Type) uint16 {
	if n, found := numbers.of.Load(t); found {
		return n.(uint16)
	}
	numbers.Lock()
	defer numbers.Unlock()
	if n, found := numbers.of.Load(t); found {
		return n.(uint16)
	}
	numbers.n++
	numbers.of.Store(t, numbers.n)
	return numbers.n
}

// At returns the span of a field's value, given a pointer to the field inside Spec. A field that was not written has the
// span of the nearest key around it.
func (d *Document) At(field any) source.Span {
	p, exact := find(d.places, field)
	if !exact {
		return d.span(p.key)
	}
	return d.span(p.value)
}

// Key returns the span of a field's key, or of the list item when the field is one.
func (d *Document) Key(field any) source.Span {
	p, _ := find(d.places, field)
	return d.span(p.key)
}

// Written says whether a field is in the file, as opposed to a default.
func (d *Document) Written(field any) bool {
	p, exact := find(d.places, field)
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

// Below returns the spans of all keys and values below a field that holds anything, in their order.
func (d *Document) Below(field any) []source.Span {
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
	if from := changed(d.changes, p); from != nil {
		return from.At
	}
	return p.In(d.File)
}
