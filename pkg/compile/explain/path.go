package explain

import (
	"fmt"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// Path leads to a value in an object: keys of maps; items of lists by their `name`, where they have one, else by their index.
type Path []string

// ParsePath reads a path as String writes it: `spec.hard["requests.cpu"]`. A key that holds a dot, a bracket or a quote is
// written in brackets and quotes; a leading dot is allowed, as kubectl's JSONPath has it.
func ParsePath(text string) (Path, error) {
	var path Path
	rest := strings.TrimPrefix(text, ".")
	for rest != "" {
		key, after, err := cutSegment(rest)
		if err != nil {
			return nil, fmt.Errorf("path `%s`: %w", text, err)
		}
		path = append(path, key)
		rest = after
	}
	return path, nil
}

// cutSegment cuts the first key off.
func cutSegment(text string) (key, rest string, err error) {
	if strings.HasPrefix(text, "[") {
		inner, after, found := strings.Cut(text[1:], "]")
		if !found {
			return "", "", fmt.Errorf("a `[` has no `]`")
		}
		return strings.Trim(inner, `"'`), strings.TrimPrefix(after, "."), nil
	}
	end := strings.IndexAny(text, ".[")
	switch {
	case end == 0:
		return "", "", fmt.Errorf("a key is missing before `%s`", text)
	case end < 0:
		return text, "", nil
	case text[end] == '.' && end+1 == len(text):
		return "", "", fmt.Errorf("it ends with a dot")
	}
	return text[:end], strings.TrimPrefix(text[end:], "."), nil
}

// String returns the path in the form that ParsePath reads.
func (p Path) String() string { return object.SpellPath(p) }

// LeadsTo reports whether the other path is the same or leads to something below.
func (p Path) LeadsTo(other []string) bool {
	if len(other) < len(p) {
		return false
	}
	for i, key := range p {
		if key != other[i] {
			return false
		}
	}
	return true
}
