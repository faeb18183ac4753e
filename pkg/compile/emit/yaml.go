package emit

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// EncodeYAML writes JSON values as canonical YAML: keys sorted, two spaces per level, lists at the level of their key, strings
// plain where every YAML parser reads them as strings, text of several lines as a literal block. The same value always gives
// the same bytes. Values may be maps, slices, strings, json.Number, int64, float64, booleans and nil.
func EncodeYAML(value map[string]any) []byte {
	var b strings.Builder
	encodeMap(&b, value, 0)
	return []byte(b.String())
}

func encodeMap(b *strings.Builder, m map[string]any, depth int) {
	for i, key := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			indent(b, depth)
		}
		encodeString(b, key)
		b.WriteString(":")
		encodeAfterKey(b, m[key], depth)
	}
}

func encodeAfterKey(b *strings.Builder, value any, depth int) {
	switch value := value.(type) {
	case map[string]any:
		if len(value) > 0 {
			b.WriteString("\n")
			indent(b, depth+1)
			encodeMap(b, value, depth+1)
			return
		}
	case []any:
		if len(value) > 0 {
			b.WriteString("\n")
			encodeList(b, value, depth)
			return
		}
	}
	b.WriteString(" ")
	encodeScalar(b, value, depth+1)
}

func encodeList(b *strings.Builder, list []any, depth int) {
	for _, item := range list {
		indent(b, depth)
		b.WriteString("- ")
		switch item := item.(type) {
		case map[string]any:
			if len(item) > 0 {
				encodeMap(b, item, depth+1)
				continue
			}
		case []any:
			if len(item) > 0 {
				b.WriteString("\n")
				encodeList(b, item, depth+1)
				continue
			}
		}
		encodeScalar(b, item, depth+1)
	}
}

func indent(b *strings.Builder, depth int) {
	for range depth {
		b.WriteString("  ")
	}
}

// encodeScalar writes what fits one value, empty collections included, and the end of the line.
func encodeScalar(b *strings.Builder, value any, depth int) {
	switch value := value.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(value))
	case json.Number:
		b.WriteString(value.String())
	case string:
		if isBlock(value) {
			encodeBlock(b, value, depth)
			return
		}
		encodeString(b, value)
	case map[string]any:
		b.WriteString("{}")
	case []any:
		b.WriteString("[]")
	default:
		fmt.Fprint(b, value)
	}
	b.WriteString("\n")
}

// word is a string that needs no quotes unless YAML has a meaning for it: it begins with a letter, `/` or `_`, and holds no
// character that is special anywhere. A colon or a space counts as special where another or the end follows.
var word = regexp.MustCompile(`^[A-Za-z_/](?:[A-Za-z0-9_./@+=,$()<>*!?&;'-]|:[A-Za-z0-9_./@+=,$()<>*!?&;'-]| [A-Za-z0-9_./@+=,$()<>*!?&;'-])*$`)

// amount is a quantity of Kubernetes, the only string beginning with a digit that is written without quotes.
var amount = regexp.MustCompile(`^[0-9]+(?:\.[0-9]+)?(?:m|k|M|G|T|Ki|Mi|Gi|Ti)$`)

// meaning lists the words to which YAML 1.1 or 1.2 gives a type of its own.
var meaning = regexp.MustCompile(`^(?i:y|n|yes|no|on|off|true|false|null)$`)

func encodeString(b *strings.Builder, s string) {
	if amount.MatchString(s) || word.MatchString(s) && !meaning.MatchString(s) {
		b.WriteString(s)
		return
	}
	b.WriteString(quote(s))
}

// quote writes a double-quoted string. JSON's is one in YAML, apart from characters that YAML does not print.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == ' ' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// isBlock says whether a string reads best as a literal block: several lines, none that a block could not hold.
func isBlock(s string) bool {
	if !strings.Contains(strings.TrimSuffix(s, "\n"), "\n") || s[0] == '\n' || s[0] == ' ' || strings.HasSuffix(s, "\n\n") {
		return false
	}
	for _, line := range strings.Split(s, "\n") {
		if strings.TrimRight(line, " \t") != line || strings.HasPrefix(line, "\t") {
			return false
		}
	}
	return strings.IndexFunc(s, func(r rune) bool { return r != '\n' && r != '\t' && r != ' ' && !unicode.IsPrint(r) }) < 0
}

func encodeBlock(b *strings.Builder, s string, depth int) {
	if strings.HasSuffix(s, "\n") {
		b.WriteString("|\n")
	} else {
		b.WriteString("|-\n")
	}
	for _, line := range strings.Split(strings.TrimSuffix(s, "\n"), "\n") {
		if line != "" {
			indent(b, depth)
			b.WriteString(line)
		}
		b.WriteString("\n")
	}
}
