package decode

import (
	"lockstep.dev/lockstep/pkg/compile/decode/syntax"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// The limits of one document, beside source.MaxFileSize and syntax.MaxDocuments. Real specs are far below; a file beyond them is a
// mistake or an attack (`YAML bomb`).
const (
	// MaxDepth is how deep values may be nested.
	MaxDepth = 64
	// MaxAliased is how many values may be reached through aliases.
	MaxAliased = 10000
)

// limitChecker walks a document before it is decoded.
type limitChecker struct {
	file    *source.File
	list    *diag.List
	aliased int
	ok      bool
}

// withinLimits reports whether a document is within the limits and uses only the YAML that specs use. After it, recursion over
// the document ends and costs little.
func withinLimits(file *source.File, node *syntax.Node, list *diag.List) bool {
	g := limitChecker{file: file, list: list, ok: true}
	g.walk(node, 1, false)
	return g.ok
}

// walk stops at the first limit, because what follows would repeat it; other mistakes do not stop it.
func (g *limitChecker) walk(node *syntax.Node, depth int, aliased bool) bool {
	if node.Kind == syntax.Alias {
		node, aliased = node.Target, true
	}
	if aliased {
		g.aliased++
	}
	if depth > MaxDepth {
		return g.reportTooComplex(node, "values are nested more than %d deep", MaxDepth)
	}
	if g.aliased > MaxAliased {
		return g.reportTooComplex(node, "aliases repeat more than %d values", MaxAliased)
	}
	if node.Tag == syntax.Foreign {
		g.reportUnsupported(node, "the tag `%s` is not used in specs", node.Foreign).Helpf("remove the tag")
	}
	isKey := node.Kind == syntax.Mapping
	for child := node.First; child != nil; child = child.Next {
		if isKey {
			g.checkKey(child)
		} else if !g.walk(child, depth+1, aliased) {
			return false
		}
		isKey = node.Kind == syntax.Mapping && !isKey
	}
	return true
}

func (g *limitChecker) reportTooComplex(node *syntax.Node, format string, args ...any) bool {
	g.list.Errorf(diag.TooComplex, node.At.In(g.file), format, args...).
		Helpf("write the values out in a flatter form")
	g.ok = false
	return false
}

func (g *limitChecker) checkKey(key *syntax.Node) {
	switch {
	case key.Kind != syntax.Scalar:
		g.reportUnsupported(key, "a key must be a string")
	case key.Tag == syntax.Merge:
		g.reportUnsupported(key, "merge keys are not used in specs").Helpf("write the keys out")
	case key.Tag == syntax.Foreign:
		g.reportUnsupported(key, "the tag `%s` is not used in specs", key.Foreign).Helpf("remove the tag")
	}
}

func (g *limitChecker) reportUnsupported(node *syntax.Node, format string, args ...any) *diag.Diagnostic {
	g.ok = false
	return g.list.Errorf(diag.UnsupportedYAML, node.At.In(g.file), format, args...)
}
