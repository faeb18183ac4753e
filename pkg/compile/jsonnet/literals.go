package jsonnet

import (
	"strconv"
	"strings"

	"github.com/google/go-jsonnet/ast"
)

// literalWalker follows a program to its value as far as that is written literally: through objects, arrays, comprehensions, parentheses,
// locals, functions and calls of those that are locals, and sums of objects. What is computed otherwise is one place.
type literalWalker struct {
	found map[string]Literal
	// bound are the literals that names of locals stand for.
	bound map[ast.Identifier]ast.Node
	// functions are the bodies of locals that are functions.
	functions map[ast.Identifier]ast.Node
	left      int
}

// The bounds of the walk; what is beyond them has the place of what is around it.
const (
	maxLiterals     = 20000
	maxLiteralDepth = 100
)

func literalsOf(program ast.Node) map[string]Literal {
	w := literalWalker{found: map[string]Literal{}, bound: map[ast.Identifier]ast.Node{}, functions: map[ast.Identifier]ast.Node{}, left: maxLiterals}
	w.walk("", Literal{}, program, 0)
	return w.found
}

func (w *literalWalker) walk(path string, place Literal, node ast.Node, depth int) {
	w.left--
	if depth > maxLiteralDepth || w.left < 0 || node == nil {
		return
	}
	place.Value = rangeOf(*node.Loc())
	w.found[path] = place
	switch node := node.(type) {
	case *ast.Object:
		w.walkObject(path, node, place.Shared, depth)
	case *ast.Array:
		for i, element := range node.Elements {
			w.walk(path+"/"+strconv.Itoa(i), Literal{Shared: place.Shared}, element.Expr, depth+1)
		}
	case *ast.ArrayComp:
		w.walk(path+"/"+Items, Literal{Shared: true}, node.Body, depth+1)
	case *ast.Apply:
		if name, isName := node.Target.(*ast.Var); isName && w.functions[name.Id] != nil {
			place.Shared = true
			w.walk(path, place, w.functions[name.Id], depth+1)
		}
	case *ast.Function:
		w.walk(path, place, node.Body, depth+1)
	case *ast.Parens:
		w.walk(path, place, node.Inner, depth+1)
	case *ast.Local:
		for _, bind := range node.Binds {
			if bind.Fun == nil {
				w.bound[bind.Variable] = bind.Body
			} else {
				w.functions[bind.Variable] = bind.Body
			}
		}
		w.walk(path, place, node.Body, depth+1)
	case *ast.Var:
		if bound, found := w.bound[node.Id]; found {
			w.walk(path, place, bound, depth+1)
		}
	case *ast.ApplyBrace:
		w.walkSum(path, place, node.Left, node.Right, depth)
	case *ast.Binary:
		if node.Op == ast.BopPlus {
			w.walkSum(path, place, node.Left, node.Right, depth)
		}
	}
}

// walkSum follows two objects of which the right one wins. The sum itself stays the place of what is in neither.
func (w *literalWalker) walkSum(path string, place Literal, left, right ast.Node, depth int) {
	around := w.found[path]
	w.walk(path, place, left, depth+1)
	w.walk(path, place, right, depth+1)
	w.found[path] = around
}

func (w *literalWalker) walkObject(path string, object *ast.Object, shared bool, depth int) {
	for _, field := range object.Fields {
		name, key, ok := fieldName(field)
		if !ok || field.Method != nil {
			continue
		}
		inner := path + "/" + EscapePointer(name)
		if !field.SuperSugar {
			w.forgetBelow(inner + "/")
		}
		w.walk(inner, Literal{Key: key, Shared: shared}, field.Expr2, depth+1)
	}
}

// forgetBelow drops what a field replaces.
func (w *literalWalker) forgetBelow(prefix string) {
	if _, found := w.found[strings.TrimSuffix(prefix, "/")]; !found {
		return
	}
	for path := range w.found {
		if strings.HasPrefix(path, prefix) {
			delete(w.found, path)
		}
	}
}

func fieldName(field ast.ObjectField) (name string, key Range, ok bool) {
	switch field.Kind {
	case ast.ObjectFieldID:
		key = rangeOf(field.LocRange)
		key.EndLine, key.EndColumn = key.Line, key.Column+len(*field.Id)
		return string(*field.Id), key, true
	case ast.ObjectFieldStr:
		if text, isText := field.Expr1.(*ast.LiteralString); isText {
			return text.Value, rangeOf(*text.Loc()), true
		}
	}
	return "", Range{}, false
}

// EscapePointer returns a part of a JSON pointer.
func EscapePointer(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}
