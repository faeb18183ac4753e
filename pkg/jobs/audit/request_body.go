package audit

import (
	"encoding/json"
	"slices"
	"strings"
)

// requestBody is what a request sent: an object, a merge of objects, or the operations of a JSON patch (RFC 6902).
type requestBody struct{ value any }

func parseRequestBody(text json.RawMessage) requestBody {
	var b requestBody
	_ = json.Unmarshal(text, &b.value) // a policy without bodies leaves them out
	return b
}

// valueAt returns the value at a JSON pointer (RFC 6901), as far as the request names it.
func (b requestBody) valueAt(pointer string) (any, bool) {
	operations, patch := b.value.([]any)
	if !patch {
		return valueInside(b.value, pointer)
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
			if value, there := valueInside(operation["value"], rest); there {
				found, is = value, true
			}
		}
	}
	return found, is
}

func valueInside(value any, pointer string) (any, bool) {
	if pointer == "" {
		return value, true
	}
	for _, key := range strings.Split(pointer[1:], "/") {
		fields, _ := value.(map[string]any)
		var is bool
		if value, is = fields[unescapePointerKey(key)]; !is {
			return nil, false
		}
	}
	return value, true
}

func (b requestBody) textAt(pointer string) string {
	value, _ := b.valueAt(pointer)
	text, _ := value.(string)
	return text
}

func (b requestBody) objectName() string { return b.textAt("/metadata/name") }

// suspendValue is what the request says of spec.suspend, and whether it says anything.
func (b requestBody) suspendValue() (bool, bool) {
	value, is := b.valueAt("/spec/suspend")
	suspended, _ := value.(bool)
	return suspended, is
}

// changedPaths are the fields that a patch names, at most three levels deep; of a whole object, nothing.
func (b requestBody) changedPaths() []string {
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
			paths = fieldPaths(value, "", 3)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

func fieldPaths(fields map[string]any, prefix string, depth int) []string {
	var paths []string
	for key, value := range fields {
		if nested, is := value.(map[string]any); is && depth > 1 && len(nested) > 0 {
			paths = append(paths, fieldPaths(nested, prefix+key+".", depth-1)...)
			continue
		}
		paths = append(paths, prefix+key)
	}
	return paths
}

// escapePointerKey and unescapePointerKey are of one key of a JSON pointer.
func escapePointerKey(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

func unescapePointerKey(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~1", "/"), "~0", "~")
}
