package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// strictest is the Pod Security Standard of tenants who choose none.
const strictest = "restricted"

// pinnedMemoryIsGuarded refuses pinned memory on versions where nothing could enforce anything in namespaces whose pods need IPC_LOCK: no
// Pod Security Standard admits it, so an admission policy must. On OpenShift an SCC does.
func pinnedMemoryIsGuarded(c *plan.Cluster, list *diag.List) {
	if c.OpenShift || c.AdmissionPolicies() {
		return
	}
	for _, r := range c.Runtimes {
		if r.Profile.Fabric.LockMemory.V {
			list.Errorf(diag.PinnedMemoryUnguarded, c.Version.At, "Kubernetes %s has no ValidatingAdmissionPolicies, and jobs of the runtime `%s` pin memory", c.Version.V, r.Name.V).
				Also(r.ProfileName.At, "its profile").
				Notef("their namespaces must admit the capability IPC_LOCK, which no Pod Security Standard but `privileged` does; from 1.30 a policy refuses the rest").
				Helpf("use a newer version, or machines whose container runtime sets no limit (`lockedMemory: Unlimited`)")
		}
	}
}

// pinnedMemoryIsRestricted warns a tenant that admits more than `restricted` and has jobs that pin memory: in its namespaces the
// admission policy for pinned memory holds, which is `restricted` with the exception of IPC_LOCK.
func pinnedMemoryIsRestricted(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		if r := t.PinsMemory(); r != nil && t.PodSecurity.V != strictest {
			list.Warnf(diag.LevelNotKept, t.PodSecurity.At, "`%s` does not hold on the cluster `%s`: namespaces with jobs that pin memory are `restricted` but for IPC_LOCK", t.PodSecurity.V, c.Name.V).
				Also(runtimeNameInTenant(t, r).At, "the runtime `%s` pins memory", r.Name.V).
				Helpf("remove `podSecurity`, or leave runtimes with `lockedMemory: Capability` to another tenant")
		}
	}
}
