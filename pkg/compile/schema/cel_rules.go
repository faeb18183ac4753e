package schema

import (
	"encoding/base64"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/ext"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/schema/shape"
)

// ruleSet are the CEL rules of one shape. They are compiled when the first value meets them. All read the same value, so they share what
// is remembered: which values they accepted, by a hash of all that any of them reads.
type ruleSet struct {
	from     []shape.Rule
	once     sync.Once
	programs []compiledRule
	reads    readFields

	mu       sync.RWMutex
	accepted map[uint64]struct{}
}

type compiledRule struct {
	shape.Rule
	cel.Program
}

// readFields is which fields of `self` rules look at: true for their value, false for whether they are there. All says that they may look at anything.
type readFields struct {
	all    bool
	fields map[string]bool
	names  []string
}

// evaluateRules checks the rules of a shape for a value. The verdict on what was seen before is known.
func (c *check) evaluateRules(n *object.Node, s *shapeNode) {
	r := s.rules
	r.once.Do(r.compile)
	key := r.valueKey(n)
	r.mu.RLock()
	_, known := r.accepted[key]
	r.mu.RUnlock()
	if known {
		return
	}
	before := len(c.problems)
	self := map[string]any{"self": c.celValue(n, s)}
	for i := range r.programs {
		c.judgeRule(n, &r.programs[i], self)
	}
	if len(c.problems) == before {
		r.rememberAccepted(key)
	}
}

func (c *check) judgeRule(n *object.Node, p *compiledRule, self map[string]any) {
	result, _, err := p.Eval(self)
	switch {
	case err != nil:
		c.refuse(n, "", "the rule `%s` cannot be evaluated: %s", p.Rule.Rule, err)
	case result.Value() == true:
	case p.Message != "":
		c.refuse(n, "", "%s", p.Message)
	default:
		c.refuse(n, "", "breaks the rule `%s`", p.Rule.Rule)
	}
}

func (r *ruleSet) rememberAccepted(key uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.accepted == nil || len(r.accepted) >= remembered {
		r.accepted = map[uint64]struct{}{}
	}
	r.accepted[key] = struct{}{}
}

// environment is what rules may use. Kubernetes declares types from the schema and offers more functions; rules that were accepted with
// types run without them, and a test compiles every rule of the archive, so a new function would be noticed.
var environment = sync.OnceValue(func() *cel.Env {
	env, err := cel.NewEnv(
		cel.Variable("self", cel.DynType),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.OptionalTypes(),
		ext.Strings(ext.StringsVersion(2)),
		ext.Sets(),
	)
	if err != nil {
		panic(fmt.Sprintf("the environment of CEL rules is constant, but: %v", err))
	}
	return env
})

func (r *ruleSet) compile() {
	r.reads.fields = map[string]bool{}
	for _, rule := range r.from {
		compiled, issues := environment().Compile(rule.Rule)
		if issues.Err() != nil {
			panic(fmt.Sprintf("the rule `%s` of an embedded schema does not compile: %v", rule.Rule, issues.Err()))
		}
		made, err := environment().Program(compiled)
		if err != nil {
			panic(fmt.Sprintf("the rule `%s` of an embedded schema makes no program: %v", rule.Rule, err))
		}
		r.reads.addRule(compiled.NativeRep())
		r.programs = append(r.programs, compiledRule{rule, made})
	}
	r.reads.names = slices.Sorted(maps.Keys(r.reads.fields))
}

// addRule notes what a rule reads: `self.a.b` the field a, `has(self.a)` whether it is there, any other use of `self` everything.
func (r *readFields) addRule(rule *ast.AST) {
	root := ast.NavigateAST(rule)
	for _, use := range ast.MatchDescendants(root, ast.KindMatcher(ast.IdentKind)) {
		if use.AsIdent() != "self" {
			continue
		}
		parent, found := use.Parent()
		if !found || parent.Kind() != ast.SelectKind || strings.Contains(parent.AsSelect().FieldName(), "__") {
			r.all = true
			continue
		}
		field := parent.AsSelect()
		r.fields[field.FieldName()] = r.fields[field.FieldName()] || !field.IsTestOnly()
	}
}

