package decode

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"lockstep.dev/lockstep/pkg/compile/decode/syntax"
	"lockstep.dev/lockstep/pkg/compile/diag"
)

func (d *decoder) decodeScalar(node *syntax.Node, t decodeTarget) {
	switch t.value.Kind() {
	case reflect.String:
		d.decodeText(node, t)
	case reflect.Bool:
		d.decodeBool(node, t)
	default:
		d.decodeInteger(node, t)
	}
}

func (d *decoder) decodeText(node *syntax.Node, t decodeTarget) {
	// A date needs no quotes where a date is wanted.
	isDate := node.Tag == syntax.Timestamp && t.rule.format == "date"
	if node.Kind != syntax.Scalar || node.Tag != syntax.String && !isDate {
		report := d.reportWrongType(node, t, "a string")
		switch {
		case len(t.rule.enum) > 0:
			report.Helpf("allowed are %s", quotedNames(t.rule.enum))
		case node.Kind == syntax.Scalar && t.rule.format == "duration":
			report.Helpf("add the unit: `%ss`, `%sm` or `%sh`", node.Value, node.Value, node.Value)
		case node.Kind == syntax.Scalar:
			report.OfferLiteral(node.Value, strconv.Quote(node.Value)).Helpf("write it in quotes: %q", node.Value)
		default:
			singleItemHint(report, node, t.name)
		}
		return
	}
	t.value.SetString(node.Value)
	d.checkText(node.At, node.Value, t)
}

func (d *decoder) checkText(at syntax.Place, text string, t decodeTarget) {
	switch {
	case text == "" && !t.rule.required && t.rule.allowsEmptyString():
	case text == "":
		report := d.errorf(diag.BadFormat, at, "`%s` must not be empty", t.name)
		if !t.rule.required {
			report.Helpf("leave the key out")
		}
	case !t.rule.allows(text):
		report := d.errorf(diag.NotAllowed, at, "`%s` is not allowed for `%s`: allowed are %s", shortenQuoted(text), t.name, quotedNames(t.rule.enum))
		if meant, found := intendedEnumValue(text, t.rule.enum); found {
			report.Meant(text, meant)
		}
		lookalikeHint(report, text)
	case t.rule.format != "" && !formats[t.rule.format].valid(text):
		d.reportBadFormat(at, text, t)
	}
}

// maxQuoted is how much of a value a message repeats, in characters. The place of the finding shows the rest.
const maxQuoted = 100

func shortenQuoted(text string) string {
	if characters := []rune(text); len(characters) > maxQuoted {
		return string(characters[:maxQuoted]) + "…"
	}
	return text
}

func (d *decoder) decodeBool(node *syntax.Node, t decodeTarget) {
	if node.Kind != syntax.Scalar || node.Tag != syntax.Bool {
		report := d.reportWrongType(node, t, "true or false")
		if meant, found := booleanWords[strings.ToLower(asciiOf(node.Value))]; found && node.Kind == syntax.Scalar {
			report.SuggestWriting(node.Value, meant)
		}
		return
	}
	t.value.SetBool(strings.EqualFold(node.Value, "true"))
}

// isDecimal reports whether text is a whole number that every reader of YAML understands: decimal, without leading zeros or underscores.
func isDecimal(text string) bool {
	rest := strings.TrimLeft(text, "+-")
	return len(text)-len(rest) <= 1 && digitsOnly(rest) && (rest == "0" || rest[0] != '0')
}

func digitsOnly(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return text != ""
}

// parseWholeNumber returns the value of a node that is a decimal number and fits into bits, or reports what is wrong.
func (d *decoder) parseWholeNumber(node *syntax.Node, t decodeTarget, want string, bits int) (int64, bool) {
	switch {
	case node.Kind != syntax.Scalar || node.Tag == syntax.String || node.Tag != syntax.Int && !isDecimal(node.Value):
		report := d.reportWrongType(node, t, want)
		if node.Kind != syntax.Scalar {
			singleItemHint(report, node, t.name)
		} else if meant := intendedNumber(node.Value, t.name); meant != "" {
			report.SuggestWriting(node.Value, meant)
		}
		return 0, false
	case !isDecimal(node.Value):
		d.reportAmbiguousNumber(node)
		return 0, false
	}
	value, err := strconv.ParseInt(node.Value, 10, bits)
	if err != nil {
		d.errorf(diag.OutOfRange, node.At, "`%s` is too large for `%s`", node.Value, t.name)
		return 0, false
	}
	return value, true
}

