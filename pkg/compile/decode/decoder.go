package decode

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"lockstep.dev/lockstep/pkg/compile/decode/syntax"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// decoder fills the specs of one file. Its methods report mistakes and go on; bounded has made sure that recursion ends.
type decoder struct {
	file *source.File
	list *diag.List
	// paths are those of computed values.
	paths   []string
	places  []fieldPlace
	entries []entryPlace
	// changes are the origins of what a patch wrote.
	changes []*origin.Origin
	// kind is the type of the document in work, twice its root if a second document follows without separator.
	kind  reflect.Type
	twice *syntax.Node
	// fallback is the key around a default while one is set; its Line is 0 otherwise.
	fallback syntax.Place
}

// decodeTarget is a value to fill: where it is, what it is called in messages, and the rules that hold.
type decodeTarget struct {
	value reflect.Value
	name  string
	key   syntax.Place
	rule  *fieldRule
}

const documentName = "the document"

var noRule = parseRule("")

func (d *decoder) decodeSpec(node *syntax.Node, spec any) {
	t := decodeTarget{value: reflect.ValueOf(spec).Elem(), name: documentName, key: node.At, rule: noRule}
	d.kind = t.value.Type()
	d.rememberPlace(t, node.At)
	d.decodeStruct(node, t)
}

func (d *decoder) errorf(code diag.Code, at syntax.Place, format string, args ...any) *diag.Diagnostic {
	report := d.list.Errorf(code, d.span(at), format, args...)
	if at.Path > 0 {
		report.Notef("the program computes `%s`", d.paths[at.Path-1])
	}
	return report
}

func (d *decoder) span(at syntax.Place) source.Span {
	if from := patchOrigin(d.changes, at); from != nil {
		return from.At
	}
	return at.In(d.file)
}

// rememberPlace notes where a value is written. What has no address, such as the value of a map, is found through its map.
func (d *decoder) rememberPlace(t decodeTarget, value syntax.Place) {
	if !t.value.CanAddr() {
		return
	}
	p := fieldSpans{written: true, key: t.key, value: value}
	if d.fallback.Line > 0 {
		p.written, p.key, p.value = false, d.fallback, d.fallback
	}
	d.places = append(d.places, fieldPlace{t.value.Addr().Interface(), p})
}

var (
	quantityType    = reflect.TypeFor[resource.Quantity]()
	intOrStringType = reflect.TypeFor[intstr.IntOrString]()
	anyMapType      = reflect.TypeFor[map[string]any]()
)

// pointerAs returns the value as a variable of a type that the caller knows it to have. reflect.Value.Set would allocate.
func pointerAs[T any](value reflect.Value) *T { return value.Addr().Interface().(*T) }

// decode fills a target from a node according to its Go type.
func (d *decoder) decode(node *syntax.Node, t decodeTarget) {
	node = node.Follow()
	if node.Tag == syntax.Null {
		d.reportNoValue(t)
		return
	}
	d.rememberPlace(t, node.At)
	switch t.value.Kind() {
	case reflect.Pointer:
		t.value.Set(reflect.New(t.value.Type().Elem()))
		t.value = t.value.Elem()
		d.decode(node, t)
	case reflect.Struct:
		switch t.value.Type() {
		case quantityType:
			d.decodeQuantity(node, t)
		case intOrStringType:
			d.decodeIntOrString(node, t)
		default:
			d.decodeMapping(node, t)
		}
	case reflect.Slice:
		d.decodeSlice(node, t)
	case reflect.Map:
		if t.value.Type() == anyMapType {
			d.decodeFreeForm(node, t)
			return
		}
		d.decodeStringMap(node, t)
	default:
		d.decodeScalar(node, t)
	}
}

