package lower

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

var (
	applierRule = origin.Rule("applier", "Flux applies what is in a tenant's namespaces with the rights of this account, which end there")
	applyRule   = origin.Rule("applier", "exactly the kinds that are compiled for the tenant, to apply, watch and prune them")
	bindRule    = origin.Rule("applier", "who writes a RoleBinding must have what it grants, or may bind exactly this role")
)

// applierPrefix begins the ClusterRole of a tenant's account. It is not that of the account, which with the names of some tenants would
// be the name of a role of all tenants, such as lockstep-tenant-admin.
const applierPrefix = "lockstep-applier-"

// applyVerbs are what server-side apply, health checks and pruning take. Flux never updates and never deletes collections.
var applyVerbs = []string{"create", "delete", "get", "list", "patch", "watch"}

// applier adds the account with whose rights Flux applies the objects in a tenant's namespaces: a role with their kinds, bound in
// each namespace. Roles that these objects bind may be bound, and no others.
func (b *builder) applier(c *plan.Cluster, t *plan.Tenant, inside []object.Object) {
	name, role := tenantPrefix+t.Name.V, applierPrefix+t.Name.V
	b.add(applierRule, "v1", "ServiceAccount",
		object.Bool("automountServiceAccountToken", false, nil), gitOpsMeta(c, t, name))
	b.add(applierRule, rbacVersion, "ClusterRole",
		tenantMeta(t, nil, object.Text("", role, made(&t.Name.Origin, ofTenant))), object.List("rules", applierRules(inside)...))
	for i := range t.Namespaces {
		b.add(applierRule, rbacVersion, "RoleBinding",
			tenantMeta(t, &t.Namespaces[i], constant("lockstep-applier")),
			clusterRoleRef(role),
			object.List("subjects", object.Map("",
				object.Text("kind", "ServiceAccount", nil), object.Text("name", name, nil), text("namespace", &c.GitOps.Namespace))))
	}
}

func applierRules(inside []object.Object) []object.Node {
	var rules []object.Node
	for _, kind := range kindsOf(inside) {
		rules = append(rules, object.Map("",
			object.Texts("apiGroups", nil, kind.group), object.Texts("resources", nil, plural(kind)), object.Texts("verbs", nil, applyVerbs...)).With(applyRule))
	}
	if roles := boundRoles(inside); len(roles) > 0 {
		rules = append(rules, object.Map("",
			object.Texts("apiGroups", nil, rbacGroup), object.List("resourceNames", roles...),
			object.Texts("resources", nil, "clusterroles"), object.Texts("verbs", nil, "bind")).With(bindRule))
	}
	return rules
}

// plural is the name of a kind in requests. The kinds of a tenant are all named by the rule.
func plural(kind resourceKind) string {
	resource, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: kind.group, Kind: kind.kind})
	return resource.Resource
}

// boundRoles returns the ClusterRoles that RoleBindings grant, in the order in which they come, each once. They follow from whom the
// first of these bindings names.
func boundRoles(objects []object.Object) []object.Node {
	var roles []object.Node
	seen := map[string]bool{}
	for i := range objects {
		role := objects[i].Root.At("roleRef", "name")
		if objects[i].ID.Kind != "RoleBinding" || role == nil || seen[role.Text] {
			continue
		}
		seen[role.Text] = true
		var from *origin.Origin
		if named := firstSubject(&objects[i]); named != nil {
			from = made(named, "the role is bound here")
		}
		roles = append(roles, object.Text("", role.Text, from))
	}
	return roles
}

// firstSubject is where a binding has the name of its first subject from, nil for a rule.
func firstSubject(binding *object.Object) *origin.Origin {
	subjects := binding.Root.Get("subjects")
	if subjects == nil || len(subjects.Children) == 0 || subjects.Children[0].Get("name") == nil {
		return nil
	}
	return subjects.Children[0].Get("name").From
}
