package decode

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// decoder fills one spec. Its methods report mistakes and go on; bounded has made sure that recursion ends.
type decoder struct {
	file   *source.File
	list   *diag.List
	places map[any]place
}

// target is a value to fill: where it is, what it is called in messages, and the rules that hold.
type target struct {
	value reflect.Value
	name  string
	key   source.Span
	rule  rule
}

func (d *decoder) document(node *yaml.Node, spec any) {
	start := spanOf(d.file, node)
	d.structure(node, target{value: reflect.ValueOf(spec).Elem(), name: "the document", key: start})
}

func (d *decoder) remember(t target, value source.Span) {
	d.places[t.value.Addr().Interface()] = place{key: t.key, value: value}
}

var (
	quantityType    = reflect.TypeFor[resource.Quantity]()
	intOrStringType = reflect.TypeFor[intstr.IntOrString]()
	anyMapType      = reflect.TypeFor[map[string]any]()
)

// decode fills a target from a node according to its Go type.
func (d *decoder) decode(node *yaml.Node, t target) {
	node = follow(node)
	if node.ShortTag() == "!!null" {
		d.noValue(t)
		return
	}
	d.remember(t, spanOf(d.file, node))
	switch {
	case t.value.Type() == quantityType:
		d.quantity(node, t)
	case t.value.Type() == intOrStringType:
		d.intOrString(node, t)
	case t.value.Type() == anyMapType:
		d.freeForm(node, t)
	case t.value.Kind() == reflect.Pointer:
		t.value.Set(reflect.New(t.value.Type().Elem()))
		t.value = t.value.Elem()
		d.decode(node, t)
	case t.value.Kind() == reflect.Struct:
		d.structure(node, t)
	case t.value.Kind() == reflect.Slice:
		d.slice(node, t)
	case t.value.Kind() == reflect.Map:
		d.stringMap(node, t)
	default:
		d.scalar(node, t)
	}
}

func follow(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

func (d *decoder) noValue(t target) {
	d.remember(t, t.key)
	if t.rule.required {
		d.list.Errorf(diag.MissingKey, t.key, "`%s` is required and has no value", t.name).Helpf("give it a value")
		return
	}
	d.list.Errorf(diag.WrongType, t.key, "`%s` has no value", t.name).Helpf("give it a value, or remove the key")
}

func (d *decoder) wrongType(node *yaml.Node, t target, want string) *diag.Diagnostic {
	return d.list.Errorf(diag.WrongType, spanOf(d.file, node), "`%s` must be %s, not %s", t.name, want, describe(node))
}

// structure fills a struct from a mapping: known keys first, then what is missing.
func (d *decoder) structure(node *yaml.Node, t target) {
	if node.Kind != yaml.MappingNode {
		d.wrongType(node, t, "a mapping")
		return
	}
	fields := fieldsOf(t.value.Type())
	seen := d.keys(node)
	excused := d.unknownKeys(seen, fields)
	for _, f := range fields {
		inner := target{value: t.value.FieldByIndex(f.index), name: f.name, key: t.key, rule: f.rule}
		entry, found := seen.entries[f.name]
		switch {
		case found:
			inner.key = entry.key
			d.decode(entry.value, inner)
		case f.rule.required:
			d.remember(inner, t.key)
			if !excused[f.name] {
				d.missing(t, f)
			}
		default:
			d.absent(inner)
		}
	}
}

func (d *decoder) missing(t target, f field) {
	owner := "`" + t.name + "`"
	if t.name == "the document" {
		owner = t.name
	}
	report := d.list.Errorf(diag.MissingKey, t.key, "%s lacks the required key `%s`", owner, f.name)
	if len(f.rule.enum) > 0 {
		report.Helpf("allowed are %s", oneOf(f.rule.enum))
	}
}

// absent sets the defaults of a field that was not written, and of all fields below it.
func (d *decoder) absent(t target) {
	d.remember(t, t.key)
	switch {
	case t.rule.def != "":
		d.setDefault(t)
	case t.value.Kind() == reflect.Struct && t.value.Type() != quantityType && t.value.Type() != intOrStringType:
		for _, f := range fieldsOf(t.value.Type()) {
			d.absent(target{value: t.value.FieldByIndex(f.index), name: f.name, key: t.key, rule: f.rule})
		}
	}
}

// setDefault decodes the default like a value that somebody wrote, so that both have one meaning.
func (d *decoder) setDefault(t target) {
	place := d.places[t.value.Addr().Interface()]
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(t.rule.def), &document); err != nil {
		panic(fmt.Sprintf("the default of `%s` is not YAML: %v", t.name, err)) // a mistake in package v1alpha1
	}
	d.decode(document.Content[0], t)
	d.places[t.value.Addr().Interface()] = place
}

