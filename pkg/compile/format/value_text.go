package format

import (
	"fmt"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"

	"lockstep.dev/lockstep/pkg/compile/decode/syntax"
	"lockstep.dev/lockstep/pkg/compile/source"
)

const (
	quotedStyle = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle
	blockStyle  = yaml.LiteralStyle | yaml.FoldedStyle
)

// valueText returns a value as it stands behind its key or dash, and the lines below of a block scalar.
func valueText(node *yaml.Node) (header string, body []string) {
	if node.Kind == yaml.ScalarNode && node.Style&blockStyle != 0 {
		if header, body, ok := literalBlock(node.Value); ok {
			return header, body
		}
	}
	return flowText(node), nil
}

// flowText returns a value on one line.
func flowText(node *yaml.Node) string {
	switch node.Kind {
	case yaml.AliasNode:
		return "*" + node.Value
	case yaml.SequenceNode:
		var items []string
		for _, item := range node.Content {
			items = append(items, flowItemText(item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case yaml.MappingNode:
		var entries []string
		for i := 0; i+1 < len(node.Content); i += 2 {
			entries = append(entries, strings.TrimSuffix(keyText(node.Content[i])+": "+flowItemText(node.Content[i+1]), " "))
		}
		return "{" + strings.Join(entries, ", ") + "}"
	}
	return scalarText(node, "a: %s\n", func(root *syntax.Node) *syntax.Node { return root.First.Next })
}

func flowItemText(node *yaml.Node) string {
	var text string
	if node.Kind == yaml.ScalarNode {
		text = scalarText(node, "a: [%s]\n", func(root *syntax.Node) *syntax.Node { return root.First.Next.First })
	} else {
		text = flowText(node)
	}
	return strings.TrimPrefix(anchorText(node)+" "+text, " ")
}

// keyText returns a key. Any text is a key, so only what YAML would read otherwise has quotes.
func keyText(key *yaml.Node) string {
	return scalarText(key, "{%s: b}\n", func(root *syntax.Node) *syntax.Node { return root.First })
}

// scalarText returns a scalar, without quotes where the template, read as YAML, then has the same string at the place that pick returns.
func scalarText(node *yaml.Node, template string, pick func(*syntax.Node) *syntax.Node) string {
	if node.ShortTag() != "!!str" {
		return node.Value
	}
	wasPlain := node.Style&(quotedStyle|blockStyle) == 0
	isPlain := isPrintable(node.Value) && (wasPlain || !looksLikeNumber(node.Value))
	if isPlain && readsAsString(fmt.Sprintf(template, node.Value), pick, node.Value) {
		return node.Value
	}
	return quoteText(node.Value)
}

// readsAsString reports whether text has a plain string at a place.
func readsAsString(text string, pick func(*syntax.Node) *syntax.Node, want string) bool {
	var r syntax.Reader
	documents, err := r.YAML(source.NewFile("", []byte(text)))
	if err != nil || len(documents) != 1 || documents[0].First == nil || documents[0].Len() != 2 {
		return false
	}
	node := pick(documents[0])
	alone := node != nil && (node.Next == nil || node == documents[0].First)
	return alone && node.Kind == syntax.Scalar && node.Tag == syntax.String && node.Value == want
}

// looksLikeNumber reports whether readers of YAML 1.1 might take a string for something else: numbers in all their forms, times, and the
// words for booleans.
func looksLikeNumber(text string) bool {
	switch strings.ToLower(text) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", "=", "<<", "":
		return true
	}
	return strings.ContainsRune("0123456789+-.", rune(text[0])) && strings.Trim(text, "0123456789+-.,_:abcdefoxtzABCDEFOXTZ ") == ""
}

func isPrintable(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) })
}

// quoteText returns text in quotes: single ones where that saves escapes.
func quoteText(text string) string {
	if isPrintable(text) && strings.ContainsAny(text, `"\`) {
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range text {
		b.WriteString(escapeRune(c))
	}
	b.WriteByte('"')
	return b.String()
}

func escapeRune(c rune) string {
	switch {
	case c == '"' || c == '\\':
		return `\` + string(c)
	case c == '\n':
		return `\n`
	case c == '\t':
		return `\t`
	case unicode.IsPrint(c):
		return string(c)
	case c <= 0xff:
		return fmt.Sprintf(`\x%02x`, c)
	case c <= 0xffff:
		return fmt.Sprintf(`\u%04x`, c)
	}
	return fmt.Sprintf(`\U%08x`, c)
}

// literalBlock returns text as a literal block scalar, whose lines are those of the text.
func literalBlock(text string) (header string, body []string, ok bool) {
	header = "|"
	content := strings.TrimRight(text, "\n")
	if content == "" || strings.ContainsFunc(text, func(c rune) bool { return c != '\n' && c != '\t' && !unicode.IsPrint(c) }) {
		return "", nil, false
	}
	if strings.HasPrefix(text, " ") || strings.HasPrefix(text, "\n") || strings.HasPrefix(text, "\t") {
		header += "2"
	}
	switch ends := len(text) - len(content); {
	case ends == 0:
		header += "-"
	case ends > 1:
		header += "+"
		content += strings.Repeat("\n", ends-1)
	}
	return header, strings.Split(content, "\n"), true
}
