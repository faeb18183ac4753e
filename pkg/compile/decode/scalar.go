package decode

import (
	"errors"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/source"
)

func (d *decoder) scalar(node *yaml.Node, t target) {
	switch t.value.Kind() {
	case reflect.String:
		d.text(node, t)
	case reflect.Bool:
		d.boolean(node, t)
	default:
		d.integer(node, t)
	}
}

func (d *decoder) text(node *yaml.Node, t target) {
	if node.Kind != yaml.ScalarNode || node.ShortTag() != "!!str" {
		report := d.wrongType(node, t, "a string")
		switch {
		case len(t.rule.enum) > 0:
			report.Helpf("allowed are %s", oneOf(t.rule.enum))
		case node.Kind == yaml.ScalarNode:
			report.Helpf("write it in quotes: %q", node.Value)
		}
		return
	}
	t.value.SetString(node.Value)
	d.checkText(spanOf(d.file, node), node.Value, t)
}

func (d *decoder) checkText(span source.Span, text string, t target) {
	switch {
	case text == "" && !t.rule.required:
	case text == "":
		d.list.Errorf(diag.BadFormat, span, "`%s` must not be empty", t.name)
	case len(t.rule.enum) > 0 && !slices.Contains(t.rule.enum, text):
		d.list.Errorf(diag.NotAllowed, span, "`%s` is not allowed for `%s`: allowed are %s", text, t.name, oneOf(t.rule.enum)).
			Suggest(text, t.rule.enum)
	case t.rule.format != "" && !formats[t.rule.format].valid(text):
		d.list.Errorf(diag.BadFormat, span, "`%s` in `%s` must be %s", text, t.name, formats[t.rule.format].allowed)
	}
}

func (d *decoder) boolean(node *yaml.Node, t target) {
	if node.Kind != yaml.ScalarNode || node.ShortTag() != "!!bool" {
		d.wrongType(node, t, "true or false")
		return
	}
	var value bool
	if node.Decode(&value) == nil {
		t.value.SetBool(value)
	}
}

// digits is a whole number, also where it is so large that YAML reads it as a float.
var digits = regexp.MustCompile(`^[-+]?[0-9]+$`)

func (d *decoder) integer(node *yaml.Node, t target) {
	if node.Kind != yaml.ScalarNode || node.ShortTag() != "!!int" && !digits.MatchString(node.Value) {
		d.wrongType(node, t, "a whole number")
		return
	}
	var value int64
	if err := node.Decode(&value); err != nil || t.value.OverflowInt(value) {
		d.list.Errorf(diag.OutOfRange, spanOf(d.file, node), "`%s` is too large for `%s`", node.Value, t.name)
		return
	}
	t.value.SetInt(value)
	d.checkNumber(node, *resource.NewQuantity(value, resource.DecimalSI), t)
}

// intOrString takes a number in the range of the rule or one of its words.
func (d *decoder) intOrString(node *yaml.Node, t target) {
	if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!str" && slices.Contains(t.rule.enum, node.Value) {
		t.value.Set(reflect.ValueOf(intstr.FromString(node.Value)))
		return
	}
	if node.Kind != yaml.ScalarNode || node.ShortTag() != "!!int" {
		d.wrongType(node, t, "a whole number or "+oneOf(t.rule.enum))
		return
	}
	var value int32
	if err := node.Decode(&value); err != nil {
		d.list.Errorf(diag.OutOfRange, spanOf(d.file, node), "`%s` is too large for `%s`", node.Value, t.name)
		return
	}
	t.value.Set(reflect.ValueOf(intstr.FromInt32(value)))
	d.checkNumber(node, *resource.NewQuantity(int64(value), resource.DecimalSI), t)
}

// amount bounds what ParseQuantity gets: a huge exponent would make it compute for minutes.
var amount = regexp.MustCompile(`^[+-]?[0-9]{1,18}(\.[0-9]{1,9})?([eE][+-]?[0-9]{1,2}|[A-Za-z]{0,2})$`)

var errNotAnAmount = errors.New("not an amount")

