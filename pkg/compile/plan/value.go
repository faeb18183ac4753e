package plan

import (
	"cmp"
	"slices"
	"time"

	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/origin"
)

// Value is a value and its origin. Its place is where it is written, or for a default the nearest key around it.
type Value[T any] struct {
	V T
	origin.Origin
}

// Named is a value under a name, for lists that specs write as maps.
type Named[T any] struct {
	Name string
	Value[T]
}

// writtenValue is a field that every spec has, or a list item.
func writtenValue[T any](d *decode.Document, field *T) Value[T] {
	return Value[T]{V: *field, Origin: d.Origin(field)}
}

// orDefault is a field that may be left out; why says what its default is for.
func orDefault[T any](d *decode.Document, field *T, why string) Value[T] {
	return derivedValue(d, field, *field, why)
}

// derivedValue is what a field means. Where the field is not written the value is a default; why says what it is for.
func derivedValue[T, F any](d *decode.Document, field *F, value T, why string) Value[T] {
	v := Value[T]{V: value, Origin: d.Origin(field)}
	if !d.Written(field) {
		v.Kind, v.Why = origin.Default, why
	}
	return v
}

// boolOrDefault is a field that switches something on or off; why says what its default is for.
func boolOrDefault(d *decode.Document, field **bool, missing bool, why string) Value[bool] {
	if *field == nil {
		return Value[bool]{V: missing, Origin: origin.Origin{At: d.At(field), Kind: origin.Default, Why: why}}
	}
	return Value[bool]{V: **field, Origin: origin.Origin{At: d.At(field)}}
}

// inheritedValue is a value that another one gives.
func inheritedValue[T, F any](from Value[F], value T, why string) Value[T] {
	return Value[T]{V: value, Origin: origin.Origin{At: from.At, Kind: origin.Derived, Why: why, Lost: from.Lost}}
}

// sortedUnique sorts values and drops repetitions; the first of equal ones stays.
func sortedUnique(values []Value[string]) []Value[string] {
	slices.SortStableFunc(values, func(a, b Value[string]) int { return cmp.Compare(a.V, b.V) })
	return slices.CompactFunc(values, func(a, b Value[string]) bool { return a.V == b.V })
}

// namedEntries are those of a map of a spec, sorted by name.
func namedEntries[T any](d *decode.Document, field *map[string]T) []Named[T] {
	result := make([]Named[T], 0, len(*field))
	for name, value := range *field {
		result = append(result, Named[T]{Name: name, Value: Value[T]{V: value, Origin: d.EntryOrigin(field, name)}})
	}
	return sortedByName(result)
}

func sortedByName[T any](list []Named[T]) []Named[T] {
	slices.SortFunc(list, func(a, b Named[T]) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// parseDuration is a length of time whose form was checked; "" is 0.
func parseDuration(text string) time.Duration {
	d, _ := time.ParseDuration(text)
	return d
}
