package access

import (
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/proof/labels"
)

// The verbs that read, those that change an object, and those that change any.
var (
	reads   = []string{"get", "list", "watch"}
	writes  = []string{"create", "update", "patch", "delete"}
	changes = []string{"create", "update", "patch", "delete", "deletecollection"}
)

// The API groups.
const (
	trainer   = "trainer.kubeflow.org"
	jobset    = "jobset.x-k8s.io"
	kueue     = "kueue.x-k8s.io"
	openShift = "security.openshift.io"
)

// roleSet is a set of the roles that a tenant gives to people.
type roleSet uint8

const (
	viewer roleSet = 1 << iota
	editor
	admin
)

// expectedRights is what people of a class may do in the namespaces of their tenant, no more and no less. Editors may do what viewers may,
// admins what editors may.
func expectedRights(p *plan.Cluster, of roleSet) []Right {
	var rules []Rule
	if of != 0 {
		rules = append(rules, viewerRights(p)...)
	}
	if of&(editor|admin) != 0 {
		rules = append(rules, Rule{Verbs: writes, Groups: []string{trainer}, Resources: []string{"trainjobs"}})
	}
	if of&admin != 0 {
		rules = append(rules, operatorRights()...)
	}
	return rightsOfRules(rules)
}

// viewerRights is to read jobs, what they made and use, and the bounds that a refusal talks about. Secrets are not among it: they hold the keys
// of jobs.
func viewerRights(p *plan.Cluster) []Rule {
	rules := []Rule{
		{Verbs: reads, Groups: []string{trainer}, Resources: []string{"trainjobs", "trainingruntimes"}},
		{Verbs: reads, Groups: []string{jobset}, Resources: []string{"jobsets"}},
		{Verbs: reads, Groups: []string{"batch"}, Resources: []string{"jobs"}},
		{Verbs: reads, Groups: []string{""}, Resources: []string{
			"pods", "pods/log", "events", "configmaps", "persistentvolumeclaims", "resourcequotas", "limitranges",
		}},
		{Verbs: []string{"get"}, Groups: []string{""}, Resources: []string{"namespaces"}},
		{Verbs: reads, Groups: []string{"events.k8s.io"}, Resources: []string{"events"}},
		{Verbs: []string{"get", "list"}, Groups: []string{"metrics.k8s.io"}, Resources: []string{"pods"}},
	}
	if p.Queueing != nil {
		rules = append(rules, Rule{Verbs: reads, Groups: []string{kueue}, Resources: []string{"localqueues", "workloads"}})
	}
	return rules
}

// operatorRights is what an on-call person needs: a shell in a pod, and the removal of a pod that hangs.
func operatorRights() []Rule {
	return []Rule{
		{Verbs: []string{"create"}, Groups: []string{""}, Resources: []string{"pods/exec", "pods/portforward"}},
		{Verbs: []string{"delete"}, Groups: []string{""}, Resources: []string{"pods"}},
		{Verbs: writes, Groups: []string{""}, Resources: []string{"persistentvolumeclaims", "configmaps"}},
	}
}

// catalogRights is what people of all tenants may do in the whole cluster.
func catalogRights() []Right {
	return rightsOfRules([]Rule{{Verbs: reads, Groups: []string{trainer}, Resources: []string{"clustertrainingruntimes"}}})
}

// accountRights is the most that an account of a tenant may do in its namespace: on OpenShift those of jobs run under the constraints that
// are compiled for them.
func accountRights(p *plan.Cluster, name string) []Right {
	constraints := map[string]string{"mpi": "lockstep-mpi", "mpi-rdma": "lockstep-mpi-rdma"}[name]
	if !p.OpenShift || constraints == "" {
		return nil
	}
	return []Right{{"use", openShift, "securitycontextconstraints", constraints}}
}

// bannedRight is a right that nobody of a tenant may have anywhere, and why.
type bannedRight struct {
	right  Right
	why    string
	weight banWeight
}

// banWeight is how much a ban says of those who belong to no tenant.
type banWeight uint8

const (
	// severe breaks the boundaries of tenants, or makes its holder more than it is, wherever somebody gains it. A shell in a pod is not:
	// admins of tenants have it. Nor is the use of a constraint: the constraint itself is judged.
	severe banWeight = 1 << iota
	// takeover makes its holder the owner of the cluster, or of everybody's keys.
	takeover
)

// bannedRights is some bans, in their order and by the group of the API that they are about, which is never all of them.
type bannedRights struct {
	all     []bannedRight
	ofGroup map[string][]bannedRight
}

// The ways around what a reviewer approved, all of them and those of a weight. Promises decide; bans explain, hold for what roles of the
// platform become by aggregation, and say by their weight what others should not have or gain.
var (
	bans       = bansOfWeight(0)
	severeBans = bansOfWeight(severe)
	takeovers  = bansOfWeight(takeover)
)