func (d *decoder) reportNoValue(t decodeTarget) {
	d.rememberPlace(t, t.key)
	if t.rule.required {
		report := d.errorf(diag.MissingKey, t.key, "`%s` is required and has no value", t.name)
		if t.value.Kind() == reflect.Struct && t.value.Type() != quantityType && t.value.Type() != intOrStringType {
			report.Helpf("write its keys below it, indented deeper: %s", quotedNames(structFieldsOf(t.value.Type()).names()))
		} else {
			report.Helpf("give it a value")
		}
		return
	}
	d.errorf(diag.WrongType, t.key, "`%s` has no value", t.name).Helpf("give it a value, or remove the key")
}

func (d *decoder) reportWrongType(node *syntax.Node, t decodeTarget, want string) *diag.Diagnostic {
	return d.errorf(diag.WrongType, node.At, "`%s` must be %s, not %s", t.name, want, describeNode(node))
}

// keyAndValue is a key and its value.
type keyAndValue struct {
	key, value *syntax.Node
}

// decodeMapping fills a struct from a mapping, or from the text that may stand for it; such a mapping has one key.
func (d *decoder) decodeMapping(node *syntax.Node, t decodeTarget) {
	short := structFieldsOf(t.value.Type()).shorthand()
	switch {
	case short == nil:
		d.decodeStruct(node, t)
	case node.Kind == syntax.Mapping:
		d.decodeStruct(node, t)
		if keys := structFieldsOf(t.value.Type()).names(); node.First == nil || node.First.Next.Next != nil {
			d.errorf(diag.WrongType, node.At, "an item of `%s` has one key, not %d", t.name, node.Len()/2).
				Helpf("write one of %s; list more as items of their own", quotedNames(keys))
		}
	default:
		rule := *short.rule
		rule.required = true
		inner := decodeTarget{value: t.value.FieldByIndex(short.index), name: t.name, key: t.key, rule: &rule}
		d.rememberPlace(inner, node.At)
		d.decodeScalar(node, inner)
	}
}

// decodeStruct fills a struct from a mapping: known keys first, then what is missing.
func (d *decoder) decodeStruct(node *syntax.Node, t decodeTarget) {
	if node.Kind != syntax.Mapping {
		d.reportNotMapping(node, t)
		return
	}
	s := structFieldsOf(t.value.Type())
	var room [40]keyAndValue // nearly always enough, and on the stack
	found := room[:]
	if len(s.fields) > len(room) {
		found = make([]keyAndValue, len(s.fields))
	}
	excused := d.sortEntries(node, s, found)
	for i, f := range s.fields {
		inner := decodeTarget{value: t.value.FieldByIndex(f.index), name: f.name, key: t.key, rule: f.rule}
		switch {
		case found[i].key != nil:
			inner.key = found[i].key.At
			d.decode(found[i].value, inner)
		case f.rule.required:
			if !excused[f.name] && !isIndentedTooDeep(node, s, f.name) {
				d.reportMissingKey(t, f)
			}
		default:
			d.setDefaults(inner)
		}
	}
}

// sortEntries puts the entries of a mapping in the order of the fields. It reports duplicates, of which the first counts, and unknown
// keys, and returns the keys that were probably meant by those: they need not be reported as missing.
func (d *decoder) sortEntries(node *syntax.Node, s *structFields, found []keyAndValue) (excused map[string]bool) {
	var unknown nodesByText
	for key := node.First; key != nil; key = key.Next.Next {
		i, known := s.number[key.Value]
		switch {
		case node == d.twice && known && found[i].key != nil:
		case !known:
			if first := unknown.insert(key); first != nil {
				d.reportDuplicateKey(key, first)
			}
		case found[i].key != nil:
			d.reportDuplicateKey(key, found[i].key)
		default:
			found[i] = keyAndValue{key: key, value: key.Next}
		}
	}
	if len(unknown.order) == 0 {
		return nil
	}
	var open []string
	// What a patch misspells is mostly in the spec already.
	fromPatch := unknown.order[0].At.Path < 0
	for i, f := range s.fields {
		if found[i].key == nil || fromPatch {
			open = append(open, f.name)
		}
	}
	return d.reportUnknownKeys(unknown.order, s, open)
}

