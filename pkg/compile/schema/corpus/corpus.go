// Package corpus holds objects with the verdict of a real API server on each, for tests: those of package schema, which must
// come to the same verdicts, and those of test/integration, which ask an API server whether the verdicts are right.
package corpus

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

//go:embed corpus.yaml
var text []byte

// Case is an object that an API server accepts or refuses.
type Case struct {
	// Name says what is special about the object.
	Name   string
	Object map[string]any
	// Refused is the path of what is wrong, as package schema writes it; empty if the object is accepted.
	Refused string
	// Beyond says why package schema does not see that an API server refuses the object; empty if it sees it.
	Beyond string
}

// corpusFile is corpus.yaml: objects that are accepted, by name, and edits of them.
type corpusFile struct {
	Objects map[string]map[string]any
	Cases   []objectEdit
}

type objectEdit struct {
	Name string
	// Of is the object that is edited: the value At a path becomes To, or goes with Drop.
	Of      string
	At      []any
	To      any
	Drop    bool
	Refused string
	Beyond  string
}

// Cases returns all cases: the objects as they are, and the edited ones.
func Cases() ([]Case, error) {
	var parsed corpusFile
	if err := yaml.UnmarshalStrict(text, &parsed, withExactNumbers); err != nil {
		return nil, fmt.Errorf("read the corpus: %w", err)
	}
	var cases []Case
	for name, object := range parsed.Objects {
		cases = append(cases, Case{Name: name + ": as it is", Object: object})
	}
	for _, e := range parsed.Cases {
		if parsed.Objects[e.Of] == nil {
			return nil, fmt.Errorf("the case `%s` is of `%s`, which is not an object", e.Name, e.Of)
		}
		object := runtime.DeepCopyJSON(parsed.Objects[e.Of])
		if _, err := e.apply(object, e.At); err != nil {
			return nil, fmt.Errorf("the case `%s`: %w", e.Name, err)
		}
		cases = append(cases, Case{Name: e.Of + ": " + e.Name, Object: object, Refused: e.Refused})
	}
	return cases, nil
}

// withExactNumbers keeps numbers as they are written.
func withExactNumbers(decoder *json.Decoder) *json.Decoder {
	decoder.UseNumber()
	return decoder
}

// apply edits a value and returns it: another one where a list got longer.
func (e objectEdit) apply(value any, path []any) (any, error) {
	if len(path) == 0 {
		return e.To, nil
	}
	switch value := value.(type) {
	case map[string]any:
		key := fmt.Sprint(path[0])
		if e.Drop && len(path) == 1 {
			delete(value, key)
			return value, nil
		}
		child, err := e.apply(value[key], path[1:])
		value[key] = child
		return value, err
	case []any:
		i, err := strconv.Atoi(fmt.Sprint(path[0]))
		if err != nil || i > len(value) {
			return nil, fmt.Errorf("%v is not an index of a list of %d", path[0], len(value))
		}
		if i == len(value) {
			value = append(value, nil)
		}
		value[i], err = e.apply(value[i], path[1:])
		return value, err
	case nil:
		return e.apply(map[string]any{}, path)
	}
	return nil, fmt.Errorf("nothing is below %v", value)
}
