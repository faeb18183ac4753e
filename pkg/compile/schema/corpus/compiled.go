package corpus

import (
	_ "embed"
	"fmt"
	"maps"
	"math/rand/v2" //nolint:depguard // edits for tests; the same seed gives the same ones
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

//go:embed compiled.yaml
var compiled []byte

// CompiledCases returns the edits of compiled.yaml, done to compiled objects.
func CompiledCases(objects []map[string]any) ([]Case, error) {
	var edits []objectEdit
	if err := yaml.UnmarshalStrict(compiled, &edits, withExactNumbers); err != nil {
		return nil, fmt.Errorf("read the edits of compiled objects: %w", err)
	}
	first := firstOfEachKind(objects)
	var cases []Case
	for _, e := range edits {
		if first[e.Of] == nil {
			return nil, fmt.Errorf("the edit `%s` is of %s, which nothing compiled is", e.Name, e.Of)
		}
		object := runtime.DeepCopyJSON(first[e.Of])
		if _, err := e.apply(object, e.At); err != nil {
			return nil, fmt.Errorf("the edit `%s` of %s: %w", e.Name, e.Of, err)
		}
		cases = append(cases, Case{Name: e.Of + ": " + e.Name, Object: object, Refused: e.Refused, Beyond: e.Beyond})
	}
	return cases, nil
}

// firstOfEachKind returns the first object of each kind, by Kind.group.
func firstOfEachKind(objects []map[string]any) map[string]map[string]any {
	first := map[string]map[string]any{}
	for _, object := range objects {
		kind := fmt.Sprint(object["kind"])
		if group, _, found := strings.Cut(fmt.Sprint(object["apiVersion"]), "/"); found {
			kind += "." + group
		}
		if first[kind] == nil {
			first[kind] = object
		}
	}
	return first
}

// RandomCases returns n edits of compiled objects, each kind as often as another, with values that are mostly wrong. Nobody has said which
// are refused: Refused is empty. The same seed gives the same edits of the same objects.
func RandomCases(objects []map[string]any, n int, seed uint64) []Case {
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // the same each time is what is wanted
	first := firstOfEachKind(objects)
	kinds := slices.Sorted(maps.Keys(first))
	var cases []Case
	for len(cases) < n {
		kind := kinds[len(cases)%len(kinds)]
		object := runtime.DeepCopyJSON(first[kind])
		places := pathsBelow(object, nil)
		at := places[random.IntN(len(places))]
		if what, done := disturbValue(random, object, at); done {
			cases = append(cases, Case{Name: fmt.Sprintf("%s: %s at %s", kind, what, fmt.Sprint(at)), Object: object})
		}
	}
	return cases
}

// pathsBelow returns the paths of all values in one, but for those that say which object it is and where.
func pathsBelow(value any, path []any) [][]any {
	var paths [][]any
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			at := append(slices.Clone(path), key)
			if text := fmt.Sprint(at); text != "[apiVersion]" && text != "[kind]" && text != "[metadata]" && text != "[metadata namespace]" {
				paths = append(paths, at)
			}
			paths = append(paths, pathsBelow(value[key], at)...)
		}
	case []any:
		for i := range value {
			at := append(slices.Clone(path), i)
			paths = append(append(paths, at), pathsBelow(value[i], at)...)
		}
	}
	return paths
}

// wrong are values to put in the place of others.
var wrong = map[string]any{
	"a word": "word", "nothing": "", "null": nil, "spaces": "Not Valid!", "a long text": strings.Repeat("a", 300), "minus one": int64(-1), "a large number": int64(1 << 40),
	"seven": int64(7), "a fraction": 0.5, "yes": true, "an empty map": map[string]any{}, "an empty list": []any{}, "a map": map[string]any{"colour": "red"}, "a list": []any{"red"},
}

// disturbValue changes the value at a path and says how.
func disturbValue(random *rand.Rand, object map[string]any, at []any) (what string, done bool) {
	e := objectEdit{}
	switch last := at[len(at)-1]; random.IntN(4) {
	case 0:
		_, e.Drop = last.(string)
		what, done = "gone", e.Drop
	case 1:
		at, what, done = append(slices.Clone(at), "colour"), "unknown field", isMapAt(object, at)
		e.To = "red"
	default:
		names := slices.Sorted(maps.Keys(wrong))
		what, done = names[random.IntN(len(names))], true
		e.To = runtime.DeepCopyJSONValue(wrong[what])
	}
	if done {
		_, err := e.apply(object, at)
		done = err == nil
	}
	return what, done
}

func isMapAt(value any, at []any) bool {
	for _, step := range at {
		switch container := value.(type) {
		case map[string]any:
			value = container[step.(string)]
		case []any:
			value = container[step.(int)]
		}
	}
	_, found := value.(map[string]any)
	return found
}
