package lower

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// kueueGroup is the API group of Kueue. v1beta1 and v1beta2 differ for us in one name: a ClusterQueue's `cohort` is `cohortName`
// in v1beta2 (sigs.k8s.io/kueue/apis/kueue).
const kueueGroup = "kueue.x-k8s.io/"

func kueueAPI(c *plan.Cluster) string { return kueueGroup + c.Queueing.APIVersion.V }

// queueing adds what all queues of a cluster share.
func (b *builder) queueing(c *plan.Cluster) {
	if c.Queueing == nil {
		return
	}
	for i := range c.Capacity {
		b.topology(c, c.Capacity[i].Profile)
		b.resourceFlavor(c, c.Capacity[i].Profile)
	}
	for _, cohort := range c.Queueing.Cohorts {
		b.cohort(c, cohort)
	}
	for i := range c.Priorities {
		b.workloadPriorityClass(c, &c.Priorities[i])
	}
}

var (
	coveredRule = origin.Rule("queue", "all that a machine of any share offers is counted: Kueue refuses jobs that request anything else")
	noneRule    = origin.Rule("queue", "every flavor lists every covered resource, and machines of this profile have none of it")
)

// machineQuota is the amount of machines in one field of a queue; nil for a field that is not there.
type machineQuota struct {
	field    string
	machines int64
	from     *origin.Origin
}

// newMachineQuota says that the amounts of a field come from a number of machines, and from what a profile says of one.
func newMachineQuota(field string, number int32, at *origin.Origin, machines *plan.Machines) *machineQuota {
	return &machineQuota{field: field, machines: int64(number), from: &origin.Origin{
		At: at.At, Kind: origin.Derived, Why: "the number of machines, times what one machine of the profile counts for", Lost: at.Lost, Also: machines.UnitPlaces,
	}}
}

// resourceGroups is the one group of a queue or cohort: a flavor per share, each with all covered resources. Profiles without
// accelerators come first, so that pods which could run anywhere leave the accelerators alone. Limits are written for members
// only: Kueue refuses them without a cohort or parent.
func resourceGroups(c *plan.Cluster, shares []plan.Share, member bool) object.Node {
	ordered := profilesCheapestFirst(c, shares)
	covered := coveredResources(c, ordered)
	if len(covered) == 0 {
		return object.Node{}
	}
	flavors := make([]object.Node, 0, len(ordered))
	for _, share := range ordered {
		flavors = append(flavors, flavorQuotas(c.MachinesOf(share.Profile.Name), share, covered, member))
	}
	return object.List("resourceGroups", object.Map("",
		object.Texts("coveredResources", coveredRule, covered...),
		object.List("flavors", flavors...)))
}

// profilesCheapestFirst returns the shares of machines that the cluster has, those without accelerators first.
func profilesCheapestFirst(c *plan.Cluster, shares []plan.Share) []*plan.Share {
	ordered := make([]*plan.Share, 0, len(shares))
	for _, accelerated := range []bool{false, true} {
		for i := range shares {
			p := shares[i].Profile
			if (p.Accelerator.V != "") == accelerated && c.MachinesOf(p.Name) != nil {
				ordered = append(ordered, &shares[i])
			}
		}
	}
	return ordered
}

func coveredResources(c *plan.Cluster, shares []*plan.Share) []string {
	var covered []string
	for _, share := range shares {
		for _, unit := range c.MachinesOf(share.Profile.Name).Unit {
			if i, found := slices.BinarySearch(covered, unit.Name); !found {
				covered = slices.Insert(covered, i, unit.Name)
			}
		}
	}
	return covered
}

func flavorQuotas(machines *plan.Machines, share *plan.Share, covered []string, member bool) object.Node {
	quotas := make([]*machineQuota, 0, 3)
	quotas = append(quotas, newMachineQuota("nominalQuota", share.Nodes.V, &share.Nodes.Origin, machines))
	if member && share.Borrow.V != nil {
		quotas = append(quotas, newMachineQuota("borrowingLimit", *share.Borrow.V, &share.Borrow.Origin, machines))
	}
	if member && share.Lend.V != nil {
		quotas = append(quotas, newMachineQuota("lendingLimit", *share.Lend.V, &share.Lend.Origin, machines))
	}
	resources := make([]object.Node, 0, len(covered))
	for _, name := range covered {
		resources = append(resources, resourceQuotas(name, machines, quotas))
	}
	return object.Map("", planText("name", &share.ProfileName), object.List("resources", resources...))
}

// resourceQuotas is what a queue holds of one resource of a flavor.
func resourceQuotas(name string, machines *plan.Machines, quotas []*machineQuota) object.Node {
	fields := make([]object.Node, 0, 1+len(quotas))
	fields = append(fields, object.Text("name", name, coveredRule))
	i := slices.IndexFunc(machines.Unit, func(u plan.Named[resource.Quantity]) bool { return u.Name == name })
	for _, q := range quotas {
		if i < 0 {
			fields = append(fields, object.Count(q.field, 0, noneRule))
			continue
		}
		amount := machines.Unit[i].V.DeepCopy()
		amount.Mul(q.machines)
		fields = append(fields, object.Quantity(q.field, amount, q.from))
	}
	return object.Map("", fields...)
}
