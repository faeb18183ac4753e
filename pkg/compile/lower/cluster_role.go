package lower

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep.dev/lockstep/pkg/compile/plan"
)

// The roles that people of a tenant get in their namespaces, and the one that lets them see the catalog.
const (
	adminRole         = "lockstep-tenant-admin"
	editorRole        = "lockstep-tenant-editor"
	viewerRole        = "lockstep-tenant-viewer"
	runtimeReaderRole = "lockstep-runtime-reader"
)

var (
	read  = []string{"get", "list", "watch"}
	write = []string{"create", "update", "patch", "delete"}
)

// platform adds what the whole cluster shares.
func (b *builder) platform(c *plan.Cluster) {
	b.at(PlatformFolder, PlatformFile, c.Name.At)
	for _, name := range c.PlatformNamespaces() {
		b.platformNamespace(name)
	}
	b.clusterRole(viewerRole, viewerRules())
	b.clusterRole(editorRole, editorRules())
	b.clusterRole(adminRole, adminRules())
	b.clusterRole(runtimeReaderRole, []rbacv1.PolicyRule{allow("trainer.kubeflow.org", read, "clustertrainingruntimes")})
}

func (b *builder) clusterRole(name string, rules []rbacv1.PolicyRule) {
	b.add(rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		ObjectMeta: meta(name),
		Rules:      rules,
	})
}

// viewerRules read jobs, what they made, and the bounds that a refusal talks about. They leave out Secrets: the keys of
// all jobs are Secrets of the namespace, and RBAC cannot tell one job's from another's.
func viewerRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		allow("trainer.kubeflow.org", read, "trainjobs"),
		allow("jobset.x-k8s.io", read, "jobsets"),
		allow("batch", read, "jobs"),
		allow("", read, "pods", "pods/log", "events", "configmaps", "persistentvolumeclaims", "resourcequotas", "limitranges"),
		allow("events.k8s.io", read, "events"),
	}
}

// editorRules add TrainJobs and nothing else that can be written: no runtimes, quotas, policies or bindings. They leave out
// pods/exec, because a shell in a launcher reads the key of that job and with it commands all its nodes, whoever owns it.
//
// What RBAC cannot prevent is a TrainJob whose pods mount another job's Secret of the same namespace; that takes an
// admission policy. Namespaces are the boundary between tenants; within one, people trust each other that far.
func editorRules() []rbacv1.PolicyRule {
	return append(viewerRules(), allow("trainer.kubeflow.org", write, "trainjobs"))
}

// adminRules add what an on-call person needs: a shell in a pod, and the removal of a pod that hangs.
func adminRules() []rbacv1.PolicyRule {
	return append(editorRules(),
		allow("", []string{"create"}, "pods/exec", "pods/portforward"),
		allow("", []string{"delete"}, "pods"),
		allow("", write, "persistentvolumeclaims", "configmaps"),
	)
}

func allow(group string, verbs []string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
}
