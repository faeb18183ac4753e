package lower

import (
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// The service accounts of jobs. None has a token: pods of jobs do not speak to the API server.
const (
	// anyAccount is the one that Kubernetes makes in each namespace and gives to pods that name no other.
	anyAccount = "default"
	// jobAccount may use the SCC lockstep-mpi. It exists on OpenShift, where an account decides what a pod may do.
	jobAccount = "mpi"
	// rdmaAccount is that of jobs that pin memory: the admission policy, and on OpenShift an SCC, let its pods add IPC_LOCK.
	rdmaAccount = "mpi-rdma"
)

var (
	serviceAccountRule = origin.Rule("service account", "pods of jobs do not speak to the API server: the account that they get by default has no token")
	jobAccountRule     = origin.Rule("service account", "OpenShift decides by its account what a pod may do; this one may do what runtimes need, and has no token")
	rdmaAccountRule    = origin.Rule("service account", "pods that pin memory need the capability IPC_LOCK; an account of their own keeps it from all others")
)

// serviceAccountOf is the service account of the pods of a runtime; "" means the default one.
func serviceAccountOf(c *plan.Cluster, r *plan.Runtime) string {
	switch {
	case r.Profile.Fabric.LockMemory.V:
		return rdmaAccount
	case c.OpenShift:
		return jobAccount
	}
	return ""
}

// usedAccounts says which of the accounts besides the default one a tenant's jobs use.
func usedAccounts(c *plan.Cluster, t *plan.Tenant) (job, rdma bool) {
	for r := range t.AllowedRuntimes() {
		account := serviceAccountOf(c, r)
		job, rdma = job || account == jobAccount, rdma || account == rdmaAccount
	}
	return job, rdma
}

// serviceAccounts takes the token from the namespace's `default` account, which every pod uses that names no other, and adds the
// accounts that the tenant's runtimes name. Kubernetes creates `default` itself; applying it changes what is written here only.
func (b *builder) serviceAccounts(c *plan.Cluster, t *plan.Tenant, namespace *plan.Value[string]) {
	b.serviceAccount(serviceAccountRule, t, namespace, anyAccount)
	job, rdma := usedAccounts(c, t)
	if job {
		b.serviceAccount(jobAccountRule, t, namespace, jobAccount)
	}
	if rdma {
		b.serviceAccount(rdmaAccountRule, t, namespace, rdmaAccount)
	}
}

func (b *builder) serviceAccount(rule *origin.Origin, t *plan.Tenant, namespace *plan.Value[string], name string) {
	b.add(rule, "v1", "ServiceAccount",
		object.Bool("automountServiceAccountToken", false, nil),
		pullSecrets(t),
		tenantMeta(t, namespace, constantText(name)))
}

// pullSecrets are on accounts, not in runtimes: those of the catalog are shared and know no tenant's secret.
func pullSecrets(t *plan.Tenant) object.Node {
	if len(t.PullSecrets) == 0 {
		return object.Node{}
	}
	secrets := make([]object.Node, len(t.PullSecrets))
	for i := range t.PullSecrets {
		secrets[i] = object.Map("", planText("name", &t.PullSecrets[i]))
	}
	return object.List("imagePullSecrets", secrets...)
}
