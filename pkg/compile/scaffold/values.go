package scaffold

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Values are the parts of a spec that are known, by path: `spec.people.editors`.
type Values map[string]Value

// hasBelow reports whether something is known inside of a path.
func (v Values) hasBelow(path string) bool {
	for known := range v {
		if strings.HasPrefix(known, path+".") {
			return true
		}
	}
	return false
}

// Value is a part of a spec, as YAML.
type Value struct {
	// text is on the line of the key, items are below it.
	text  string
	items []string
	// why is a comment for the reader.
	why string
}

// Because adds a comment.
func (v Value) Because(format string, args ...any) Value {
	v.why = fmt.Sprintf(format, args...)
	return v
}

func (v Value) lines(key string) []string {
	var lines []string
	if v.why != "" {
		lines = append(lines, "# "+v.why)
	}
	lines = append(lines, strings.TrimRight(key+": "+v.text, " "))
	for _, item := range v.items {
		lines = append(lines, "  "+item)
	}
	return lines
}

// scalarText writes a string, quoted where YAML would read something else.
func scalarText(text string) string {
	data, err := yaml.Marshal(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Style: scalarStyle(text)})
	if err != nil {
		return fmt.Sprintf("%q", text)
	}
	return strings.TrimSpace(string(data))
}

// scalarStyle quotes what has several lines or would be read differently inside brackets.
func scalarStyle(text string) yaml.Style {
	if strings.ContainsAny(text, "\n,[]{}#") || text == "" {
		return yaml.DoubleQuotedStyle
	}
	return 0
}

// TextValue is a string.
func TextValue(text string) Value { return Value{text: scalarText(text)} }

// BareValue is a number, an amount or a word that has no quotes. What is none of these is quoted, and the compiler says what is wrong.
func BareValue(text string) Value {
	const harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+-"
	if text == "" || strings.Trim(text, harmless) != "" {
		return TextValue(text)
	}
	return Value{text: text}
}

// ListValue is a list of strings.
func ListValue(texts []string) Value {
	var items []string
	for _, text := range texts {
		items = append(items, scalarText(text))
	}
	return Value{text: "[" + strings.Join(items, ", ") + "]"}
}

// AmountsValue is a mapping from names to amounts, sorted by name.
func AmountsValue(amounts map[string]string) Value {
	v := Value{}
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		v.items = append(v.items, scalarText(name)+": "+BareValue(amounts[name]).text)
	}
	return v
}

// PairsValue is a list of mappings with two keys, sorted by the first.
func PairsValue(first, second string, pairs map[string]string) Value {
	v := Value{}
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		v.items = append(v.items, "- "+first+": "+scalarText(name), "  "+second+": "+BareValue(pairs[name]).text)
	}
	return v
}