// bansOfWeight returns the bans that have a weight.
func bansOfWeight(w banWeight) *bannedRights {
	list := &bannedRights{ofGroup: map[string][]bannedRight{}}
	for _, b := range allBans() {
		if b.weight&w == w {
			list.all, list.ofGroup[b.right.Group] = append(list.all, b), append(list.ofGroup[b.right.Group], b)
		}
	}
	return list
}

// reasonAgainst returns why a right is banned, or "".
func (l *bannedRights) reasonAgainst(r Right) string {
	near := l.ofGroup[r.Group]
	if r.Group == all {
		near = l.all
	}
	for i := range near {
		if near[i].right.overlaps(r) {
			return near[i].why
		}
	}
	return ""
}

// allBans is the only place that says which rights are banned, and how much they weigh.
func allBans() []bannedRight {
	var list []bannedRight
	add := func(weight banWeight, why, apiGroup string, verbs []string, resources ...string) {
		for _, resource := range resources {
			for _, verb := range verbs {
				list = append(list, bannedRight{Right{verb, apiGroup, resource, ""}, why, weight})
			}
		}
	}
	add(severe|takeover, "Secrets hold the keys of jobs and the credentials of registries", "", []string{all}, "secrets")
	add(severe|takeover, "who acts as somebody else has the rights of both", "", []string{"impersonate"}, "users", "groups", "serviceaccounts")
	add(severe|takeover, "who acts as somebody else has the rights of both", "authentication.k8s.io", []string{"impersonate"}, all)
	add(severe|takeover, "a token is the account itself, for as long as it is valid", "", []string{"create"}, "serviceaccounts/token")
	add(takeover, "a shell in a launcher reads the key of its job", "", []string{"create", "get"}, "pods/exec", "pods/attach")
	add(0, "a shell in a launcher reads the key of its job", "", []string{"create", "get"}, "pods/portforward", "pods/proxy")
	add(takeover, "a container that is added to a pod is a shell in it", "", []string{"update", "patch"}, "pods/ephemeralcontainers")
	add(severe, "runtimes are what everybody's jobs execute", trainer, changes, "clustertrainingruntimes", "trainingruntimes")
	add(severe, "quotas and limits are decided in git", "", changes, "resourcequotas", "limitranges")
	add(severe, "network policies are what keeps tenants apart", "networking.k8s.io", changes, "networkpolicies")
	add(severe, "network policies are what keeps tenants apart", "policy.networking.k8s.io", changes, all)
	add(severe, "network policies are what keeps tenants apart", "crd.projectcalico.org", changes, "networkpolicies", "globalnetworkpolicies")
	add(severe, "network policies are what keeps tenants apart", "projectcalico.org", changes, "networkpolicies", "globalnetworkpolicies")
	add(severe, "network policies are what keeps tenants apart", "cilium.io", changes, "ciliumnetworkpolicies", "ciliumclusterwidenetworkpolicies")
	add(severe|takeover, "who writes roles or bindings has all rights", rbacGroup, []string{"bind", "escalate"}, all)
	add(severe, "who writes roles or bindings has all rights", rbacGroup, changes, all)
	add(severe, "labels of namespaces decide about Pod Security and selectors", "", changes, "namespaces", "namespaces/status", "namespaces/finalize")
	add(severe, "admission policies enforce what specs promise", "admissionregistration.k8s.io", changes, all)
	add(severe, "a new kind or API can replace an old one", "apiextensions.k8s.io", changes, all)
	add(severe, "a new kind or API can replace an old one", "apiregistration.k8s.io", changes, all)
	add(severe|takeover, "a certificate can be anybody", "certificates.k8s.io", []string{"approve", "sign"}, all)
	add(0, "a certificate can be anybody", "certificates.k8s.io", changes, all)
	add(severe, "priorities decide whose pods are removed", "scheduling.k8s.io", changes, "priorityclasses")
	add(severe, "constraints decide what a pod may do to its machine", openShift, changes, "securitycontextconstraints")
	add(0, "constraints decide what a pod may do to its machine", openShift, []string{"use"}, "securitycontextconstraints")
	add(severe, "queues are decided in git", kueue, changes, "clusterqueues", "localqueues", "resourceflavors", "cohorts", "topologies", "workloadpriorityclasses")
	add(severe|takeover, "machines and their volumes are everybody's", "", changes, "nodes/proxy")
	// A command in a pod is a WebSocket, which begins with a GET (https://kubernetes.io/docs/concepts/security/rbac-good-practices/#access-to-proxy-subresource-of-nodes).
	add(severe, "kubelets run commands in everybody's pods", "", []string{"get"}, "nodes/proxy")
	add(severe, "machines and their volumes are everybody's", "", changes, "nodes", "persistentvolumes")
	return list
}

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
