package access

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/proof/labels"
)

// The verbs that change something, those that read, and all.
var (
	reads  = []string{"get", "list", "watch"}
	writes = []string{"create", "update", "patch", "delete"}
)

// The API groups.
const (
	trainer   = "trainer.kubeflow.org"
	jobset    = "jobset.x-k8s.io"
	kueue     = "kueue.x-k8s.io"
	openShift = "security.openshift.io"
)

// class is a set of the roles that a tenant gives to people.
type class uint8

const (
	viewer class = 1 << iota
	editor
	admin
)

// promise is what people of a class may do in the namespaces of their tenant, no more and no less. Editors may do what viewers may,
// admins what editors may.
func promise(p *plan.Cluster, of class) []Right {
	var rules []Rule
	if of != 0 {
		rules = append(rules, viewing(p)...)
	}
	if of&(editor|admin) != 0 {
		rules = append(rules, Rule{Verbs: writes, Groups: []string{trainer}, Resources: []string{"trainjobs"}})
	}
	if of&admin != 0 {
		rules = append(rules, operating()...)
	}
	return rights(rules)
}

// viewing is to read jobs, what they made, and the bounds that a refusal talks about. Secrets are not among it: they hold the keys
// of jobs.
func viewing(p *plan.Cluster) []Rule {
	rules := []Rule{
		{Verbs: reads, Groups: []string{trainer}, Resources: []string{"trainjobs", "trainingruntimes"}},
		{Verbs: reads, Groups: []string{jobset}, Resources: []string{"jobsets"}},
		{Verbs: reads, Groups: []string{"batch"}, Resources: []string{"jobs"}},
		{Verbs: reads, Groups: []string{""}, Resources: []string{
			"pods", "pods/log", "events", "configmaps", "persistentvolumeclaims", "resourcequotas", "limitranges",
		}},
		{Verbs: reads, Groups: []string{"events.k8s.io"}, Resources: []string{"events"}},
	}
	if p.Queueing != nil {
		rules = append(rules, Rule{Verbs: reads, Groups: []string{kueue}, Resources: []string{"localqueues", "workloads"}})
	}
	return rules
}

// operating is what an on-call person needs: a shell in a pod, and the removal of a pod that hangs.
func operating() []Rule {
	return []Rule{
		{Verbs: []string{"create"}, Groups: []string{""}, Resources: []string{"pods/exec", "pods/portforward"}},
		{Verbs: []string{"delete"}, Groups: []string{""}, Resources: []string{"pods"}},
		{Verbs: writes, Groups: []string{""}, Resources: []string{"persistentvolumeclaims", "configmaps"}},
	}
}

// catalog is what people of all tenants may do in the whole cluster.
func catalog() []Right {
	return rights([]Rule{{Verbs: reads, Groups: []string{trainer}, Resources: []string{"clustertrainingruntimes"}}})
}

// accounts is the most that an account of a tenant may do in its namespace: on OpenShift those of jobs run under the constraints that
// are compiled for them.
func accounts(p *plan.Cluster, name string) []Right {
	constraints := map[string]string{"mpi": "lockstep-mpi", "mpi-rdma": "lockstep-mpi-rdma"}[name]
	if !p.OpenShift || constraints == "" {
		return nil
	}
	return []Right{{"use", openShift, "securitycontextconstraints", constraints}}
}

// ban is a right that nobody of a tenant may have anywhere, and why.
type ban struct {
	right Right
	why   string
}

