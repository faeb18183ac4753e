// Package scaffold writes the first version of a spec: what a person decided on the command line, what follows from the repository,
// and everything else as comments, each key explained.
//
// It is pure: it reads an fs.FS and returns text. The schemas of package jsonschema say which keys there are, what they mean and what
// they may be, so a new field of a kind is in new specs without a change here. Prose is `# text`; an optional key is `#key: value`,
// and removing the `#` of it and of the lines below it gives a spec of the right shape.
package scaffold

import (
	"fmt"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/jsonschema"
)

// width is where comments are wrapped, in characters.
const width = 100

// SpecText returns the text of a spec. schemaPath is where an editor finds the schema, relative to the spec. values holds the known settings; names
// holds by key the names that an example may use: a key that names another spec is better explained by one that exists.
func SpecText(kind jsonschema.Kind, name, schemaPath string, values Values, names map[string]string) []byte {
	root := kind.Schema()
	w := &specWriter{root: root, values: values, names: names}
	w.writeLine(0, "# yaml-language-server: $schema="+schemaPath)
	w.writeComment(0, root.Description)
	w.writeLine(0, "apiVersion: "+root.Properties.Get("apiVersion").Const)
	w.writeLine(0, "kind: "+kind.Name)
	w.writeLine(0, "metadata:")
	w.writeLine(1, "name: "+scalarText(name))
	w.writeLine(0, "spec:")
	w.writeObject(1, "spec", root.Properties.Get("spec").Resolve(root))
	return []byte(w.text.String())
}

type specWriter struct {
	root   *jsonschema.Schema
	values Values
	names  map[string]string
	text   strings.Builder
}

func (w *specWriter) writeLine(depth int, text string) {
	w.text.WriteString(strings.Repeat("  ", depth) + text + "\n")
}

// writeComment writes a comment, wrapped.
func (w *specWriter) writeComment(depth int, text string) {
	line := "#"
	for _, word := range strings.Fields(text) {
		if line != "#" && 2*depth+len(line)+1+len(word) > width {
			w.writeLine(depth, line)
			line = "#"
		}
		line += " " + word
	}
	if line != "#" {
		w.writeLine(depth, line)
	}
}

// writeObject writes the keys of a mapping: those with a value, and the others as comments.
func (w *specWriter) writeObject(depth int, path string, s *jsonschema.Schema) {
	for i, property := range s.Properties {
		if depth == 1 && i > 0 {
			w.text.WriteByte('\n')
		}
		w.writeProperty(depth, path+"."+property.Name, property, slices.Contains(s.Required, property.Name))
	}
}

func (w *specWriter) writeProperty(depth int, path string, property jsonschema.Property, required bool) {
	s := property.Schema.Resolve(w.root)
	w.writeComment(depth, s.Description+allowedText(s))
	value, known := w.values[path]
	switch {
	case known:
		for _, line := range value.lines(property.Name) {
			w.writeLine(depth, line)
		}
	case len(s.Properties) > 0 && (required || w.values.hasBelow(path)):
		w.writeLine(depth, property.Name+":")
		w.writeObject(depth+1, path, s)
	default:
		mark := "#"
		if required {
			mark = "" // nobody said it: the example is at least of the right shape
		}
		for _, line := range w.exampleLines(property.Name, s) {
			w.writeLine(depth, mark+line)
		}
	}
}

// allowedText is a sentence with the values of a key, where they are few.
func allowedText(s *jsonschema.Schema) string {
	if s.Items != nil {
		s = s.Items
	}
	var words []string
	for _, value := range s.Enum {
		words = append(words, fmt.Sprint(value))
	}
	if len(words) == 0 {
		return ""
	}
	return " Allowed are " + strings.Join(words, ", ") + "."
}

// exampleLines returns the lines of a key with a value of the right shape, as small as it may be.
func (w *specWriter) exampleLines(key string, s *jsonschema.Schema) []string {
	s = s.Resolve(w.root)
	if len(s.Properties) == 0 {
		return w.exampleOfOne(key, s)
	}
	lines := []string{key + ":"}
	for _, property := range s.Properties {
		if slices.Contains(s.Required, property.Name) || len(s.Required) == 0 && !w.isStructure(property.Schema) {
			lines = append(lines, indentLines(w.exampleLines(property.Name, property.Schema), "  ")...)
		}
	}
	if len(lines) == 1 { // all its keys are optional mappings
		lines = append(lines, indentLines(w.exampleLines(s.Properties[0].Name, s.Properties[0].Schema), "  ")...)
	}
	return lines
}

// usual are examples that fit most repositories, by key: namespaces of operators that clusters of many companies have.
var usual = map[string]string{
	"reservedNamespaces": "[cert-manager, gatekeeper-system, istio-system, kyverno, vault, rook-ceph]",
}

func (w *specWriter) exampleOfOne(key string, s *jsonschema.Schema) []string {
	if text, found := usual[key]; found {
		return []string{key + ": " + text}
	}
	name, named := w.names[key]
	switch {
	case s.Items == nil && named:
		return []string{key + ": " + scalarText(name)}
	case s.Items == nil:
		return []string{key + ": " + flowExample(s)}
	case named && len(s.Items.Resolve(w.root).Properties) == 0:
		return []string{key + ": [" + scalarText(name) + "]"}
	}
	item := s.Items.Resolve(w.root)
	if len(item.Properties) == 0 {
		return []string{key + ": [" + flowExample(item) + "]"}
	}
	inner := w.exampleLines("", item)[1:]
	return append([]string{key + ":", "  - " + inner[0][2:]}, indentLines(inner[1:], "  ")...)
}

func (w *specWriter) isStructure(s *jsonschema.Schema) bool {
	s = s.Resolve(w.root)
	return len(s.Properties) > 0 || s.Items != nil
}

func indentLines(lines []string, by string) []string {
	for i := range lines {
		lines[i] = by + lines[i]
	}
	return lines
}

// flowExample returns a value of the right shape on one line.
func flowExample(s *jsonschema.Schema) string {
	switch {
	case s.Default != nil:
		return plainScalar(s, s.Default)
	case len(s.Enum) > 0:
		return plainScalar(s, s.Enum[0])
	case len(s.Examples) > 0:
		return plainScalar(s, s.Examples[0])
	case s.AdditionalProperties != nil:
		return "{" + flowExample(s.PropertyNames) + ": " + flowExample(s.AdditionalProperties) + "}"
	case slices.Contains(s.Type, "boolean"):
		return "true"
	case slices.Contains(s.Type, "integer"):
		return leastNumber(s)
	case slices.Contains(s.Type, "object"):
		return "{}"
	}
	return "some text"
}

// leastNumber is 1, or the least number that is more.
func leastNumber(s *jsonschema.Schema) string {
	if least, err := s.Minimum.Int64(); err == nil && least > 1 {
		return s.Minimum.String()
	}
	return "1"
}

// plainScalar leaves amounts without quotes: `cpu: 2` is what people write.
func plainScalar(s *jsonschema.Schema, value any) string {
	if text, isText := value.(string); isText && !slices.Contains(s.Type, "number") {
		return scalarText(text)
	}
	return fmt.Sprint(value)
}
