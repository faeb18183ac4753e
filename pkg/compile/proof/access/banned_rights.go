package access

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
	// The answer to a patch holds the whole object.
	reading := append([]string{"patch"}, reads...)
	add(severe|takeover, "Secrets hold the keys of jobs and the credentials of registries", "", reading, "secrets")
	add(severe|takeover, "a Secret may become the key of a job, or a token of another account", "", changes, "secrets")
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