func (d *decoder) reportDuplicateKey(key, first *syntax.Node) {
	d.errorf(diag.DuplicateKey, key.At, "the key `%s` is there twice", key.Value).
		Also(d.span(first.At), "first here").Helpf("remove one")
}

func (d *decoder) reportUnknownKeys(keys []*syntax.Node, s *structFields, open []string) (excused map[string]bool) {
	excused = map[string]bool{}
	around := "" // the key before without value, whose own keys follow in its column
	for i, key := range keys {
		var where []string
		if i < fewKeys || around != "" && i < maxAround {
			where = pathsWithKey(d.kind, key.Value)
		}
		if around != "" && slices.Contains(where, "`"+around+"`") {
			continue
		}
		if key.Next.Follow().Tag == syntax.Null {
			around = key.Value
		}
		report := d.errorf(diag.UnknownKey, key.At, "unknown key `%s`", key.Value)
		meant, found := diag.Nearest(key.Value, open)
		if !found && len(where) == 0 {
			meant, found = keyOfAbbreviation(key.Value, open)
		}
		if found {
			excused[meant] = true
			report.Meant(key.Value, meant)
			continue
		}
		for _, home := range where {
			excused[strings.Trim(home, "`")] = true // it is there without its own key
		}
		if i < fewKeys {
			d.hintWhereKeyBelongs(report, key.Value, where)
		}
		lookalikeHint(report, key.Value)
		report.Helpf("allowed are %s", quotedNames(s.names()))
	}
	return excused
}

// maxAround is how many keys may follow one whose keys they are; more is more than a kind has.
const maxAround = 100

// nodesByText collects nodes by their text.
type nodesByText struct {
	order []*syntax.Node
	known map[string]*syntax.Node
}

// fewKeys are compared one by one; a map is worth its cost for more.
const fewKeys = 8

// insert returns the node with the same text that is there already, or nil.
func (s *nodesByText) insert(node *syntax.Node) *syntax.Node {
	if first := s.get(node.Value); first != nil {
		return first
	}
	s.order = append(s.order, node)
	if s.known != nil {
		s.known[node.Value] = node
	}
	return nil
}

func (s *nodesByText) get(text string) *syntax.Node {
	if len(s.order) < fewKeys {
		for _, node := range s.order {
			if node.Value == text {
				return node
			}
		}
		return nil
	}
	if s.known == nil {
		s.known = map[string]*syntax.Node{}
		for _, node := range s.order {
			s.known[node.Value] = node
		}
	}
	return s.known[text]
}

// mappingKeys returns the keys of a mapping; of duplicates the first.
func (d *decoder) mappingKeys(node *syntax.Node) []*syntax.Node {
	var keys nodesByText
	for key := node.First; key != nil; key = key.Next.Next {
		if first := keys.insert(key); first != nil {
			d.reportDuplicateKey(key, first)
		}
	}
	return keys.order
}

func (d *decoder) reportMissingKey(t decodeTarget, f structField) {
	owner := "`" + t.name + "`"
	if t.name == documentName {
		owner = t.name
	}
	report := d.errorf(diag.MissingKey, t.key, "%s lacks the required key `%s`", owner, f.name)
	switch allowed, sketch := formats[f.rule.format].allowed, valueSketch(f.of, true); {
	case len(f.rule.enum) > 0:
		report.Helpf("allowed are %s", quotedNames(f.rule.enum))
	case sketch != "…":
		report.Helpf("write `%s: %s`", f.name, sketch)
	case strings.Contains(allowed, "such as"):
		report.Helpf("write %s", allowed)
	}
}

// valueSketch returns the form of a value in YAML. An open one shows its required keys, or all of them if none is.
func valueSketch(t reflect.Type, open bool) string {
	switch {
	case t.Kind() == reflect.Pointer:
		return valueSketch(t.Elem(), open)
	case t.Kind() == reflect.Slice:
		return "[…]"
	case t.Kind() != reflect.Struct || t == quantityType || t == intOrStringType:
		return "…"
	case !open:
		return "{…}"
	}
	fields := structFieldsOf(t).fields
	required := slices.ContainsFunc(fields, func(f structField) bool { return f.rule.required })
	var entries []string
	for _, f := range fields {
		if f.rule.required || !required {
			entries = append(entries, f.name+": "+valueSketch(f.of, false))
		}
	}
	return "{" + strings.Join(entries, ", ") + "}"
}