type entry struct {
	key   source.Span
	value *yaml.Node
}

// mappingKeys is a mapping without its duplicates.
type mappingKeys struct {
	order   []string
	entries map[string]entry
}

// keys returns the entries of a mapping; of duplicates the first.
func (d *decoder) keys(node *yaml.Node) mappingKeys {
	keys := mappingKeys{entries: map[string]entry{}}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, span := node.Content[i].Value, spanOf(d.file, node.Content[i])
		if first, found := keys.entries[name]; found {
			d.list.Errorf(diag.DuplicateKey, span, "the key `%s` is there twice", name).
				Also(first.key, "first here").Helpf("remove one")
			continue
		}
		keys.entries[name] = entry{key: span, value: node.Content[i+1]}
		keys.order = append(keys.order, name)
	}
	return keys
}

// unknownKeys reports them, and returns the keys that were probably meant: those need not be reported as missing.
func (d *decoder) unknownKeys(keys mappingKeys, fields []field) map[string]bool {
	var known, open []string
	for _, f := range fields {
		known = append(known, f.name)
		if _, found := keys.entries[f.name]; !found {
			open = append(open, f.name)
		}
	}
	excused := map[string]bool{}
	for _, name := range keys.order {
		if slices.Contains(known, name) {
			continue
		}
		report := d.list.Errorf(diag.UnknownKey, keys.entries[name].key, "unknown key `%s`", name)
		if meant, ok := diag.Nearest(name, open); ok {
			excused[meant] = true
			report.Helpf("did you mean `%s`?", meant)
			continue
		}
		report.Helpf("allowed are %s", oneOf(known))
	}
	return excused
}

func (d *decoder) slice(node *yaml.Node, t target) {
	if node.Kind != yaml.SequenceNode {
		d.wrongType(node, t, "a list")
		return
	}
	if len(node.Content) < t.rule.minItems {
		d.list.Errorf(diag.OutOfRange, spanOf(d.file, node), "`%s` needs at least %d item", t.name, t.rule.minItems)
	}
	t.value.Set(reflect.MakeSlice(t.value.Type(), len(node.Content), len(node.Content)))
	first := map[string]source.Span{}
	for i, child := range node.Content {
		span := spanOf(d.file, child)
		d.decode(child, target{value: t.value.Index(i), name: t.name, key: span, rule: t.rule.item()})
		if !t.rule.unique {
			continue
		}
		if earlier, found := first[child.Value]; found {
			d.list.Errorf(diag.RepeatedItem, span, "`%s` is in `%s` twice", child.Value, t.name).
				Also(earlier, "first here").Helpf("remove one")
			continue
		}
		first[child.Value] = span
	}
}

// stringMap fills a map with string keys. A format rule is about keys; `label-value` is about both sides.
func (d *decoder) stringMap(node *yaml.Node, t target) {
	if node.Kind != yaml.MappingNode {
		d.wrongType(node, t, "a mapping")
		return
	}
	keyRule, valueRule := rule{format: t.rule.format}, t.rule
	valueRule.required = false
	if t.rule.format == "label-value" {
		keyRule.format = "label-name"
	} else {
		valueRule.format = ""
	}
	t.value.Set(reflect.MakeMap(t.value.Type()))
	keys := d.keys(node)
	if len(keys.order) < t.rule.minItems {
		d.list.Errorf(diag.OutOfRange, spanOf(d.file, node), "`%s` needs at least %d entry", t.name, t.rule.minItems)
	}
	for _, name := range keys.order {
		entry := keys.entries[name]
		if name == "" {
			d.list.Errorf(diag.BadFormat, entry.key, "a key of `%s` must not be empty", t.name)
		}
		d.checkText(entry.key, name, target{name: t.name, rule: keyRule})
		value := reflect.New(t.value.Type().Elem()).Elem()
		d.decode(entry.value, target{value: value, name: name, key: entry.key, rule: valueRule})
		t.value.SetMapIndex(reflect.ValueOf(name), value)
	}
}

func oneOf(names []string) string { return "`" + strings.Join(names, "`, `") + "`" }
