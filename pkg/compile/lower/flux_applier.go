package lower

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

var (
	applierRule = origin.Rule("applier", "Flux applies what a tenant may write itself with the rights of this account, which end in the tenant's namespaces")
	lookRule    = origin.Rule("applier", "where a volume outlives its place in git, Flux must still see that it is to be kept")
	applyRule   = origin.Rule("applier", "what people of the tenant may write themselves, to apply, watch and prune it: nothing that bounds the tenant")
)

// applierPrefix begins the ClusterRole of a tenant's account. It is not that of the account, which with the names of some tenants would
// be the name of a role of all tenants, such as lockstep-tenant-admin.
const applierPrefix = "lockstep-applier-"

// applierBinding gives an account its role.
const applierBinding = "lockstep-applier"

// applyVerbs are what server-side apply, health checks and pruning take. Flux never updates and never deletes collections.
var applyVerbs = []string{"create", "delete", "get", "list", "patch", "watch"}

// jobsPrefix begins the names of everything that applies TrainJobs from a tenant's own repository.
const jobsPrefix = "lockstep-jobs-"

// trainJobKind is all that comes from a tenant's own repository.
var trainJobKind = []resourceKind{{group: "trainer.kubeflow.org", kind: "TrainJob"}}

// fluxApplier adds the account with whose rights Flux applies a tenant's own objects: a role with their kinds, bound in each namespace. A
// tenant without such objects has no account. The binding stays where a volume does: without the right to look at what it applied once, Flux fails.
func (b *builder) fluxApplier(c *plan.Cluster, t *plan.Tenant, own []object.Object) {
	if len(own) > 0 {
		b.applierAccount(c, t, tenantPrefix+t.Name.V, applierPrefix+t.Name.V, applierBinding, kindsOf(own))
	}
	if t.Jobs != nil {
		name := jobsPrefix + t.Name.V
		b.applierAccount(c, t, name, name, "lockstep-jobs", trainJobKind)
	}
}

func (b *builder) applierAccount(c *plan.Cluster, t *plan.Tenant, name, role, binding string, kinds []resourceKind) {
	b.add(applierRule, "v1", "ServiceAccount",
		object.Bool("automountServiceAccountToken", false, nil), gitOpsMeta(c, t, name))
	b.add(applierRule, rbacVersion, "ClusterRole",
		tenantMeta(t, nil, object.Text("", role, derivedOrigin(&t.Name.Origin, ofTenant))), object.List("rules", applierRules(kinds)...))
	for i := range t.Namespaces {
		namespace := &t.Namespaces[i]
		metadata := tenantMeta(t, namespace, constantText(binding))
		if binding == applierBinding && holdsClaims(t, namespace.V) {
			metadata.Put(object.Map("annotations", keepAnnotations(lookRule)...))
		}
		b.add(applierRule, rbacVersion, "RoleBinding",
			metadata,
			clusterRoleRef(role),
			object.List("subjects", object.Map("",
				object.Text("kind", "ServiceAccount", nil), object.Text("name", name, nil), planText("namespace", &c.GitOps.Namespace))))
	}
}

func applierRules(kinds []resourceKind) []object.Node {
	var rules []object.Node
	for _, kind := range kinds {
		rules = append(rules, object.Map("",
			object.Texts("apiGroups", nil, kind.group), object.Texts("resources", nil, pluralKind(kind)), object.Texts("verbs", nil, applyVerbs...)).With(applyRule))
	}
	return rules
}

// pluralKind is the name of a kind in requests. The kinds of a tenant are all named by the rule.
func pluralKind(kind resourceKind) string {
	resource, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: kind.group, Kind: kind.kind})
	return resource.Resource
}
