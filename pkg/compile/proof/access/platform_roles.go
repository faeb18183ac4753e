package access

import "lockstep.dev/lockstep/pkg/compile/proof/labels"

// platformRoles are the roles that every cluster has, as far as they matter: what view, edit and admin are known for, without what
// they only read (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#user-facing-roles).
func platformRoles() []*role {
	const label = "rbac.authorization.k8s.io/aggregate-to-"
	named := func(name string, rules ...Rule) *role {
		r := &role{roleRef: roleRef{name: name}, labels: map[string]string{}, rules: rules}
		if name != "cluster-admin" {
			r.aggregates = aggregatingRole(label + name)
		}
		return r
	}
	core := []string{""}
	viewRole := named("view", Rule{Verbs: reads, Groups: core, Resources: []string{"pods", "configmaps", "services", "serviceaccounts", "events"}})
	editRole := named("edit",
		Rule{Verbs: reads, Groups: core, Resources: []string{"secrets", "pods/exec", "pods/attach", "pods/portforward", "pods/proxy"}},
		Rule{Verbs: changes, Groups: core, Resources: []string{
			"pods", "pods/exec", "pods/attach", "pods/portforward", "pods/proxy", "secrets", "configmaps", "services", "serviceaccounts",
		}},
		Rule{Verbs: []string{"impersonate"}, Groups: core, Resources: []string{"serviceaccounts"}},
		Rule{Verbs: []string{"create"}, Groups: core, Resources: []string{"serviceaccounts/token"}},
		Rule{Verbs: changes, Groups: []string{"networking.k8s.io"}, Resources: []string{"networkpolicies", "ingresses"}})
	adminRole := named("admin",
		Rule{Verbs: changes, Groups: []string{rbacGroup}, Resources: []string{"roles", "rolebindings"}})
	viewRole.labels[label+"edit"] = "true"
	editRole.labels[label+"admin"] = "true"
	return []*role{
		viewRole, editRole, adminRole,
		named("cluster-admin", Rule{Verbs: []string{all}, Groups: []string{all}, Resources: []string{all}}, Rule{Verbs: []string{all}, URLs: []string{all}}),
	}
}

func aggregatingRole(label string) []labels.Selector {
	return []labels.Selector{labels.HasOneOf(label, "true")}
}