// bans are the ways around what a reviewer approved. Promises decide; bans explain, and hold for what roles of the platform become
// by aggregation.
func bans() []ban {
	var list []ban
	add := func(why, apiGroup string, verbs []string, resources ...string) {
		for _, resource := range resources {
			for _, verb := range verbs {
				list = append(list, ban{Right{verb, apiGroup, resource, ""}, why})
			}
		}
	}
	change := append(slices.Clone(writes), "deletecollection")
	add("Secrets hold the keys of jobs and the credentials of registries", "", []string{all}, "secrets")
	add("who acts as somebody else has the rights of both", "", []string{"impersonate"}, "users", "groups", "serviceaccounts")
	add("who acts as somebody else has the rights of both", "authentication.k8s.io", []string{"impersonate"}, all)
	add("a token is the account itself, for as long as it is valid", "", []string{"create"}, "serviceaccounts/token")
	add("a shell in a launcher reads the key of its job", "", []string{"create", "get"}, "pods/exec", "pods/attach", "pods/portforward", "pods/proxy")
	add("a container that is added to a pod is a shell in it", "", []string{"update", "patch"}, "pods/ephemeralcontainers")
	add("runtimes are what everybody's jobs execute", trainer, change, "clustertrainingruntimes", "trainingruntimes")
	add("quotas and limits are decided in git", "", change, "resourcequotas", "limitranges")
	add("network policies are what keeps tenants apart", "networking.k8s.io", change, "networkpolicies")
	add("network policies are what keeps tenants apart", "policy.networking.k8s.io", change, all)
	add("who writes roles or bindings has all rights", rbacGroup, append(change, "bind", "escalate"), all)
	add("labels of namespaces decide about Pod Security and selectors", "", change, "namespaces", "namespaces/status", "namespaces/finalize")
	add("admission policies enforce what specs promise", "admissionregistration.k8s.io", change, all)
	add("a new kind or API can replace an old one", "apiextensions.k8s.io", change, all)
	add("a new kind or API can replace an old one", "apiregistration.k8s.io", change, all)
	add("a certificate can be anybody", "certificates.k8s.io", append(change, "approve", "sign"), all)
	add("priorities decide whose pods are removed", "scheduling.k8s.io", change, "priorityclasses")
	add("constraints decide what a pod may do to its machine", openShift, append(change, "use"), "securitycontextconstraints")
	add("queues are decided in git", kueue, change, "clusterqueues", "localqueues", "resourceflavors", "cohorts", "topologies", "workloadpriorityclasses")
	add("machines and their volumes are everybody's", "", change, "nodes", "nodes/proxy", "persistentvolumes")
	return list
}

// reason returns why a right is banned, or "".
func reason(r Right, list []ban) string {
	for _, b := range list {
		if b.right.meets(r) {
			return b.why
		}
	}
	return ""
}

// platformRoles are the roles that every cluster has, as far as they matter: what view, edit and admin are known for, without what
// they only read (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#user-facing-roles).
func platformRoles() []*role {
	const label = "rbac.authorization.k8s.io/aggregate-to-"
	named := func(name string, rules ...Rule) *role {
		r := &role{roleRef: roleRef{name: name}, labels: map[string]string{}, rules: rules}
		if name != "cluster-admin" {
			r.aggregates = aggregating(label + name)
		}
		return r
	}
	core := []string{""}
	viewRole := named("view", Rule{Verbs: reads, Groups: core, Resources: []string{"pods", "configmaps", "services", "serviceaccounts", "events"}})
	editRole := named("edit",
		Rule{Verbs: reads, Groups: core, Resources: []string{"secrets", "pods/exec", "pods/attach", "pods/portforward", "pods/proxy"}},
		Rule{Verbs: append(slices.Clone(writes), "deletecollection"), Groups: core, Resources: []string{
			"pods", "pods/exec", "pods/attach", "pods/portforward", "pods/proxy", "secrets", "configmaps", "services", "serviceaccounts",
		}},
		Rule{Verbs: []string{"impersonate"}, Groups: core, Resources: []string{"serviceaccounts"}},
		Rule{Verbs: []string{"create"}, Groups: core, Resources: []string{"serviceaccounts/token"}},
		Rule{Verbs: append(slices.Clone(writes), "deletecollection"), Groups: []string{"networking.k8s.io"}, Resources: []string{"networkpolicies", "ingresses"}})
	adminRole := named("admin",
		Rule{Verbs: append(slices.Clone(writes), "deletecollection"), Groups: []string{rbacGroup}, Resources: []string{"roles", "rolebindings"}})
	viewRole.labels[label+"edit"] = "true"
	editRole.labels[label+"admin"] = "true"
	return []*role{
		viewRole, editRole, adminRole,
		named("cluster-admin", Rule{Verbs: []string{all}, Groups: []string{all}, Resources: []string{all}}, Rule{Verbs: []string{all}, URLs: []string{all}}),
	}
}

func aggregating(label string) []labels.Selector {
	return []labels.Selector{labels.Named(label, "true")}
}
