package decode

import (
	"strings"

	"go.yaml.in/yaml/v4"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// The limits of one file. Real specs are far below; a file beyond them is a mistake or an attack (`YAML bomb`).
const (
	maxDepth     = 64
	maxDocuments = 1000
	maxAliased   = 10000
)

// guard walks a document before it is decoded.
type guard struct {
	file    *source.File
	list    *diag.List
	aliased int
	ok      bool
}

// bounded reports whether a document is within the limits and uses only the YAML that specs use. After it, recursion over
// the document ends and costs little.
func bounded(file *source.File, node *yaml.Node, list *diag.List) bool {
	g := guard{file: file, list: list, ok: true}
	g.walk(node, 1, false)
	return g.ok
}

// walk stops at the first limit, because what follows would repeat it; other mistakes do not stop it.
func (g *guard) walk(node *yaml.Node, depth int, aliased bool) bool {
	if node.Kind == yaml.AliasNode {
		node, aliased = node.Alias, true
	}
	if aliased {
		g.aliased++
	}
	if depth > maxDepth {
		return g.tooComplex(node, "values are nested more than %d deep", maxDepth)
	}
	if g.aliased > maxAliased {
		return g.tooComplex(node, "aliases repeat more than %d values", maxAliased)
	}
	g.checkTag(node)
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 {
			g.checkKey(child)
			continue
		}
		if !g.walk(child, depth+1, aliased) {
			return false
		}
	}
	return true
}

func (g *guard) tooComplex(node *yaml.Node, format string, args ...any) bool {
	g.list.Errorf(diag.TooComplex, spanOf(g.file, node), format, args...).
		Helpf("write the values out in a flatter form")
	g.ok = false
	return false
}

func (g *guard) checkTag(node *yaml.Node) {
	switch tag := node.ShortTag(); tag {
	case "!!map", "!!seq", "!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp", "!!merge", "":
	default:
		g.unsupported(node, "the tag `%s` is not used in specs", tag).Helpf("remove the tag")
	}
}

func (g *guard) checkKey(key *yaml.Node) {
	switch {
	case key.Kind != yaml.ScalarNode:
		g.unsupported(key, "a key must be a string")
	case key.ShortTag() == "!!merge":
		g.unsupported(key, "merge keys are not used in specs").Helpf("write the keys out")
	case strings.HasPrefix(key.ShortTag(), "!!"):
	default:
		g.unsupported(key, "the tag `%s` is not used in specs", key.ShortTag()).Helpf("remove the tag")
	}
}

func (g *guard) unsupported(node *yaml.Node, format string, args ...any) *diag.Diagnostic {
	g.ok = false
	return g.list.Errorf(diag.UnsupportedYAML, spanOf(g.file, node), format, args...)
}