// setDefaults sets the defaults of a field that was not written, and of all fields below it.
func (d *decoder) setDefaults(t decodeTarget) {
	if t.rule.def == nil && t.value.CanAddr() {
		d.places = append(d.places, fieldPlace{t.value.Addr().Interface(), fieldSpans{absent: true, key: t.key}})
	}
	switch {
	case t.rule.def != nil:
		around := d.fallback
		d.fallback = t.key
		d.decode(t.rule.def, t)
		d.fallback = around
	case t.value.Kind() == reflect.Struct && t.value.Type() != quantityType && t.value.Type() != intOrStringType:
		for _, f := range structFieldsOf(t.value.Type()).fields {
			d.setDefaults(decodeTarget{value: t.value.FieldByIndex(f.index), name: f.name, key: t.key, rule: f.rule})
		}
	}
}

func (d *decoder) decodeSlice(node *syntax.Node, t decodeTarget) {
	if node.Kind != syntax.Sequence {
		d.reportNotList(node, t)
		return
	}
	count := node.Len()
	if count < t.rule.minItems {
		d.errorf(diag.OutOfRange, node.At, "`%s` needs at least %d item", t.name, t.rule.minItems)
	}
	t.value.Set(reflect.MakeSlice(t.value.Type(), count, count))
	i := 0
	for child := node.First; child != nil; child = child.Next {
		d.decode(child, decodeTarget{value: t.value.Index(i), name: t.name, key: child.At, rule: t.rule.item})
		i++
	}
	if t.rule.unique {
		d.reportDuplicateItems(node, t)
	}
}

// reportDuplicateItems reports items that are there twice.
func (d *decoder) reportDuplicateItems(node *syntax.Node, t decodeTarget) {
	var items nodesByText
	for child := node.First; child != nil; child = child.Next {
		item := child.Follow()
		if item.Kind != syntax.Scalar {
			continue
		}
		if first := items.insert(item); first != nil {
			d.errorf(diag.RepeatedItem, child.At, "`%s` is in `%s` twice", item.Value, t.name).
				Also(d.span(first.At), "first here").Helpf("remove one")
		}
	}
}

// decodeStringMap fills a map with string keys.
func (d *decoder) decodeStringMap(node *syntax.Node, t decodeTarget) {
	if node.Kind != syntax.Mapping {
		d.reportWrongType(node, t, "a mapping")
		return
	}
	kind := t.value.Type()
	t.value.Set(reflect.MakeMap(kind))
	keys := d.mappingKeys(node)
	if len(keys) < t.rule.minItems {
		d.errorf(diag.OutOfRange, node.At, "`%s` needs at least %d entry", t.name, t.rule.minItems)
	}
	for _, key := range keys {
		if key.Value == "" {
			d.errorf(diag.BadFormat, key.At, "a key of `%s` must not be empty", t.name)
		} else {
			d.checkText(key.At, key.Value, decodeTarget{name: t.name, rule: t.rule.key})
		}
		value := reflect.New(kind.Elem()).Elem()
		remembered := len(d.places)
		d.decode(key.Next, decodeTarget{value: value, name: key.Value, key: key.At, rule: t.rule.entry})
		d.places = d.places[:remembered] // the value moves into the map
		d.rememberEntry(t, key)
		t.value.SetMapIndex(reflect.ValueOf(key.Value).Convert(kind.Key()), value)
	}
}

func (d *decoder) rememberEntry(t decodeTarget, key *syntax.Node) {
	d.entries = append(d.entries, entryPlace{field: t.value.Addr().Interface(), name: key.Value, key: key.At, value: key.Next.At})
}

func quotedNames(names []string) string { return "`" + strings.Join(names, "`, `") + "`" }
