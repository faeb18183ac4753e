package jsonschema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	validator "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"go.yaml.in/yaml/v4"
	"golang.org/x/tools/txtar"

	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/jsonschema"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// compiled are the schemas in the hands of a validator that is not ours. It checks them against the draft's own schema.
func compiled(t *testing.T) map[string]*validator.Schema {
	t.Helper()
	schemas := map[string]*validator.Schema{}
	for _, k := range jsonschema.Kinds {
		document, err := validator.UnmarshalJSON(bytes.NewReader(k.Text()))
		if err != nil {
			t.Fatal(err)
		}
		compiler := validator.NewCompiler()
		compiler.AssertFormat()
		if err := compiler.AddResource(k.File, document); err != nil {
			t.Fatal(err)
		}
		if schemas[k.Name], err = compiler.Compile(k.File); err != nil {
			t.Fatalf("%s is no JSON Schema: %v", k.File, err)
		}
	}
	return schemas
}

// instance is a YAML document as a validator sees it.
type instance struct {
	node  *yaml.Node
	value any
	kind  string
}

// instances parses the documents of a file with a parser that is not the compiler's.
func instances(data []byte) ([]instance, error) {
	var all []instance
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var node yaml.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		i := instance{node: node.Content[0], value: jsonValue(node.Content[0])}
		if mapping, isMapping := i.value.(map[string]any); isMapping {
			i.kind, _ = mapping["kind"].(string)
		}
		all = append(all, i)
	}
}

// jsonValue is what an editor makes of a node: dates are strings, numbers keep their digits.
func jsonValue(node *yaml.Node) any {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch node.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			m[node.Content[i].Value] = jsonValue(node.Content[i+1])
		}
		return m
	case yaml.SequenceNode:
		items := []any{}
		for _, child := range node.Content {
			items = append(items, jsonValue(child))
		}
		return items
	}
	switch node.ShortTag() {
	case "!!int", "!!float":
		return json.Number(node.Value)
	case "!!bool":
		return node.Value == "true"
	case "!!null":
		return nil
	}
	return node.Value
}

