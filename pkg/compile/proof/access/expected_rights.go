package access

import "lockstep.dev/lockstep/pkg/compile/plan"

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
	history   = "history.lockstep.dev"
	openShift = "security.openshift.io"
)

// roleSet is a set of the roles that a tenant gives to people.
type roleSet uint8

const (
	viewer roleSet = 1 << iota
	editor
	admin
	shell
	secrets
)

// expectedRights is what people of a class may do in the namespaces of their tenant, no more and no less. Editors may do what viewers may,
// admins what editors may.
func expectedRights(p *plan.Cluster, of roleSet) []Right {
	var rules []Rule
	if of&(viewer|editor|admin) != 0 {
		rules = append(rules, viewerRights(p)...)
	}
	if of&(editor|admin) != 0 {
		rules = append(rules, Rule{Verbs: writes, Groups: []string{trainer}, Resources: []string{"trainjobs"}})
		if len(p.History) > 0 {
			rules = append(rules, Rule{Verbs: []string{"delete"}, Groups: []string{history}, Resources: []string{"keptjobs"}})
		}
	}
	if of&(shell|admin) != 0 {
		rules = append(rules, Rule{Verbs: []string{"create"}, Groups: []string{""}, Resources: []string{"pods/exec", "pods/portforward"}})
	}
	if of&secrets != 0 {
		bring := []string{"create", "update", "delete"}
		rules = append(rules, Rule{Verbs: bring, Groups: []string{""}, Resources: []string{"secrets"}})
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
	if len(p.History) > 0 {
		resources := []string{"keptjobs", "keptjobs/log"}
		rules = append(rules, Rule{Verbs: []string{"get", "list"}, Groups: []string{history}, Resources: resources})
	}
	return rules
}

// operatorRights is what an on-call person needs beside a shell: the removal of a pod that hangs.
func operatorRights() []Rule {
	return []Rule{
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