// reportAmbiguousNumber reports a number such as 010 or 1_000, of which readers of YAML 1.1 and of YAML 1.2 make different values.
func (d *decoder) reportAmbiguousNumber(node *syntax.Node) {
	d.errorf(diag.WrongType, node.At, "the number `%s` means different values to different readers of YAML", node.Value).
		Helpf("write it in decimal digits without leading zeros, or as a string in quotes")
}

func (d *decoder) decodeInteger(node *syntax.Node, t decodeTarget) {
	value, ok := d.parseWholeNumber(node, t, "a whole number", t.value.Type().Bits())
	if !ok {
		return
	}
	t.value.SetInt(value)
	d.checkNumber(node, resource.NewQuantity(value, resource.DecimalSI), t)
}

// decodeIntOrString takes a number in the range of the rule or one of its words.
func (d *decoder) decodeIntOrString(node *syntax.Node, t decodeTarget) {
	if node.Kind == syntax.Scalar && node.Tag == syntax.String && slices.Contains(t.rule.enum, node.Value) {
		*pointerAs[intstr.IntOrString](t.value) = intstr.FromString(node.Value)
		return
	}
	value, ok := d.parseWholeNumber(node, t, "a whole number or "+quotedNames(t.rule.enum), 32)
	if !ok {
		return
	}
	*pointerAs[intstr.IntOrString](t.value) = intstr.FromInt32(int32(value))
	d.checkNumber(node, resource.NewQuantity(value, resource.DecimalSI), t)
}

var errNotAnAmount = errors.New("not an amount")

func (d *decoder) decodeQuantity(node *syntax.Node, t decodeTarget) {
	if node.Kind != syntax.Scalar || node.Tag == syntax.Bool || node.Tag == syntax.Timestamp {
		singleItemHint(d.reportWrongType(node, t, "an amount such as `500m`, `2` or `16Gi`"), node, t.name)
		return
	}
	var value resource.Quantity
	err := errNotAnAmount
	if isAmount(node.Value) {
		value, err = resource.ParseQuantity(node.Value)
	}
	if err != nil {
		report := d.errorf(diag.BadFormat, node.At, "`%s` in `%s` is not an amount such as `500m`, `2` or `16Gi`", node.Value, t.name)
		if meant := intendedAmount(node.Value); meant != "" {
			report.Meant(node.Value, meant)
		} else {
			lookalikeHint(report, node.Value)
		}
		return
	}
	*pointerAs[resource.Quantity](t.value) = value
	d.checkNumber(node, &value, t)
}

// isAmount bounds what ParseQuantity gets, because a huge exponent would make it compute for minutes: a sign, up to 18 digits, up to
// 9 decimals, and a unit of up to 2 letters or an exponent of up to 2 digits.
func isAmount(text string) bool {
	text = strings.TrimPrefix(strings.TrimPrefix(text, "+"), "-")
	whole := leadingDigits(text)
	text = text[whole:]
	if whole < 1 || whole > 18 {
		return false
	}
	if strings.HasPrefix(text, ".") {
		decimals := leadingDigits(text[1:])
		if decimals < 1 || decimals > 9 {
			return false
		}
		text = text[1+decimals:]
	}
	return isUnit(text)
}

func isUnit(text string) bool {
	if len(text) > 0 && (text[0] == 'e' || text[0] == 'E') {
		exponent := strings.TrimLeft(text[1:], "+-")
		if n := len(exponent); n >= 1 && n <= 2 && len(text)-n <= 2 && digitsOnly(exponent) {
			return true
		}
	}
	for i := range len(text) {
		if letter := text[i] | 0x20; letter < 'a' || letter > 'z' {
			return false
		}
	}
	return len(text) <= 2
}

func leadingDigits(text string) int {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return n
}

// leastMemory is the least amount that the rule of a memory field has. Less is a forgotten or mistaken unit.
const leastMemory = "1Mi"

