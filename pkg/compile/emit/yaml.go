package emit

import (
	"strings"
	"unicode"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// AppendYAML appends a map as canonical YAML: keys sorted, two spaces per level, lists at the level of their key, strings plain
// where every YAML parser reads them as strings, text of several lines as a literal block. The same value always gives the same
// bytes.
func AppendYAML(out []byte, root *object.Node) []byte { return appendMap(out, root, 0) }

func appendMap(out []byte, m *object.Node, depth int) []byte {
	for i := range m.Children {
		child := &m.Children[i]
		if i > 0 {
			out = appendIndent(out, depth)
		}
		out = appendString(out, child.Key)
		out = append(out, ':')
		out = appendAfterKey(out, child, depth)
	}
	return out
}

func appendAfterKey(out []byte, value *object.Node, depth int) []byte {
	switch {
	case value.Leaf():
		out = append(out, ' ')
		return appendScalar(out, value, depth+1)
	case value.Kind == object.MapNode:
		out = append(out, '\n')
		out = appendIndent(out, depth+1)
		return appendMap(out, value, depth+1)
	}
	out = append(out, '\n')
	return appendList(out, value, depth)
}

func appendList(out []byte, list *object.Node, depth int) []byte {
	for i := range list.Children {
		item := &list.Children[i]
		out = appendIndent(out, depth)
		out = append(out, "- "...)
		switch {
		case item.Leaf():
			out = appendScalar(out, item, depth+1)
		case item.Kind == object.MapNode:
			out = appendMap(out, item, depth+1)
		default:
			out = append(out, '\n')
			out = appendList(out, item, depth+1)
		}
	}
	return out
}

func appendIndent(out []byte, depth int) []byte {
	for range depth {
		out = append(out, "  "...)
	}
	return out
}

// appendScalar writes what fits one value, empty collections included, and the end of the line.
func appendScalar(out []byte, value *object.Node, depth int) []byte {
	switch value.Kind {
	case object.MapNode:
		out = append(out, "{}"...)
	case object.ListNode:
		out = append(out, "[]"...)
	case object.TextNode:
		if isBlock(value.Text) {
			return appendBlock(out, value.Text, depth)
		}
		out = appendString(out, value.Text)
	case object.NumberNode, object.BoolNode:
		out = append(out, value.Text...)
	default:
		out = append(out, "null"...)
	}
	return append(out, '\n')
}

func appendString(out []byte, s string) []byte {
	if isAmount(s) || isPlainWord(s) && !hasYAMLMeaning(s) {
		return append(out, s...)
	}
	return appendQuoted(out, s)
}

// The classes of bytes in strings without quotes: letters, digits, and signs that are special nowhere.
const (
	letter = 1 << iota
	digit
	sign
)

var classes = func() (table [256]uint8) {
	for c := 'a'; c <= 'z'; c++ {
		table[c], table[c-'a'+'A'] = letter, letter
	}
	for c := '0'; c <= '9'; c++ {
		table[c] = digit
	}
	for _, c := range "_/.@+=,$()<>*!?&;'-" {
		table[c] = sign
	}
	return table
}()

// isPlainWord reports whether a string needs no quotes unless YAML has a meaning for it: it begins with a letter, `/` or `_`, and holds
// no character that is special anywhere. A colon or a space counts as special where another or the end follows.
func isPlainWord(s string) bool {
	if s == "" || classes[s[0]] != letter && s[0] != '/' && s[0] != '_' {
		return false
	}
	for i := 1; i < len(s); i++ {
		if classes[s[i]] != 0 {
			continue
		}
		if s[i] != ':' && s[i] != ' ' {
			return false
		}
		if i++; i == len(s) || classes[s[i]] == 0 {
			return false
		}
	}
	return true
}

// isAmount reports whether a string is a quantity of Kubernetes with a unit, the only string beginning with a digit that is written
// without quotes.
func isAmount(s string) bool {
	rest := afterDigits(s)
	if len(rest) == len(s) {
		return false
	}
	if rest != "" && rest[0] == '.' {
		whole := rest[1:]
		if rest = afterDigits(whole); len(rest) == len(whole) {
			return false
		}
	}
	switch rest {
	case "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti":
		return true
	}
	return false
}

func afterDigits(s string) string {
	for i := range len(s) {
		if classes[s[i]] != digit {
			return s[i:]
		}
	}
	return ""
}

// meanings are the words to which YAML 1.1 or 1.2 gives a type of its own, in whatever case.
var meanings = [...]string{"y", "n", "no", "on", "yes", "off", "true", "null", "false"}

func hasYAMLMeaning(s string) bool {
	if len(s) > len("false") {
		return false
	}
	for _, word := range meanings {
		if len(word) == len(s) && strings.EqualFold(word, s) {
			return true
		}
	}
	return false
}

// appendQuoted writes a double-quoted string. JSON's is one in YAML, apart from characters that YAML does not print.
func appendQuoted(out []byte, s string) []byte {
	out = append(out, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r == '\n':
			out = append(out, `\n`...)
		case r == '\t':
			out = append(out, `\t`...)
		case r == ' ' || unicode.IsPrint(r):
			out = append(out, string(r)...)
		case r <= 0xffff:
			out = appendHex(append(out, `\u`...), r, 4)
		default:
			out = appendHex(append(out, `\U`...), r, 8)
		}
	}
	return append(out, '"')
}

func appendHex(out []byte, r rune, digits int) []byte {
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		out = append(out, "0123456789abcdef"[r>>shift&0xf])
	}
	return out
}

// isBlock reports whether a string reads best as a literal block: several lines, none that a block could not hold.
func isBlock(s string) bool {
	if end := strings.IndexByte(s, '\n'); end < 0 || end == len(s)-1 || s[0] == '\n' || s[0] == ' ' || strings.HasSuffix(s, "\n\n") {
		return false
	}
	for line := range strings.SplitSeq(s, "\n") {
		if strings.TrimRight(line, " \t") != line || strings.HasPrefix(line, "\t") {
			return false
		}
	}
	return strings.IndexFunc(s, func(r rune) bool { return r != '\n' && r != '\t' && r != ' ' && !unicode.IsPrint(r) }) < 0
}

func appendBlock(out []byte, s string, depth int) []byte {
	if strings.HasSuffix(s, "\n") {
		out = append(out, "|\n"...)
	} else {
		out = append(out, "|-\n"...)
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n") {
		if line != "" {
			out = appendIndent(out, depth)
			out = append(out, line...)
		}
		out = append(out, '\n')
	}
	return out
}