// TestSpecs: every spec of the repository and of the tests' base has the shape that its schema says.
func TestSpecs(t *testing.T) {
	schemas, seen := compiled(t), map[string]int{}
	root := os.DirFS("../../..")
	for _, pattern := range []string{"catalog/*/*.yaml", "tenants/*.yaml", "overlays/*/cluster.yaml", "pkg/compile/testdata/base/*/*.yaml", "pkg/compile/testdata/base/*/*/*.yaml"} {
		files, err := fs.Glob(root, pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			data, err := fs.ReadFile(root, name)
			if err != nil {
				t.Fatal(err)
			}
			documents, err := instances(data)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, document := range documents {
				seen[document.kind]++
				if err := schemas[document.kind].Validate(document.value); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
	for _, k := range jsonschema.Kinds {
		if seen[k.Name] < 2 {
			t.Errorf("%d specs of kind %s were judged, want those of the repository and of the base", seen[k.Name], k.Name)
		}
	}
}

// beyond are the mistakes that are not about the shape of a document: about the text of the file, or about which schema to take.
var beyond = []diag.Code{
	diag.Syntax, diag.UnreadableFile, diag.TooComplex, diag.UnsupportedYAML, diag.DuplicateKey, diag.NothingRead, diag.UnknownKind,
}

// unsayable are the forms for which JSON Schema has no words; package generate has samples of each.
var unsayable = []string{"must be an address range", "must be a length of time", "must be a day", "must be the name of a group"}

// TestSameOffences: the decoder and an independent validator find the same mistakes of shape in the corpus of wrong specs, on the
// same lines, and find none where the other finds none.
func TestSameOffences(t *testing.T) {
	schemas := compiled(t)
	cases, err := fs.Glob(os.DirFS("../testdata/errors"), "*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	judged, offences := 0, 0
	for _, name := range cases {
		archive, err := txtar.ParseFile("../testdata/errors/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range archive.Files {
			if isSpec(file.Name) {
				d, o := compare(t, schemas, name+":"+file.Name, file.Data)
				judged, offences = judged+d, offences+o
			}
		}
	}
	t.Logf("%d documents judged by both, %d lines with mistakes", judged, offences)
	if judged < 60 || offences < 60 {
		t.Errorf("%d documents and %d lines: the corpus does not show enough", judged, offences)
	}
}

func isSpec(name string) bool {
	return !strings.HasPrefix(name, "out/") && path.Ext(name) == ".yaml" && (strings.HasPrefix(name, "catalog/") || strings.HasPrefix(name, "tenants/") || path.Base(name) == "cluster.yaml")
}

// compare returns how many documents of a file both judged, and how many lines have mistakes.
func compare(t *testing.T, schemas map[string]*validator.Schema, name string, data []byte) (documents, offences int) {
	t.Helper()
	list := &diag.List{}
	decode.Files([]*source.File{source.NewFile(name, data)}, list)
	wrong := map[int]bool{}
	for _, d := range list.Sorted() {
		if slices.Contains(beyond, d.Code) {
			return 0, 0
		}
		wrong[d.Span.Line] = wrong[d.Span.Line] || !isUnsayable(d)
	}
	all, err := instances(bytes.TrimPrefix(data, []byte("\ufeff")))
	if err != nil {
		t.Errorf("%s: only the decoder can read the file: %v", name, err)
		return 0, 0
	}
	found := map[int]string{}
	for _, document := range all {
		schema := schemas[document.kind]
		if schema == nil {
			return 0, 0 // not one of our kinds
		}
		for at, message := range mistakes(t, schema, document) {
			found[at] = message
		}
	}
	for line, sayable := range wrong {
		if _, both := found[line]; sayable && !both {
			t.Errorf("%s:%d: only the decoder finds a mistake", name, line)
		}
	}
	for line, message := range found {
		if _, both := wrong[line]; !both {
			t.Errorf("%s:%d: only the schema finds a mistake: %s", name, line, message)
		}
	}
	return len(all), len(wrong)
}

func isUnsayable(d *diag.Diagnostic) bool {
	return d.Code == diag.BadFormat && slices.ContainsFunc(unsayable, func(s string) bool { return strings.Contains(d.Message, s) })
}

// mistakes returns what a schema says against a document, by the line on which the decoder would say it.
func mistakes(t *testing.T, schema *validator.Schema, document instance) map[int]string {
	t.Helper()
	lines := map[int]string{}
	var invalid *validator.ValidationError
	if err := schema.Validate(document.value); err != nil && !errors.As(err, &invalid) {
		t.Fatal(err)
	} else if err == nil {
		return lines
	}
	found := leaves(invalid)
	for _, e := range found {
		if _, lacks := e.ErrorKind.(*kind.Required); lacks && slices.ContainsFunc(found, e.excuses) {
			continue
		}
		for _, line := range linesOf(e.ValidationError, document.node) {
			lines[line] = fmt.Sprintf("%v at %v", e.ErrorKind, e.InstanceLocation)
		}
	}
	return lines
}

// leaf is an error that no other explains better.
type leaf struct{ *validator.ValidationError }

// excuses says that a mapping has an unknown key: the decoder takes it for the missing one if it is near, and says so once.
func (e leaf) excuses(other leaf) bool {
	_, unknown := other.ErrorKind.(*kind.AdditionalProperties)
	return unknown && slices.Equal(e.InstanceLocation, other.InstanceLocation)
}

func leaves(e *validator.ValidationError) []leaf {
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.PropertyNames:
		return []leaf{{e}}
	}
	if len(e.Causes) == 0 {
		return []leaf{{e}}
	}
	var all []leaf
	for _, cause := range e.Causes {
		all = append(all, leaves(cause)...)
	}
	return all
}

// linesOf returns where an error is: the unknown keys, the key of the mapping that lacks one, or the value.
func linesOf(e *validator.ValidationError, root *yaml.Node) []int {
	key, value := locate(root, e.InstanceLocation)
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		var lines []int
		for _, name := range k.Properties {
			unknown, _ := locate(root, append(slices.Clone(e.InstanceLocation), name))
			lines = append(lines, unknown.Line)
		}
		return lines
	case *kind.Required:
		return []int{key.Line}
	case *kind.PropertyNames: // the validator has overwritten the location of this one by the time that we see it
		return keyLines(root, k.Property)
	case *kind.UniqueItems:
		return []int{value.Content[k.Duplicates[1]].Line}
	}
	if value.ShortTag() == "!!null" {
		return []int{key.Line}
	}
	return []int{value.Line}
}

// keyLines returns where a key is, in whatever mapping.
func keyLines(node *yaml.Node, key string) []int {
	var lines []int
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 && child.Value == key {
			lines = append(lines, child.Line)
		}
		lines = append(lines, keyLines(child, key)...)
	}
	return lines
}

// locate follows a path to a value and to its key; items of lists are their own keys.
func locate(root *yaml.Node, where []string) (key, value *yaml.Node) {
	key, value = root, root
	for _, step := range where {
		for value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		for i, child := range value.Content {
			switch {
			case value.Kind == yaml.SequenceNode && fmt.Sprint(i) == step:
				key, value = child, child
			case value.Kind == yaml.MappingNode && i%2 == 0 && child.Value == step:
				key, value = child, value.Content[i+1]
			default:
				continue
			}
			break
		}
	}
	return key, value
}

// TestKindOf: people name a kind as the spec does or by its short word, in any case.
func TestKindOf(t *testing.T) {
	for text, want := range map[string]string{"tenant": "Tenant", "MPIRUNTIME": "MPIRuntime", "profile": "HardwareProfile", "team": ""} {
		if k, known := jsonschema.KindOf(text); k.Name != want || known != (want != "") {
			t.Errorf("%s: %q, %v", text, k.Name, known)
		}
	}
}

// TestProperties: the order of a schema's properties survives reading and writing; what breaks off is not a schema.
func TestProperties(t *testing.T) {
	const text = `{"spec":{"type":"object"},"a":{"type":"string"},"metadata":{"type":"object"}}`
	var p jsonschema.Properties
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	if again, err := json.Marshal(p); err != nil || string(again) != text {
		t.Errorf("%s, %v", again, err)
	}
	if p.Get("a") == nil || p.Get("b") != nil {
		t.Errorf("%+v", p)
	}
	for _, broken := range []string{"", `{"spec": 1}`, `{"spec": {}, 7: {}}`, `{"spec": {}]`} {
		if err := (&jsonschema.Properties{}).UnmarshalJSON([]byte(broken)); err == nil {
			t.Errorf("%q is read", broken)
		}
	}
}
