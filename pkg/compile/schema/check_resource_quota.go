package schema

import (
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
)

func (c *check) resourceQuota() {
	hard := c.root.At("spec", "hard")
	for i := range children(hard) {
		c.resourceName(&hard.Children[i], quotaResources)
		c.notNegative(&hard.Children[i], hard.Children[i].Key)
	}
	scopes := c.root.At("spec", "scopes")
	for i := range children(scopes) {
		c.quotaScope(&scopes.Children[i])
	}
	expressions := c.root.At("spec", "scopeSelector", "matchExpressions")
	for i := range children(expressions) {
		c.scopeExpression(&expressions.Children[i])
	}
}

// podScopes are about pods, and so are the resources that a quota with one of them may limit.
var podScopes = []string{"Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity"}

// opposites cannot both hold.
var opposites = [][2]string{{"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"}}

func (c *check) quotaScope(n *object.Node) {
	c.oneOf(n, append([]string{"VolumeAttributesClass"}, podScopes...)...)
	hard, scopes := c.root.At("spec", "hard"), c.root.At("spec", "scopes")
	for i := range children(hard) {
		if !scopeAllows(n.Text, hard.Children[i].Key) {
			c.refuse(n, "", "a quota of scope %s cannot limit `%s`", n.Text, hard.Children[i].Key)
		}
	}
	for _, pair := range opposites {
		if n.Text == pair[0] && listContains(scopes, pair[1]) {
			c.refuse(n, "", "no pod has both scopes, %s and %s", pair[0], pair[1])
		}
	}
}

// scopeAllows reports whether a quota with a scope may limit a resource, which is a question only for those of Kubernetes.
func scopeAllows(scope, name string) bool {
	if strings.Contains(name, "/") {
		return true
	}
	switch scope {
	case "BestEffort":
		return name == "pods"
	case "VolumeAttributesClass":
		return name == "persistentvolumeclaims" || name == "requests.storage"
	case "CrossNamespacePodAffinity", "PriorityClass", "NotBestEffort", "Terminating", "NotTerminating":
		return name == "pods" || name == "cpu" || name == "memory" ||
			name == "requests.cpu" || name == "requests.memory" || name == "limits.cpu" || name == "limits.memory"
	}
	return true
}

func listContains(list *object.Node, value string) bool {
	for i := range children(list) {
		if list.Children[i].Text == value {
			return true
		}
	}
	return false
}

func (c *check) scopeExpression(n *object.Node) {
	scope, operator, values := n.Get("scopeName"), n.StringAt("operator"), len(children(n.Get("values")))
	c.requireFields(n, "scopeName", "operator")
	c.oneOf(scope, append([]string{"VolumeAttributesClass"}, podScopes...)...)
	c.oneOf(n.Get("operator"), "In", "NotIn", "Exists", "DoesNotExist")
	hasValues := scope.StringAt() == "PriorityClass" || scope.StringAt() == "VolumeAttributesClass"
	switch {
	case !hasValues && operator != "Exists":
		c.refuse(n, "operator", "found `%s`, allowed with the scope %s is Exists", operator, scope.StringAt())
	case (operator == "In" || operator == "NotIn") && values == 0:
		c.refuse(n, "values", "required with the operator %s, but missing", operator)
	case (operator == "Exists" || operator == "DoesNotExist") && values > 0:
		c.refuse(n, "values", "not allowed with the operator %s", operator)
	}
}
