package lower

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// The roles that people of a tenant get in their namespaces, and the one that lets them see the catalog.
const (
	adminRole         = "lockstep-tenant-admin"
	editorRole        = "lockstep-tenant-editor"
	viewerRole        = "lockstep-tenant-viewer"
	shellRole         = "lockstep-tenant-shell"
	secretsRole       = "lockstep-tenant-secrets"
	runtimeReaderRole = "lockstep-runtime-reader"
)

// The roles that become a part of the platform's own, and the labels that make them one
// (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#aggregated-clusterroles).
const (
	aggregatedViewRole = "lockstep-aggregate-to-view"
	aggregatedEditRole = "lockstep-aggregate-to-edit"
	aggregateToView    = rbacGroup + "/aggregate-to-view"
	aggregateToEdit    = rbacGroup + "/aggregate-to-edit"
)

var (
	read  = []string{"get", "list", "watch"}
	write = []string{"create", "update", "patch", "delete"}
)

var (
	viewerRule        = origin.Rule("viewer role", "viewers read jobs, what these made and use, and the bounds that a refusal talks about; no Secrets, which hold the keys of jobs")
	editorRule        = origin.Rule("editor role", "editors also write TrainJobs, and nothing else; no shell in pods, because one in a launcher reads the key of its job")
	adminRule         = origin.Rule("admin role", "admins also get what an on-call person needs: a shell in a pod, the removal of a pod that hangs, volumes and configuration")
	shellRule         = origin.Rule("shell role", "a tenant may give others than its admins a shell in pods and forwarded ports")
	secretsRule       = origin.Rule("secrets role", "who brings Secrets reads none; the answer to a patch would hold one")
	runtimeReaderRule = origin.Rule("runtime reader role", "people choose a runtime from the catalog, which has no namespace")
	aggregatedRule    = origin.Rule("aggregated role", "whoever the platform lets see or change the workloads of a namespace, by view, edit or admin, sees and changes TrainJobs there too")
)

// sharedObjects adds what the whole cluster shares.
func (b *builder) sharedObjects(c *plan.Cluster) {
	for _, name := range c.PlatformNamespaces() {
		b.platformNamespace(c, name)
	}
	b.clusterRole(viewerRule, viewerRole, viewerRules(c))
	b.clusterRole(editorRule, editorRole, editorRules(c))
	b.clusterRole(adminRule, adminRole, adminRules(c))
	if slices.ContainsFunc(c.Tenants, func(t *plan.Tenant) bool { return len(t.Shell) > 0 }) {
		b.clusterRole(shellRule, shellRole, []object.Node{shellRights()})
	}
	if c.WritesSecrets() != nil {
		b.clusterRole(secretsRule, secretsRole, []object.Node{secretRights()})
	}
	b.aggregatedRoles(c)
	b.clusterRole(runtimeReaderRule, runtimeReaderRole, []object.Node{roleRule("trainer.kubeflow.org", read, "clustertrainingruntimes")})
}

func (b *builder) clusterRole(rule *origin.Origin, name string, rules []object.Node) {
	b.add(rule, rbacVersion, "ClusterRole", platformMeta(constantText(name)), object.List("rules", rules...))
}

// viewerRules read jobs, what they made and use (metrics.k8s.io has no watch), the bounds that a refusal talks about, and their own namespace,
// which names the runtimes of the tenant. They leave out Secrets: the keys of all jobs are Secrets of the namespace, and RBAC cannot tell one
// job's from another's.
func viewerRules(c *plan.Cluster) []object.Node {
	rules := []object.Node{
		roleRule("trainer.kubeflow.org", read, "trainjobs", "trainingruntimes"),
		roleRule("jobset.x-k8s.io", read, "jobsets"),
		roleRule("batch", read, "jobs"),
		roleRule("", read, "pods", "pods/log", "events", "configmaps", "persistentvolumeclaims", "resourcequotas", "limitranges"),
		roleRule("", []string{"get"}, "namespaces"),
		roleRule("events.k8s.io", read, "events"),
		roleRule("metrics.k8s.io", []string{"get", "list"}, "pods"),
	}
	if c.Queueing != nil {
		queues := &origin.Origin{At: c.Queueing.APIVersion.At, Kind: origin.Derived, Why: "where the cluster queues, people see why a job waits"}
		rules = append(rules, roleRule("kueue.x-k8s.io", read, "localqueues", "workloads").With(queues))
	}
	return append(rules, historyRules(c, []string{"get", "list"}, "keptjobs", "keptjobs/log")...)
}

