package plan

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
)

// policiesMinor is the first Kubernetes minor version that serves ValidatingAdmissionPolicies
// (https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/).
const policiesMinor = 30

// AdmissionPolicies reports whether the API server can enforce policies by itself.
func (c *Cluster) AdmissionPolicies() bool { return c.Minor >= policiesMinor }

// mutatingPoliciesMinor is the first Kubernetes minor version that serves MutatingAdmissionPolicies by default.
// Before, they are a beta that is off
// (https://kubernetes.io/docs/reference/access-authn-authz/mutating-admission-policy/).
const mutatingPoliciesMinor = 36

// LabelsAtAdmission reports whether the API server can label the jobs of our own controller when it takes them. Beside
// Kubeflow Trainer the label alone would claim the job for our controller.
func (c *Cluster) LabelsAtAdmission() bool { return c.Minor >= mutatingPoliciesMinor && c.Bundled.V }

// PinsMemory reports whether pods of a runtime of the cluster need the capability IPC_LOCK.
func (c *Cluster) PinsMemory() bool {
	return slices.ContainsFunc(c.Runtimes, func(r *Runtime) bool { return r.Profile.Fabric.LockMemory.V })
}

// Profiles returns the profiles of the cluster's runtimes, sorted by name, each once.
func (c *Cluster) Profiles() []*Profile {
	profiles := make([]*Profile, 0, len(c.Runtimes))
	for _, r := range c.Runtimes {
		profiles = append(profiles, r.Profile)
	}
	slices.SortFunc(profiles, func(a, b *Profile) int { return cmp.Compare(a.Name, b.Name) })
	return slices.Compact(profiles)
}

// MaxSlots is the most ranks that a TrainJob may start on one node: one per accelerator, on machines without accelerators one per
// core that a node gets, and never less than the runtime itself starts.
func (r *Runtime) MaxSlots() int64 {
	most := int64(r.Profile.Accelerators.V)
	if r.Profile.Accelerator.V == "" {
		most = r.CPU.V.Value()
	}
	return max(most, int64(r.Slots.V), 1)
}

// MaxAccelerators is how many accelerators one job of the tenant may take on machines of a profile: on clusters that queue what
// its queue has and may borrow, elsewhere what its quota has. There is none for machines without accelerators, and for a
// queue that may borrow without bound.
func (t *Tenant) MaxAccelerators(p *Profile) (most Value[int64], bounded bool) {
	if p.Accelerator.V == "" {
		return Value[int64]{}, false
	}
	if t.Queue == nil {
		granted := t.Quota.Accelerator(p.Accelerator.V)
		return inheritedValue(granted, granted.V.Value(), "a job takes no more than the quota of its namespace"), true
	}
	i := slices.IndexFunc(t.Queue.Shares, func(s Share) bool { return s.Profile == p })
	if i < 0 {
		return inheritedValue(t.Queue.Preempts, int64(0), "the tenant's queue has no machines of the profile"), true
	}
	share := &t.Queue.Shares[i]
	nodes := int64(share.Nodes.V)
	switch {
	case t.Queue.Cohort.V == "":
	case share.Borrow.V == nil:
		return Value[int64]{}, false
	default:
		nodes += int64(*share.Borrow.V)
	}
	most = inheritedValue(share.Nodes, nodes*int64(p.Accelerators.V), "all accelerators of the machines that the tenant has and may borrow")
	most.Also = append(most.Also, share.Borrow.At, p.Accelerators.At)
	return most, true
}

// MaxCPULimit is the most CPU that a container of the tenant may be limited to; nil for no bound. It is what the tenant may ask for, or
// the limit of one of its runtimes, which is more than is asked for: a LimitRange bounds limits and requests by the same number, and the
// policy for TrainJobs bounds what is asked for. Without policies runtimes have no such limit.
func (t *Tenant) MaxCPULimit(c *Cluster) Value[*resource.Quantity] {
	most := t.Limits.MaxCPU
	if most.V == nil || !c.AdmissionPolicies() {
		return most
	}
	for r := range t.RuntimesToCheck() {
		if limit := r.CPULimit(); limit.V.Cmp(*most.V) > 0 {
			most = Value[*resource.Quantity]{V: &limit.V, Origin: limit.Overriding(most.V.String(), &most.Origin)}
		}
	}
	return most
}
