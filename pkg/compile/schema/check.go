package schema

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/schema/shape"
)

// check is the walk over one object. Values are named by their node while it goes on; their paths are looked for when there is a
// problem, which is rare.
type check struct {
	table    *kindTable
	minor    int
	root     *object.Node
	problems []Problem
	// nulls are the nulls that were met, with what a Go type reads in their place: nothing, or in a map or list of values an empty one.
	nulls map[*object.Node]object.Node
	// trying is above 0 within anyOf, oneOf and not, where a problem is not a refusal yet.
	trying int
}

// object checks the whole object. CEL rules and Go code assume that types are right, so they wait until everything else is.
func (c *check) object() {
	c.value(c.root, c.table.Root)
	if len(c.nulls) > 0 {
		c.root = c.withoutNulls()
		c.problems = nil
		c.value(c.root, c.table.Root)
	}
	if len(c.problems) > 0 {
		return
	}
	c.metadata()
	if c.table.rules != nil {
		c.table.rules(c)
	}
}

// refuse reports a problem with a value, or with a field of it that is missing: its name, or a path with dots.
func (c *check) refuse(n *object.Node, missing, format string, args ...any) {
	if c.trying > 0 {
		c.problems = append(c.problems, Problem{})
		return
	}
	path, from := locateValue(c.root, n)
	for name := range strings.SplitSeq(missing, ".") {
		if name != "" {
			path = joinPath(path, name)
		}
	}
	c.problems = append(c.problems, Problem{Path: path, From: from, Message: fmt.Sprintf(format, args...)})
}

// value checks a value against a shape.
func (c *check) value(n *object.Node, at int) {
	s := &c.table.Shapes[at]
	if n.Kind == object.NullNode {
		c.rememberNull(n, s, false)
		c.null(n, s)
		return
	}
	if s.kinds&(1<<n.Kind) == 0 {
		c.refuse(n, "", "found %s, allowed is %s", foundText(n), s.typeName())
		return
	}
	switch {
	case n.Kind == object.MapNode:
		c.fields(n, s)
	case n.Kind == object.ListNode:
		c.items(n, s)
	case s.limited:
		c.scalar(n, s)
	}
	if s.combined {
		c.combinations(n, s)
	}
	if s.rules != nil && len(c.problems) == 0 {
		c.evaluateRules(n, s)
	}
}

// withoutNulls returns the object as the API server reads it: Go types, which metadata always is, take a null as absent.
func (c *check) withoutNulls() *object.Node {
	root := *c.root
	if c.table.Native {
		root = c.withoutNullsBelow(root)
		return &root
	}
	if metadata := root.Get("metadata"); metadata != nil {
		root.Children = slices.Clone(root.Children)
		*root.Get("metadata") = c.withoutNullsBelow(*metadata)
	}
	return &root
}

// withoutNullsBelow returns a copy with what is read in the place of nulls.
func (c *check) withoutNullsBelow(n object.Node) object.Node {
	var kept []object.Node
	for i := range n.Children {
		child := n.Children[i]
		if read, met := c.nulls[&n.Children[i]]; met && (n.Kind == object.MapNode || read.Kind != object.Nothing) {
			child = read
		}
		if child.Kind != object.Nothing {
			kept = append(kept, c.withoutNullsBelow(child))
		}
	}
	n.Children = kept
	return n
}

// rememberNull keeps a null, and what is read in its place where the key of a map or the item of a list stays.
func (c *check) rememberNull(n *object.Node, s *shapeNode, stays bool) {
	if c.nulls == nil {
		c.nulls = map[*object.Node]object.Node{}
	}
	c.nulls[n] = object.Node{}
	switch {
	case !stays:
	case s.Format == shape.Quantity:
		c.nulls[n] = object.Text(n.Key, "0", n.From)
	case s.Type == "string":
		c.nulls[n] = object.Text(n.Key, "", n.From)
	}
}

// null checks a null. Go types take it as absent; a custom resource loses it where there is a default to put there.
func (c *check) null(n *object.Node, s *shapeNode) {
	if !c.table.Native && !s.Nullable && s.Default == nil && s.typeName() != "" {
		c.refuse(n, "", "found null, allowed is %s", s.typeName())
	}
}