func (d *decoder) checkNumber(node *syntax.Node, value *resource.Quantity, t decodeTarget) {
	switch r := t.rule; {
	case r.minimum != nil && value.Cmp(*r.minimum) < 0:
		report := d.errorf(diag.OutOfRange, node.At, "`%s` is too small for `%s`: %s", node.Value, t.name, r.boundsText())
		if number := strings.TrimSuffix(node.Value, "m"); r.least == leastMemory && digitsOnly(number) && value.Sign() > 0 {
			report.Notef("`m` is a thousandth, and without unit an amount is in bytes").Meant(node.Value, number+"Mi")
		}
	case r.maximum != nil && value.Cmp(*r.maximum) > 0:
		d.errorf(diag.OutOfRange, node.At, "`%s` is too large for `%s`: %s", node.Value, t.name, r.boundsText())
	}
}

// decodeFreeForm fills a map whose keys are not ours to judge, such as the values of a chart.
func (d *decoder) decodeFreeForm(node *syntax.Node, t decodeTarget) {
	if node.Kind != syntax.Mapping {
		d.reportWrongType(node, t, "a mapping")
		return
	}
	t.value.Set(reflect.ValueOf(d.plainValue(node)))
	for _, key := range d.uniqueKeys(node) {
		d.rememberEntry(t, key)
		d.rememberBelow(t, "/"+escapePointer(key.Value), key.Next)
	}
}

// rememberBelow notes the places of what a value of a free form holds, by JSON pointers.
func (d *decoder) rememberBelow(t decodeTarget, path string, node *syntax.Node) {
	field := t.value.Addr().Interface()
	note := func(name string, key, value *syntax.Node) {
		d.entries = append(d.entries, entryPlace{field: field, name: path + "/" + name, key: key.At, value: value.At})
		d.rememberBelow(t, path+"/"+name, value)
	}
	switch node.Kind {
	case syntax.Mapping:
		for _, key := range d.uniqueKeys(node) {
			note(escapePointer(key.Value), key, key.Next)
		}
	case syntax.Sequence:
		i := 0
		for item := node.First; item != nil; item = item.Next {
			note(strconv.Itoa(i), item, item)
			i++
		}
	}
}

// escapePointer returns a key as a part of a JSON pointer.
func escapePointer(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }

// uniqueKeys returns the keys of a mapping whose duplicates were reported already.
func (d *decoder) uniqueKeys(node *syntax.Node) []*syntax.Node {
	var keys nodesByText
	for key := node.First; key != nil; key = key.Next.Next {
		keys.insert(key)
	}
	return keys.order
}

// plainValue returns a node as Go values. Dates stay text, because YAML's dates are not JSON.
func (d *decoder) plainValue(node *syntax.Node) any {
	node = node.Follow()
	switch node.Kind {
	case syntax.Mapping:
		values := map[string]any{}
		for _, key := range d.mappingKeys(node) {
			values[key.Value] = d.plainValue(key.Next)
		}
		return values
	case syntax.Sequence:
		items := make([]any, 0, node.Len())
		for child := node.First; child != nil; child = child.Next {
			items = append(items, d.plainValue(child))
		}
		return items
	}
	return d.plainScalar(node)
}

func (d *decoder) plainScalar(node *syntax.Node) any {
	switch node.Tag {
	case syntax.String, syntax.Timestamp:
		return node.Value
	case syntax.Null:
		return nil
	case syntax.Bool:
		return strings.EqualFold(node.Value, "true")
	case syntax.Int:
		if !isDecimal(node.Value) {
			d.reportAmbiguousNumber(node)
			return nil
		}
		if value, err := strconv.Atoi(node.Value); err == nil {
			return value
		}
	}
	return d.plainFloat(node)
}

func (d *decoder) plainFloat(node *syntax.Node) any {
	value, err := strconv.ParseFloat(node.Value, 64)
	if err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
		d.errorf(diag.WrongType, node.At, "%s cannot be written as JSON", describeNode(node)).
			Helpf("write it in quotes: %s", strconv.Quote(node.Value))
		return nil
	}
	return value
}

// describeNode names what a node is, for `must be X, not Y`.
func describeNode(node *syntax.Node) string {
	switch node.Follow().Tag {
	case syntax.Map:
		return "a mapping"
	case syntax.List:
		return "a list"
	case syntax.Int, syntax.Float:
		return "the number `" + node.Value + "`"
	case syntax.Bool:
		return "the boolean `" + node.Value + "`"
	case syntax.Timestamp:
		return "the date `" + node.Value + "`"
	case syntax.Null:
		return "nothing"
	}
	return "the string `" + node.Value + "`"
}
