package decode

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"lockstep.dev/lockstep/pkg/compile/source"
)

// spanOf returns the first token of a node: a scalar as it is written, the bracket of a flow collection, the first key of
// a block mapping.
func spanOf(file *source.File, node *yaml.Node) source.Span {
	return file.Token(node.Line, node.Column, tokenLength(file, node))
}

func tokenLength(file *source.File, node *yaml.Node) int {
	switch {
	case !file.Measurable(node.Line):
		return 1
	case node.Kind == yaml.AliasNode:
		return utf8.RuneCountInString(node.Value) + 1
	case node.Kind == yaml.MappingNode && node.Style&yaml.FlowStyle == 0 && len(node.Content) > 0:
		return tokenLength(file, node.Content[0])
	case node.Kind != yaml.ScalarNode:
		return 1
	case node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return 1
	case node.Style&yaml.DoubleQuotedStyle != 0:
		return quotedLength(file, node, '"')
	case node.Style&yaml.SingleQuotedStyle != 0:
		return quotedLength(file, node, '\'')
	}
	first, _, _ := strings.Cut(node.Value, "\n")
	return utf8.RuneCountInString(first)
}

// quotedLength looks for the closing quote in the text, because escapes make the token longer than its value.
func quotedLength(file *source.File, node *yaml.Node, quote rune) int {
	text := []rune(file.Line(node.Line))
	start := node.Column - 1
	for i := start + 1; i < len(text); i++ {
		switch {
		case quote == '"' && text[i] == '\\':
			i++
		case quote == '\'' && text[i] == quote && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return i - start + 1
		}
	}
	return max(1, len(text)-start)
}
