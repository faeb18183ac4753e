package schema

import (
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"

	"lockstep.dev/lockstep/pkg/compile/object"
)

func (c *check) validatingPolicy() {
	spec := c.policySpec()
	if spec == nil {
		return
	}
	if len(children(spec.Get("validations")))+len(children(spec.Get("auditAnnotations"))) == 0 {
		c.refuse(spec, "validations", "required, but missing: at least one")
	}
	for i := range children(spec.Get("validations")) {
		c.validation(&spec.Get("validations").Children[i])
	}
}

func (c *check) mutatingPolicy() {
	spec := c.policySpec()
	if spec == nil {
		return
	}
	c.requireFields(spec, "reinvocationPolicy")
	c.oneOfOrDefault(spec.Get("reinvocationPolicy"), "IfNeeded", "Never")
	mutations := spec.Get("mutations")
	if len(children(mutations)) == 0 {
		c.refuse(spec, "mutations", "required, but missing: at least one")
	}
	for i := range children(mutations) {
		c.mutation(&mutations.Children[i])
	}
}

// patchFields are the fields of a mutation by its type of patch.
var patchFields = map[string]string{"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}

func (c *check) mutation(n *object.Node) {
	kind := n.Get("patchType")
	wanted, known := patchFields[kind.StringAt()]
	if !known {
		c.requireFields(n, "patchType")
		c.oneOfOrDefault(kind, "ApplyConfiguration", "JSONPatch")
		return
	}
	for _, field := range patchFields {
		switch patch := n.Get(field); {
		case field == wanted && patch == nil:
			c.refuse(n, field, "required for patchType %s, but missing", kind.Text)
		case field == wanted:
			c.expression(patch, "expression")
		case patch != nil:
			c.refuse(patch, "", "must not be set for patchType %s", kind.Text)
		}
	}
}

// policySpec checks what both kinds of policies have, and returns their spec, nil if there is none.
func (c *check) policySpec() *object.Node {
	spec := c.root.Get("spec")
	if spec == nil {
		c.refuse(c.root, "spec", "required, but missing")
		return nil
	}
	c.oneOf(spec.Get("failurePolicy"), "Fail", "Ignore")
	constraints := spec.Get("matchConstraints")
	if constraints == nil || len(children(constraints.Get("resourceRules"))) == 0 {
		c.refuse(spec, "matchConstraints.resourceRules", "required, but missing: at least one")
	}
	c.matchResources(constraints)
	for i := range children(spec.Get("variables")) {
		c.variable(&spec.Get("variables").Children[i])
	}
	c.matchConditions(spec.Get("matchConditions"))
	return spec
}

func (c *check) matchConditions(list *object.Node) {
	for i := range children(list) {
		condition := &list.Children[i]
		c.requireFields(condition, "name")
		if name := condition.Get("name"); name.StringAt() != "" {
			c.refuseInvalid(name, validation.IsQualifiedName(name.Text))
		}
		c.expression(condition, "expression")
	}
}

func (c *check) variable(n *object.Node) {
	c.requireFields(n, "name")
	if name := n.Get("name"); name.StringAt() != "" {
		c.refuseInvalid(name, validation.IsCIdentifier(name.Text))
	}
	c.expression(n, "expression")
}

var reasons = []string{"Unauthorized", "Forbidden", "Invalid", "RequestEntityTooLarge"}

func (c *check) validation(n *object.Node) {
	c.expression(n, "expression")
	if expression := n.Get("messageExpression"); expression.StringAt() != "" {
		c.expression(n, "messageExpression")
	}
	if message := n.Get("message"); message != nil && message.Text != "" {
		switch trimmed := strings.TrimSpace(message.Text); {
		case trimmed == "":
			c.refuse(message, "", "allowed is a text that is not only white space")
		case strings.ContainsAny(trimmed, "\r\n"):
			c.refuse(message, "", "must not contain line breaks")
		}
	}
	c.oneOf(n.Get("reason"), reasons...)
}

// expression checks the syntax of a CEL expression. Its types depend on what the policy matches; API servers check them later, in the
// background.
func (c *check) expression(n *object.Node, field string) {
	expression := n.Get(field)
	if strings.TrimSpace(expression.StringAt()) == "" {
		c.refuse(n, field, "required, but missing or empty")
		return
	}
	if !utf8.ValidString(expression.Text) {
		c.refuse(expression, "", "is not UTF-8")
		return
	}
	if !expressions.accepts(expression.Text) {
		c.refuse(expression, "", "is not a CEL expression: %s", strings.Join(strings.Fields(syntaxError(expression.Text).Error()), " "))
	}
}

// expressions are those with the right syntax. Clusters repeat them, and to parse those of one takes 10 ms.
var expressions = &acceptedTexts{right: func(text string) bool { return syntaxError(text) == nil }}

func syntaxError(expression string) error {
	_, issues := environment().Parse(expression)
	return issues.Err()
}

// policyBinding checks what the bindings of both kinds of policies have.
func (c *check) policyBinding() {
	spec := c.root.Get("spec")
	if spec == nil {
		c.refuse(c.root, "spec", "required, but missing")
		return
	}
	c.requireFields(spec, "policyName")
	if name := spec.Get("policyName"); name.StringAt() != "" {
		c.refuseInvalid(name, validation.IsDNS1123Subdomain(name.Text))
	}
	c.matchResources(spec.Get("matchResources"))
}

func (c *check) validatingPolicyBinding() {
	c.policyBinding()
	spec := c.root.Get("spec")
	if spec == nil {
		return
	}
	actions := spec.Get("validationActions")
	if len(children(actions)) == 0 {
		c.refuse(spec, "validationActions", "required, but missing: at least one of Deny, Warn, Audit")
	}
	for i := range children(actions) {
		c.oneOf(&actions.Children[i], "Deny", "Warn", "Audit")
	}
	if listContains(actions, "Deny") && listContains(actions, "Warn") {
		c.refuse(actions, "", "Deny and Warn together would tell the user everything twice, which is not allowed")
	}
}

func (c *check) matchResources(n *object.Node) {
	if n == nil {
		return
	}
	c.oneOf(n.Get("matchPolicy"), "Exact", "Equivalent")
	for _, field := range []string{"resourceRules", "excludeResourceRules"} {
		for i := range children(n.Get(field)) {
			c.resourceRule(&n.Get(field).Children[i])
		}
	}
}

var operations = []string{"*", "CREATE", "UPDATE", "DELETE", "CONNECT"}

func (c *check) resourceRule(n *object.Node) {
	for _, field := range []string{"apiGroups", "apiVersions", "operations", "resources"} {
		list := n.Get(field)
		if len(children(list)) == 0 {
			c.refuse(n, field, "required, but missing: at least one")
		}
		if field != "resources" && listContains(list, "*") && len(list.Children) > 1 {
			c.refuse(list, "", "found * beside others, which it contains")
		}
	}
	for _, field := range []string{"apiVersions", "resources"} {
		for i := range children(n.Get(field)) {
			if item := &n.Get(field).Children[i]; item.StringAt() == "" {
				c.refuse(item, "", "required, but empty")
			}
		}
	}
	for i := range children(n.Get("operations")) {
		operation := &n.Get("operations").Children[i]
		if !slices.Contains(operations, operation.Text) {
			c.oneOf(operation, operations...)
		}
	}
	c.oneOf(n.Get("scope"), "*", "Cluster", "Namespaced")
}
