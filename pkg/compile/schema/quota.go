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
		c.scope(&scopes.Children[i])
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

func (c *check) scope(n *object.Node) {
	c.oneOf(n, append([]string{"VolumeAttributesClass"}, podScopes...)...)
	hard, scopes := c.root.At("spec", "hard"), c.root.At("spec", "scopes")
	for i := range children(hard) {
		if !scopeAllows(n.Text, hard.Children[i].Key) {
			c.refuse(n, "", "a quota of scope %s cannot limit `%s`", n.Text, hard.Children[i].Key)
		}
	}
	for _, pair := range opposites {
		if n.Text == pair[0] && contains(scopes, pair[1]) {
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

func contains(list *object.Node, value string) bool {
	for i := range children(list) {
		if list.Children[i].Text == value {
			return true
		}
	}
	return false
}

func (c *check) scopeExpression(n *object.Node) {
	scope, operator, values := n.Get("scopeName"), n.StringAt("operator"), len(children(n.Get("values")))
	c.needs(n, "scopeName", "operator")
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

func (c *check) limitRange() {
	limits := c.root.At("spec", "limits")
	for i := range children(limits) {
		limit := &limits.Children[i]
		c.limit(limit)
		for j := range i {
			if limits.Children[j].StringAt("type") == limit.StringAt("type") {
				c.refuse(limit, "type", "limits of the type %s are there already", limit.StringAt("type"))
			}
		}
	}
}

// limitFields in their order: no value of one may be greater than that of a later one. Only max and default have no order
// between defaultRequest and them.
var limitFields = []string{"min", "defaultRequest", "default", "max"}

func (c *check) limit(n *object.Node) {
	kind := n.Get("type")
	if kind == nil || kind.Text == "" {
		c.refuse(n, "type", "required, but missing")
		return
	}
	if !strings.Contains(kind.Text, "/") {
		c.oneOf(kind, "Pod", "Container", "PersistentVolumeClaim")
	}
	for _, field := range append([]string{"maxLimitRequestRatio"}, limitFields...) {
		c.limitField(n, field)
	}
	storage := n.At("min", "storage") != nil || n.At("max", "storage") != nil
	if kind.Text == "PersistentVolumeClaim" && !storage {
		c.refuse(n, "max", "required, but missing: limits of claims need a min or a max of storage")
	}
	c.limitOrder(n)
}

func (c *check) limitField(n *object.Node, field string) {
	amounts, kind := n.Get(field), n.StringAt("type")
	known := computeResources
	if kind == "PersistentVolumeClaim" {
		known = append([]string{"storage"}, quotaResources...)
	}
	if kind == "Pod" && strings.HasPrefix(field, "default") && len(children(amounts)) > 0 {
		c.refuse(amounts, "", "not allowed with the type Pod")
		return
	}
	for i := range children(amounts) {
		c.resourceName(&amounts.Children[i], known)
		if field == "maxLimitRequestRatio" && amount(&amounts.Children[i]).CmpInt64(1) < 0 {
			c.refuse(&amounts.Children[i], "", "found `%s`, the least allowed is 1", amounts.Children[i].Text)
		}
	}
}

func (c *check) limitOrder(n *object.Node) {
	for i, lower := range limitFields {
		for _, upper := range limitFields[i+1:] {
			c.notAbove(n, lower, upper)
		}
	}
	c.ratios(n)
	requests := n.Get("defaultRequest")
	for i := range children(requests) {
		request := &requests.Children[i]
		limit := n.At("default", request.Key)
		if limit != nil && !overcommitted(request.Key) && compare(limit, request) != 0 {
			c.refuse(request, "", "found `%s`, but the default limit is `%s`: of %s both must be equal", request.Text, limit.Text, request.Key)
		}
	}
}

// overcommitted reports whether pods may request less of a resource than they may use.
func overcommitted(name string) bool {
	return !strings.Contains(name, "/") && !strings.HasPrefix(name, "hugepages-")
}

func (c *check) notAbove(n *object.Node, lower, upper string) {
	low := n.Get(lower)
	for i := range children(low) {
		a := &low.Children[i]
		if b := n.At(upper, a.Key); b != nil && compare(a, b) > 0 {
			c.refuse(a, "", "found `%s`, but %s is `%s`, which is less", a.Text, upper, b.Text)
		}
	}
}

// ratios checks that a limit may be as many times a request as max is of min, at most.
func (c *check) ratios(n *object.Node) {
	ratios := n.Get("maxLimitRequestRatio")
	for i := range children(ratios) {
		ratio := &ratios.Children[i]
		least, most := n.At("min", ratio.Key), n.At("max", ratio.Key)
		if least == nil || most == nil {
			continue
		}
		if limit := approximate(most) / approximate(least); approximate(ratio) > limit {
			c.refuse(ratio, "", "found `%s`, but max is only %v times min", ratio.Text, limit)
		}
	}
}

func approximate(n *object.Node) float64 { return amount(n).AsApproximateFloat64() }