func (d *decoder) quantity(node *yaml.Node, t target) {
	if node.Kind != yaml.ScalarNode || node.ShortTag() == "!!bool" || node.ShortTag() == "!!timestamp" {
		d.wrongType(node, t, "an amount such as `500m`, `2` or `16Gi`")
		return
	}
	var value resource.Quantity
	err := errNotAnAmount
	if amount.MatchString(node.Value) {
		value, err = resource.ParseQuantity(node.Value)
	}
	if err != nil {
		d.list.Errorf(diag.BadFormat, spanOf(d.file, node), "`%s` in `%s` is not an amount such as `500m`, `2` or `16Gi`", node.Value, t.name)
		return
	}
	t.value.Set(reflect.ValueOf(value))
	d.checkNumber(node, value, t)
}

// leastMemory is the least amount that the rule of a memory field has. Less is a forgotten or mistaken unit.
const leastMemory = "1Mi"

func (d *decoder) checkNumber(node *yaml.Node, value resource.Quantity, t target) {
	span := spanOf(d.file, node)
	switch r := t.rule; {
	case r.minimum != "" && value.Cmp(resource.MustParse(r.minimum)) < 0:
		report := d.list.Errorf(diag.OutOfRange, span, "`%s` is too small for `%s`: %s", node.Value, t.name, r.bounds())
		if number := strings.TrimSuffix(node.Value, "m"); r.minimum == leastMemory && digits.MatchString(number) && value.Sign() > 0 {
			report.Notef("`m` is a thousandth, and without unit an amount is in bytes").Helpf("did you mean `%sMi`?", number)
		}
	case r.maximum != "" && value.Cmp(resource.MustParse(r.maximum)) > 0:
		d.list.Errorf(diag.OutOfRange, span, "`%s` is too large for `%s`: %s", node.Value, t.name, r.bounds())
	}
}

func (r rule) bounds() string {
	if r.maximum == "" {
		return "at least " + r.minimum + " is allowed"
	}
	return r.minimum + " to " + r.maximum + " are allowed"
}

// freeForm fills a map whose keys are not ours to judge, such as the values of a chart.
func (d *decoder) freeForm(node *yaml.Node, t target) {
	if node.Kind != yaml.MappingNode {
		d.wrongType(node, t, "a mapping")
		return
	}
	t.value.Set(reflect.ValueOf(d.plain(node)))
}

// plain returns a node as Go values. Dates stay text, because YAML's dates are no JSON.
func (d *decoder) plain(node *yaml.Node) any {
	node = follow(node)
	switch node.Kind {
	case yaml.MappingNode:
		keys := d.keys(node)
		values := map[string]any{}
		for _, name := range keys.order {
			values[name] = d.plain(keys.entries[name].value)
		}
		return values
	case yaml.SequenceNode:
		items := make([]any, len(node.Content))
		for i, child := range node.Content {
			items[i] = d.plain(child)
		}
		return items
	}
	return d.plainScalar(node)
}

func (d *decoder) plainScalar(node *yaml.Node) any {
	if node.ShortTag() == "!!timestamp" || node.ShortTag() == "!!str" {
		return node.Value
	}
	var value any
	err := node.Decode(&value)
	number, isFloat := value.(float64)
	if err != nil || isFloat && (math.IsNaN(number) || math.IsInf(number, 0)) {
		d.list.Errorf(diag.WrongType, spanOf(d.file, node), "%s cannot be written as JSON", describe(node)).
			Helpf("write it in quotes: %s", strconv.Quote(node.Value))
		return nil
	}
	return value
}

// describe names what a node is, for `must be X, not Y`.
func describe(node *yaml.Node) string {
	switch node.ShortTag() {
	case "!!map":
		return "a mapping"
	case "!!seq":
		return "a list"
	case "!!int", "!!float":
		return "the number `" + node.Value + "`"
	case "!!bool":
		return "the boolean `" + node.Value + "`"
	case "!!timestamp":
		return "the date `" + node.Value + "`"
	case "!!null":
		return "nothing"
	}
	return "the string `" + node.Value + "`"
}