// editorRules add TrainJobs and nothing else that can be written: no runtimes, quotas, policies or bindings. They leave out
// pods/exec, because a shell in a launcher reads the key of that job and with it commands all its nodes, whoever owns it.
//
// What RBAC cannot prevent is a TrainJob whose pods mount another job's Secret of the same namespace; the admission policy for
// TrainJobs refuses it. Namespaces are the boundary between tenants; within one, people trust each other that far.
func editorRules(c *plan.Cluster) []object.Node {
	rules := append(viewerRules(c), roleRule("trainer.kubeflow.org", write, "trainjobs"))
	return append(rules, historyRules(c, []string{"delete"}, "keptjobs")...)
}

// historyRules are rights to jobs that the history keeps: people who read logs of pods read them later, too.
func historyRules(c *plan.Cluster, verbs []string, resources ...string) []object.Node {
	if len(c.History) == 0 {
		return nil
	}
	kept := &origin.Origin{At: c.History[0].At, Kind: origin.Derived, Why: "people read of their jobs what the history keeps"}
	return []object.Node{roleRule("history.lockstep.dev", verbs, resources...).With(kept)}
}

// adminRules add what an on-call person needs: a shell in a pod, and the removal of a pod that hangs.
func adminRules(c *plan.Cluster) []object.Node {
	return append(editorRules(c),
		shellRights(),
		roleRule("", []string{"delete"}, "pods"),
		roleRule("", write, "persistentvolumeclaims", "configmaps"),
	)
}

func shellRights() object.Node {
	return roleRule("", []string{"create"}, "pods/exec", "pods/portforward")
}

func secretRights() object.Node {
	return roleRule("", []string{"create", "update", "delete"}, "secrets")
}

// aggregatedRoles add TrainJobs, and jobs that the history keeps, to the roles view, edit and admin of the platform,
// for namespaces outside of tenants: the compiler binds none of them in a namespace of a tenant. `view` is a part of
// `edit`, and `edit` of `admin`, so that two roles are enough.
// The roles of tenants add nothing: an admin of a tenant has less than `edit`, on purpose. Nothing here holds for the whole cluster,
// and runtimes, quotas and queues stay in git.
func (b *builder) aggregatedRoles(c *plan.Cluster) {
	views := []object.Node{
		roleRule("trainer.kubeflow.org", read, "trainjobs", "trainingruntimes"),
		roleRule("jobset.x-k8s.io", read, "jobsets"),
	}
	edits := []object.Node{roleRule("trainer.kubeflow.org", write, "trainjobs")}
	views = append(views, historyRules(c, []string{"get", "list"}, "keptjobs", "keptjobs/log")...)
	edits = append(edits, historyRules(c, []string{"delete"}, "keptjobs")...)
	b.aggregatedRole(aggregatedViewRole, aggregateToView, views)
	b.aggregatedRole(aggregatedEditRole, aggregateToEdit, edits)
}

func (b *builder) aggregatedRole(name, label string, rules []object.Node) {
	metadata := platformMeta(constantText(name))
	metadata.Get("labels").Put(object.Text(label, "true", nil))
	b.add(aggregatedRule, rbacVersion, "ClusterRole", metadata, object.List("rules", rules...))
}

func roleRule(group string, verbs []string, resources ...string) object.Node {
	return object.Map("",
		object.Texts("apiGroups", nil, group), object.Texts("resources", nil, resources...), object.Texts("verbs", nil, verbs...))
}