func (c *check) fields(n *object.Node, s *shapeNode) {
	for i := range n.Children {
		child := &n.Children[i]
		if at, known := s.Properties[child.Key]; known {
			c.value(child, at)
		} else if s.Values != nil {
			c.value(child, *s.Values)
			if child.Kind == object.NullNode {
				c.rememberNull(child, &c.table.Shapes[*s.Values], true)
			}
		} else if !s.Open && s.Type != "" {
			c.unknownField(child, s)
		}
	}
	for _, name := range s.Required {
		if n.Get(name) == nil {
			c.refuse(n, name, "required, but missing")
		}
	}
	c.lengthInBounds(n, len(n.Children), s.MinProperties, s.MaxProperties, "entries")
	switch {
	case s.Embedded:
		c.embeddedObject(n)
	case s.Format == shape.LabelSelector:
		c.labelSelector(n)
	case s.Format == shape.PodSpec:
		c.podSpec(n)
	}
}

// unknownField reports a field that the schema does not have.
func (c *check) unknownField(child *object.Node, s *shapeNode) {
	names := slices.Sorted(maps.Keys(s.Properties))
	switch near, found := diag.Nearest(child.Key, names); {
	case found:
		c.refuse(child, "", "unknown field, did you mean `%s`?", near)
	case len(names) == 0:
		c.refuse(child, "", "unknown field, the map has none")
	default:
		c.refuse(child, "", "unknown field, allowed are %s", strings.Join(names, ", "))
	}
	c.problems[len(c.problems)-1].Key = child.Key
}

// embeddedObject checks what makes a map an object of Kubernetes.
func (c *check) embeddedObject(n *object.Node) {
	for _, name := range []string{"apiVersion", "kind"} {
		if n.StringAt(name) == "" {
			c.refuse(n, name, "required, but missing")
		}
	}
}

// lengthInBounds checks the length of something.
func (c *check) lengthInBounds(n *object.Node, length int, least, most *int, of string) {
	if least != nil && length < *least {
		c.refuse(n, "", "found %d %s, at least %d are needed", length, of, *least)
	}
	if most != nil && length > *most {
		c.refuse(n, "", "found %d %s, at most %d are allowed", length, of, *most)
	}
}

// combinations checks allOf, anyOf, oneOf and not.
func (c *check) combinations(n *object.Node, s *shapeNode) {
	for _, at := range s.AllOf {
		c.value(n, at)
	}
	if len(s.AnyOf) > 0 && c.countFitting(n, s.AnyOf) == 0 {
		c.refuse(n, "", "fits none of the alternatives that the schema allows%s", c.alternativesText(s.AnyOf))
	}
	if len(s.OneOf) > 0 && c.countFitting(n, s.OneOf) != 1 {
		c.refuse(n, "", "must fit exactly one of the alternatives that the schema allows, but fits %d%s", c.countFitting(n, s.OneOf), c.alternativesText(s.OneOf))
	}
	if s.Not != nil && c.countFitting(n, []int{*s.Not}) > 0 {
		c.refuse(n, "", "has a form that the schema excludes%s", c.alternativesText([]int{*s.Not}))
	}
}

// countFitting returns how many of the shapes a value fits.
func (c *check) countFitting(n *object.Node, shapes []int) int {
	before, count := c.problems, 0
	c.trying++
	for _, at := range shapes {
		c.problems = nil
		if c.value(n, at); len(c.problems) == 0 {
			count++
		}
	}
	c.trying--
	c.problems = before
	return count
}

// alternativesText says what alternatives ask for, if that is fields.
func (c *check) alternativesText(shapes []int) string {
	var fields []string
	for _, at := range shapes {
		if required := c.table.Shapes[at].Required; len(required) > 0 {
			fields = append(fields, strings.Join(required, " and "))
		}
	}
	if len(fields) == 0 {
		return ""
	}
	return ": " + strings.Join(fields, ", or ")
}

// locateValue returns the path of a value, and where it or the nearest container comes from.
func locateValue(root, wanted *object.Node) (string, *origin.Origin) {
	path, from, _ := searchValue(root, wanted, "", nil)
	return path, from
}

func searchValue(n, wanted *object.Node, path string, from *origin.Origin) (string, *origin.Origin, bool) {
	if n.From != nil {
		from = n.From
	}
	if n == wanted {
		return path, from, true
	}
	for i := range n.Children {
		child := &n.Children[i]
		below := path + "[" + strconv.Itoa(i) + "]"
		if n.Kind == object.MapNode {
			below = joinPath(path, child.Key)
		}
		if path, from, found := searchValue(child, wanted, below, from); found {
			return path, from, true
		}
	}
	return path, from, false
}

// joinPath returns the path of a key in a map.
func joinPath(path, key string) string {
	for _, letter := range key {
		if !isAlphanumeric(letter) && letter != '_' && letter != '-' {
			return path + "[" + strconv.Quote(key) + "]"
		}
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func isAlphanumeric(letter rune) bool {
	return 'a' <= letter && letter <= 'z' || 'A' <= letter && letter <= 'Z' || '0' <= letter && letter <= '9'
}
