package schema

import (
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"

	"lockstep.dev/lockstep/pkg/compile/object"
)

const rbacGroup = "rbac.authorization.k8s.io"

func (c *check) role() {
	rules := c.root.Get("rules")
	for i := range children(rules) {
		c.policyRule(&rules.Children[i])
	}
	if aggregation := c.root.Get("aggregationRule"); aggregation != nil && len(children(aggregation.Get("clusterRoleSelectors"))) == 0 {
		c.refuse(aggregation, "clusterRoleSelectors", "required, but missing")
	}
}

func (c *check) policyRule(n *object.Node) {
	if len(children(n.Get("verbs"))) == 0 {
		c.refuse(n, "verbs", "required, but missing: at least one verb")
	}
	if urls := n.Get("nonResourceURLs"); len(children(urls)) > 0 {
		if c.table.Namespaced {
			c.refuse(urls, "", "not allowed in a Role, only in a ClusterRole")
		}
		if len(children(n.Get("apiGroups")))+len(children(n.Get("resources")))+len(children(n.Get("resourceNames"))) > 0 {
			c.refuse(urls, "", "one rule cannot be about resources and about other URLs")
		}
		return
	}
	for _, field := range []string{"apiGroups", "resources"} {
		if len(children(n.Get(field))) == 0 {
			c.refuse(n, field, "required, but missing: at least one")
		}
	}
}

func (c *check) roleBinding() {
	if role := c.root.Get("roleRef"); role != nil {
		c.roleReference(role)
	} else {
		c.refuse(c.root, "roleRef", "required, but missing")
	}
	subjects := c.root.Get("subjects")
	for i := range children(subjects) {
		c.bindingSubject(&subjects.Children[i])
	}
}

func (c *check) roleReference(role *object.Node) {
	c.requireFields(role, "kind", "name")
	kinds := []string{"Role", "ClusterRole"}
	if !c.table.Namespaced {
		kinds = kinds[1:]
	}
	c.oneOf(role.Get("kind"), kinds...)
	// An API server fills in a group that is missing.
	if group := role.Get("apiGroup"); group.StringAt() != "" {
		c.oneOf(group, rbacGroup)
	}
	if name := role.Get("name"); name != nil {
		c.refuseInvalid(name, content.IsPathSegmentName(name.Text))
	}
}

func (c *check) bindingSubject(n *object.Node) {
	c.requireFields(n, "kind", "name")
	group, name := n.Get("apiGroup"), n.Get("name")
	switch kind := n.Get("kind"); kind.StringAt() {
	case "ServiceAccount":
		if name.StringAt() != "" && !isLabel(name.Text) {
			c.refuseInvalid(name, validation.IsDNS1123Subdomain(name.Text))
		}
		if group.StringAt() != "" {
			c.refuse(group, "", "found `%s`, a ServiceAccount has none", group.Text)
		}
		if !c.table.Namespaced && n.StringAt("namespace") == "" {
			c.refuse(n, "namespace", "required, but missing")
		}
	case "User", "Group":
		if group.StringAt() != "" {
			c.oneOf(group, rbacGroup)
		}
	case "":
	default:
		c.oneOf(kind, "User", "Group", "ServiceAccount")
	}
}