// seed is of this process; verdicts do not depend on it.
var seed = sync.OnceValue(maphash.MakeSeed)

// valueKey hashes what the rules read of a value.
func (r *ruleSet) valueKey(n *object.Node) uint64 {
	var h maphash.Hash
	h.SetSeed(seed())
	if r.reads.all || n.Kind != object.MapNode {
		hashNode(&h, n)
		return h.Sum64()
	}
	for _, name := range r.reads.names {
		switch field := n.Get(name); {
		case field == nil:
			h.WriteByte(0)
		case r.reads.fields[name]:
			hashNode(&h, field)
		default:
			h.WriteByte(1)
		}
	}
	return h.Sum64()
}

func hashNode(h *maphash.Hash, n *object.Node) {
	h.WriteByte(2 + byte(n.Kind))
	h.WriteString(n.Text)
	for i := range n.Children {
		h.WriteByte(0)
		h.WriteString(n.Children[i].Key)
		hashNode(h, &n.Children[i])
	}
	h.WriteByte(1)
}

// celValue returns a value as rules see it: with defaults, whole numbers as int64, times as times.
func (c *check) celValue(n *object.Node, s *shapeNode) any {
	switch n.Kind {
	case object.MapNode:
		return c.celMap(n, s)
	case object.ListNode:
		items := make([]any, len(n.Children))
		for i := range n.Children {
			items[i] = c.celValue(&n.Children[i], c.table.itemShape(s))
		}
		return items
	case object.NumberNode:
		return celNumber(n.Text, s)
	case object.BoolNode:
		return n.Text == "true"
	case object.TextNode:
		return celText(n.Text, s)
	}
	return nil
}

// anything is the shape of what a schema does not describe.
var anything = &shapeNode{Shape: shape.Shape{Open: true}}

func (t *kindTable) itemShape(s *shapeNode) *shapeNode {
	if s.Items == nil {
		return anything
	}
	return &t.Shapes[*s.Items]
}

func (t *kindTable) entryShape(s *shapeNode, key string) *shapeNode {
	if at, known := s.Properties[key]; known {
		return &t.Shapes[at]
	}
	if s.Values != nil {
		return &t.Shapes[*s.Values]
	}
	return anything
}

func (c *check) celMap(n *object.Node, s *shapeNode) map[string]any {
	entries := make(map[string]any, len(n.Children)+len(s.defaulted))
	for i := range s.defaulted {
		d := &s.defaulted[i]
		entries[escapeProperty(d.name)] = c.celValue(&d.value, &c.table.Shapes[d.at])
	}
	for i := range n.Children {
		child := &n.Children[i]
		shape := c.table.entryShape(s, child.Key)
		if child.Kind == object.NullNode && !shape.Nullable && shape.Default != nil {
			continue
		}
		key := child.Key
		if s.Properties != nil {
			key = escapeProperty(key)
		}
		entries[key] = c.celValue(child, shape)
	}
	return entries
}

func celNumber(text string, s *shapeNode) any {
	if s.Type != "number" {
		if value, err := strconv.ParseInt(text, 10, 64); err == nil {
			return value
		}
	}
	value, _ := strconv.ParseFloat(text, 64)
	return value
}

// celText returns a text as the format says. What does not parse has been refused already.
func celText(text string, s *shapeNode) any {
	switch s.Format {
	case "date-time":
		if value, err := time.Parse(time.RFC3339, text); err == nil {
			return value
		}
	case "byte":
		if value, err := base64.StdEncoding.DecodeString(text); err == nil {
			return value
		}
	}
	return text
}

// escapeProperty returns the name under which rules see a property whose name is not a CEL identifier, as
// https://kubernetes.io/docs/reference/using-api/cel/#escaping says.
func escapeProperty(name string) string {
	if slices.Contains(reserved, name) {
		return "__" + name + "__"
	}
	if !strings.ContainsAny(name, "_.-/") {
		return name
	}
	return escaper().Replace(name)
}

var reserved = []string{
	"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop",
	"package", "namespace", "return",
}

var escaper = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("__", "__underscores__", ".", "__dot__", "-", "__dash__", "/", "__slash__")
})
