package audit

import (
	"encoding/json"
	"slices"
	"strings"
)

// body is what a request sent: an object, a merge of objects, or the operations of a JSON patch (RFC 6902).
type body struct{ value any }

func bodyOf(text json.RawMessage) body {
	var b body
	_ = json.Unmarshal(text, &b.value) // a policy without bodies leaves them out
	return b
}

// at returns the value at a JSON pointer (RFC 6901), as far as the request names it.
func (b body) at(pointer string) (any, bool) {
	operations, patch := b.value.([]any)
	if !patch {
		return inside(b.value, pointer)
	}
	var found any
	is := false
	for _, each := range operations {
		operation, _ := each.(map[string]any)
		if operation["op"] != "add" && operation["op"] != "replace" {
			continue
		}
		path, _ := operation["path"].(string)
		if rest, below := strings.CutPrefix(pointer, path); below && (rest == "" || rest[0] == '/') {
			if value, there := inside(operation["value"], rest); there {
				found, is = value, true
			}
		}
	}
	return found, is
}

func inside(value any, pointer string) (any, bool) {
	if pointer == "" {
		return value, true
	}
	for _, key := range strings.Split(pointer[1:], "/") {
		fields, _ := value.(map[string]any)
		var is bool
		if value, is = fields[unescaped(key)]; !is {
			return nil, false
		}
	}
	return value, true
}

func (b body) text(pointer string) string {
	value, _ := b.at(pointer)
	text, _ := value.(string)
	return text
}

func (b body) name() string { return b.text("/metadata/name") }

// suspend is what the request says of spec.suspend, and whether it says anything.
func (b body) suspend() (bool, bool) {
	value, is := b.at("/spec/suspend")
	suspended, _ := value.(bool)
	return suspended, is
}

// paths are the fields that a patch names, at most three levels deep; of a whole object, nothing.
func (b body) paths() []string {
	var paths []string
	switch value := b.value.(type) {
	case []any:
		for _, each := range value {
			operation, _ := each.(map[string]any)
			if path, _ := operation["path"].(string); path != "" && operation["op"] != "test" {
				paths = append(paths, strings.ReplaceAll(strings.Trim(path, "/"), "/", "."))
			}
		}
	case map[string]any:
		if _, whole := value["apiVersion"]; !whole {
			paths = fieldsOf(value, "", 3)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

func fieldsOf(fields map[string]any, prefix string, depth int) []string {
	var paths []string
	for key, value := range fields {
		if nested, is := value.(map[string]any); is && depth > 1 && len(nested) > 0 {
			paths = append(paths, fieldsOf(nested, prefix+key+".", depth-1)...)
			continue
		}
		paths = append(paths, prefix+key)
	}
	return paths
}

// escaped and unescaped are of one key of a JSON pointer.
func escaped(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

func unescaped(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~1", "/"), "~0", "~")
}
