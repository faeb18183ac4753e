package schema

import (
	"encoding/base64"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/schema/shape"
)

// scalar checks the constraints on a string, a number or a boolean.
func (c *check) scalar(n *object.Node, s *shapeNode) {
	if s.Enum != nil && !slices.Contains(s.Enum, n.Text) {
		c.refuse(n, "", "found `%s`, allowed are %s", n.Text, strings.Join(s.Enum, ", "))
	}
	switch {
	case s.Format == shape.Quantity:
		c.quantity(n)
	case n.Kind == object.NumberNode:
		c.number(n, s)
	case n.Kind == object.TextNode:
		c.string(n, s)
	}
}

func (c *check) quantity(n *object.Node) {
	if isPlainAmount(n.Text) {
		return
	}
	// API servers ignore white space around an amount.
	if _, err := resource.ParseQuantity(strings.TrimSpace(n.Text)); err != nil {
		c.refuse(n, "", "found `%s`, allowed is an amount such as 500m, 2 or 4Gi", n.Text)
	}
}

// isPlainAmount says of most valid amounts that they are: whole, not negative, with or without a unit of the thousands.
func isPlainAmount(text string) bool {
	number := strings.TrimSuffix(text, "i")
	if number != text && strings.HasSuffix(number, "k") {
		return false
	}
	unit := len(number) > 0 && strings.IndexByte("KkMGTPE", number[len(number)-1]) >= 0
	if unit {
		number = number[:len(number)-1]
	}
	if number == "" || len(number) > 15 || !unit && text != number || strings.HasSuffix(text, "K") {
		return false
	}
	for i := range len(number) {
		if number[i] < '0' || number[i] > '9' {
			return false
		}
	}
	return true
}

func (c *check) string(n *object.Node, s *shapeNode) {
	if s.Pattern != "" && !s.accepted.accepts(n.Text) {
		c.refuse(n, "", "found `%s`, allowed is what matches %s", n.Text, s.Pattern)
	}
	if s.MinLength != nil || s.MaxLength != nil {
		c.lengthInBounds(n, utf8.RuneCountInString(n.Text), s.MinLength, s.MaxLength, "characters")
	}
	switch s.Format {
	case "date-time":
		if _, err := time.Parse(time.RFC3339, n.Text); err != nil {
			c.refuse(n, "", "found `%s`, allowed is a time such as 2026-01-31T12:00:00Z", n.Text)
		}
	case "byte":
		if _, err := base64.StdEncoding.DecodeString(n.Text); err != nil {
			c.refuse(n, "", "allowed is text in base64, but %s", err)
		}
	}
}

func (c *check) number(n *object.Node, s *shapeNode) {
	if s.Type == "integer" || s.IntOrString {
		c.integer(n, s)
	}
	if s.Minimum == nil && s.Maximum == nil {
		return
	}
	value, err := strconv.ParseFloat(n.Text, 64)
	switch {
	case err != nil:
		c.refuse(n, "", "found `%s`, allowed is a number", n.Text)
	case s.Minimum != nil && (value < *s.Minimum || s.ExclusiveMinimum && value == *s.Minimum):
		c.refuse(n, "", "found %s, the least allowed is %v", n.Text, *s.Minimum)
	case s.Maximum != nil && (value > *s.Maximum || s.ExclusiveMaximum && value == *s.Maximum):
		c.refuse(n, "", "found %s, the most allowed is %v", n.Text, *s.Maximum)
	}
}

func (c *check) integer(n *object.Node, s *shapeNode) {
	value, err := strconv.ParseInt(n.Text, 10, 64)
	switch {
	case err != nil:
		c.refuse(n, "", "found %s, allowed is a whole number", n.Text)
	case (s.Format == "int32" || s.IntOrString && c.table.Native) && (value < math.MinInt32 || value > math.MaxInt32):
		c.refuse(n, "", "found %s, allowed are %d to %d", n.Text, math.MinInt32, math.MaxInt32)
	}
}

// acceptedTexts remembers which texts are right: bundles repeat theirs, and a pattern costs a microsecond, the syntax of an expression more.
type acceptedTexts struct {
	right func(text string) bool
	mu    sync.RWMutex
	texts map[string]struct{}
}

func newAcceptedTexts(pattern string) *acceptedTexts {
	// The pattern comes from a CRD that an API server has accepted, which compiles it with the same package.
	compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
	return &acceptedTexts{right: func(text string) bool { return compiled().MatchString(text) }}
}

// remembered is how many texts or verdicts are remembered in one place before it starts anew: enough for a bundle, too little to matter.
const remembered = 1 << 14

func (a *acceptedTexts) accepts(text string) bool {
	a.mu.RLock()
	_, known := a.texts[text]
	a.mu.RUnlock()
	if known {
		return true
	}
	if !a.right(text) {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.texts == nil || len(a.texts) >= remembered {
		a.texts = map[string]struct{}{}
	}
	a.texts[text] = struct{}{}
	return true
}
