package plan

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/resolve"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// LocalQueue is the name of the queue that every namespace of a tenant with shares has: TrainJobs name it in the label
// `kueue.x-k8s.io/queue-name`. It is not `default`, which OpenShift AI makes itself, with another ClusterQueue behind it.
const LocalQueue = "lockstep"

// Queueing is Kueue on a cluster.
type Queueing struct {
	// Version is the minor version of the installed Kueue, such as 0.19, or "".
	Version Value[string]
	// APIVersion is KueueBeta1 or v1beta2.
	APIVersion Value[string]
	// Cohorts are sorted by name.
	Cohorts []*Cohort
}

// Cohort returns a cohort by name, or nil.
func (q *Queueing) Cohort(name string) *Cohort {
	for _, c := range q.Cohorts {
		if c.Name.V == name {
			return c
		}
	}
	return nil
}

// Cohort is a group of queues that lend to each other.
type Cohort struct {
	Name Value[string]
	// Parent is "" at the top.
	Parent Value[string]
	Shares []Share
}

// Queue is a tenant's share of the machines of a cluster.
type Queue struct {
	// Cohort is "" for a tenant that is alone.
	Cohort Value[string]
	// Shares are those of profiles that the cluster has, sorted by profile.
	Shares   []Share
	Preempts Value[string]
}

// ManagedByKueueLabel marks the namespaces whose jobs Red Hat build of Kueue queues; jobs elsewhere start at once
// (https://docs.redhat.com/en/documentation/openshift_container_platform/4.20/html/ai_workloads/red-hat-build-of-kueue).
const ManagedByKueueLabel = "kueue.openshift.io/managed"

// Whom a waiting job may stop.
const (
	PreemptsNobody   = "Nobody"
	PreemptsBorrowed = "Borrowed"
	PreemptsLower    = "Lower"
)

// Share is a number of machines of a profile.
type Share struct {
	Profile *Profile
	// ProfileName is the profile's name where the share writes it.
	ProfileName Value[string]
	Nodes       Value[int32]
	// Borrow and Lend are nil for no bound.
	Borrow, Lend Value[*int32]
}

// Machines is how many machines of a profile a cluster has.
type Machines struct {
	Profile *Profile
	// ProfileName is the profile's name in `capacity`.
	ProfileName Value[string]
	Nodes       Value[int32]
	// PricePerHour of one machine is nil where the spec names none.
	PricePerHour Value[*resource.Quantity]
	// Unit is what one machine counts for in queues, sorted by resource: what it offers, or what a node and its launcher take
	// together where a node leaves its launcher no room. A launcher is charged to the machines of its nodes, so that without this a
	// job on all machines of a share could never start. There are never more launchers than machines with nodes.
	Unit []Named[resource.Quantity]
	// UnitPlaces are where the amounts of Unit come from.
	UnitPlaces []source.Span
}

// Ineffective is what a tenant says about queues and devices without effect on any of its clusters.
type Ineffective struct {
	// Queue is where the queue is written if none of the clusters queues; nowhere otherwise.
	Queue source.Span
	// Shares are those of profiles that none of the clusters has.
	Shares []IneffectiveShare
	// Compute reports whether all clusters queue, so that Kueue counts CPU and memory, and no ResourceQuota does.
	Compute bool
	// Accelerators is where the quota for accelerators is written if all clusters queue: Kueue counts them then.
	Accelerators source.Span
	// Devices are those of the quota that no machine of its clusters has.
	Devices []Named[resource.Quantity]
}

// IneffectiveShare is a share of machines that are not there.
type IneffectiveShare struct {
	Profile Value[string]
	// Elsewhere are clusters with such machines where the tenant does not work.
	Elsewhere []string
}

// Topological reports whether Kueue places pods itself (topology-aware scheduling). It does on the whole cluster as soon as one
// profile has a topology: a queue with flavors of both kinds would never admit a job without a wish for a level to those with one.
func (c *Cluster) Topological() bool {
	return slices.ContainsFunc(c.Capacity, func(m Machines) bool { return len(m.Profile.Topology) > 0 })
}

// MachinesOf returns the machines of a profile, or nil where the cluster does not say how many there are.
func (c *Cluster) MachinesOf(profile string) *Machines {
	for i := range c.Capacity {
		if c.Capacity[i].Profile.Name == profile {
			return &c.Capacity[i]
		}
	}
	return nil
}

// Allocatable returns what one machine of the profile offers to jobs, by the name of the resource, devices and huge pages included.
func (p *Profile) Allocatable() []Named[resource.Quantity] {
	offers := []Named[resource.Quantity]{{Name: "cpu", Value: p.CPU}, {Name: "memory", Value: p.Memory}}
	count := func(name Value[string], n Value[int32]) {
		if name.V != "" {
			offers = append(offers, Named[resource.Quantity]{Name: name.V, Value: inheritedValue(n, *resource.NewQuantity(int64(n.V), resource.DecimalSI), "a number as an amount")})
		}
	}
	count(p.Accelerator, p.Accelerators)
	count(p.Fabric.Resource, p.Fabric.Count)
	if h := p.HugePages; h != nil {
		offers = append(offers, Named[resource.Quantity]{Name: "hugepages-" + h.Size.V, Value: h.Amount})
	}
	return sortedByName(offers)
}

// setQueueUnits says what one machine of each profile counts for in queues.
func (c *Cluster) setQueueUnits() {
	for i := range c.Capacity {
		m := &c.Capacity[i]
		m.Unit = m.Profile.Allocatable()
		m.addUnitPlaces() // a launcher hides what the profile offers, and counts beside it
		for _, r := range c.Runtimes {
			if r.Profile == m.Profile && !r.LauncherRunsRanks.V {
				m.addLauncherRoom("cpu", r.CPU.V, r.LauncherCPU)
				m.addLauncherRoom("memory", r.Memory.V, r.LauncherMemory)
			}
		}
		m.addUnitPlaces()
	}
}

// addUnitPlaces adds where the amounts of Unit come from, each once.
func (m *Machines) addUnitPlaces() {
	for _, u := range m.Unit {
		for _, at := range append([]source.Span{u.At}, u.Also...) {
			if !at.IsZero() && !slices.Contains(m.UnitPlaces, at) {
				m.UnitPlaces = append(m.UnitPlaces, at)
			}
		}
	}
}

// addLauncherRoom makes room for a launcher beside a node.
func (m *Machines) addLauncherRoom(name string, node resource.Quantity, launcher Value[resource.Quantity]) {
	node.Add(launcher.V)
	for i := range m.Unit {
		unit := &m.Unit[i]
		larger := node.Cmp(unit.V)
		if unit.Name == name && larger >= 0 && !slices.Contains(m.UnitPlaces, launcher.At) {
			m.UnitPlaces = append(m.UnitPlaces, launcher.At) // one of several that are largest grows alone
		}
		if unit.Name == name && larger > 0 {
			before := unit.Value
			unit.Value = inheritedValue(launcher, node, "a node and its launcher, because the node alone takes what the profile offers")
			unit.Origin = unit.Overriding(before.V.String(), &before.Origin)
		}
	}
}

func capacity(d *decode.Document, spec *v1alpha1.ClusterSpec, profiles map[string]*Profile) []Machines {
	var result []Machines
	for i := range spec.Capacity {
		if p := profiles[spec.Capacity[i].Profile]; p != nil {
			result = append(result, Machines{Profile: p, ProfileName: writtenValue(d, &spec.Capacity[i].Profile), Nodes: writtenValue(d, &spec.Capacity[i].Nodes), PricePerHour: writtenValue(d, &spec.Capacity[i].PricePerHour)})
		}
	}
	slices.SortStableFunc(result, func(a, b Machines) int { return cmp.Compare(a.Profile.Name, b.Profile.Name) })
	return result
}

// KueueBeta1 is the older version of Kueue's API. Kueue serves the newer one from KueueServesBeta2 on, and this one no
// more from KueueDropsBeta1 on (kubernetes-sigs/kueue, release notes of 0.15 and 0.20).
const (
	KueueBeta1       = "v1beta1"
	KueueServesBeta2 = "0.15"
	KueueDropsBeta1  = "0.20"
)

// kueueAPI returns the version of the API that a spec names, or that its version of Kueue serves.
func kueueAPI(d *decode.Document, spec *v1alpha1.Queueing) Value[string] {
	version := writtenValue(d, &spec.Version)
	switch {
	case d.Written(&spec.APIVersion):
		return writtenValue(d, &spec.APIVersion)
	case version.V == "":
		return derivedValue(d, &spec.APIVersion, "v1beta2", "what Kueue serves from version "+KueueServesBeta2+" on")
	case EarlierVersion(version.V, KueueServesBeta2):
		return inheritedValue(version, KueueBeta1, "what this version of Kueue serves")
	}
	return inheritedValue(version, "v1beta2", "what this version of Kueue serves")
}

func queueing(d *decode.Document, spec *v1alpha1.Queueing, profiles map[string]*Profile) *Queueing {
	if spec == nil {
		return nil
	}
	q := &Queueing{Version: writtenValue(d, &spec.Version), APIVersion: kueueAPI(d, spec)}
	for i := range spec.Cohorts {
		own := &spec.Cohorts[i]
		q.Cohorts = append(q.Cohorts, &Cohort{Name: writtenValue(d, &own.Name), Parent: writtenValue(d, &own.Parent), Shares: shares(d, own.Shares, profiles)})
	}
	slices.SortStableFunc(q.Cohorts, func(a, b *Cohort) int { return cmp.Compare(a.Name.V, b.Name.V) })
	return q
}

// queue is nil on clusters that do not queue, and for tenants without shares there.
func queue(d *resolve.Definition[v1alpha1.Tenant], c *Cluster) *Queue {
	spec := d.Spec.Spec.Queue
	if spec == nil || c.Queueing == nil {
		return nil
	}
	here := map[string]*Profile{}
	for _, machines := range c.Capacity {
		here[machines.Profile.Name] = machines.Profile
	}
	q := &Queue{
		Cohort:   writtenValue(d.Document, &spec.Cohort),
		Shares:   shares(d.Document, spec.Shares, here),
		Preempts: orDefault(d.Document, &spec.Preempts, "a tenant gets its own machines back when it needs them"),
	}
	if len(q.Shares) == 0 {
		return nil
	}
	return q
}

// shares are those of known profiles, sorted by profile.
func shares(d *decode.Document, list []v1alpha1.Share, profiles map[string]*Profile) []Share {
	var result []Share
	for i := range list {
		own := &list[i]
		if p := profiles[own.Profile]; p != nil {
			result = append(result, Share{
				Profile: p, ProfileName: writtenValue(d, &own.Profile), Nodes: writtenValue(d, &own.Nodes),
				Borrow: writtenValue(d, &own.Borrow), Lend: writtenValue(d, &own.Lend),
			})
		}
	}
	slices.SortStableFunc(result, func(a, b Share) int { return cmp.Compare(a.Profile.Name, b.Profile.Name) })
	return result
}

// ineffectiveQueue compares a tenant's queue with all clusters that it works on.
func ineffectiveQueue(b *resolve.Bundle, d *resolve.Definition[v1alpha1.Tenant]) Ineffective {
	spec := &d.Spec.Spec
	if spec.Queue == nil {
		return Ineffective{}
	}
	queues, computes := false, false
	here := map[string]bool{}
	for _, name := range spec.Clusters {
		c := b.Clusters.Get(name)
		if c == nil || !c.Valid {
			return Ineffective{}
		}
		own := &c.Spec.Spec
		queues = queues || own.Queueing != nil
		computes = computes || own.Queueing == nil || !hasProfileOfShares(own.Capacity, spec.Queue.Shares)
		for i := range own.Capacity {
			here[own.Capacity[i].Profile] = true
		}
	}
	if !queues {
		return Ineffective{Queue: d.Key(&spec.Queue)}
	}
	v := Ineffective{Shares: ineffectiveShares(b, d, here), Compute: !computes}
	if !computes && len(spec.Quota.Accelerators) > 0 {
		v.Accelerators = d.Key(&spec.Quota.Accelerators)
	}
	return v
}

// ineffectiveDevices are those of a tenant's quota that no machine of its clusters has: none where some machines are not known. A quota of
// 0 says that there shall be none.
func ineffectiveDevices(b *resolve.Bundle, d *resolve.Definition[v1alpha1.Tenant]) []Named[resource.Quantity] {
	if len(d.Spec.Spec.Quota.Accelerators) == 0 {
		return nil
	}
	has := map[string]bool{}
	for _, name := range d.Spec.Spec.Clusters {
		c := b.Clusters.Get(name)
		if c == nil || !c.Valid || b.Profiles.Incomplete() {
			return nil
		}
		for _, p := range b.Profiles.All() {
			if spec := &p.Spec.Spec; hasProfile(c.Spec.Spec.Capacity, p.Name) {
				has[spec.Fabric.Resource] = true
				if spec.Accelerator != nil {
					has[spec.Accelerator.Resource] = true
				}
			}
		}
	}
	return slices.DeleteFunc(namedEntries(d.Document, &d.Spec.Spec.Quota.Accelerators), func(device Named[resource.Quantity]) bool {
		return has[device.Name] || device.V.IsZero()
	})
}

func hasProfileOfShares(capacity []v1alpha1.Capacity, shares []v1alpha1.Share) bool {
	return slices.ContainsFunc(shares, func(s v1alpha1.Share) bool { return len(capacity) > 0 && hasProfile(capacity, s.Profile) })
}

func ineffectiveShares(b *resolve.Bundle, d *resolve.Definition[v1alpha1.Tenant], here map[string]bool) []IneffectiveShare {
	var result []IneffectiveShare
	for i := range d.Spec.Spec.Queue.Shares {
		share := &d.Spec.Spec.Queue.Shares[i]
		if here[share.Profile] {
			continue
		}
		v := IneffectiveShare{Profile: writtenValue(d.Document, &share.Profile)}
		for _, c := range b.Clusters.All() {
			if own := c.Spec.Spec.Capacity; len(own) > 0 && hasProfile(own, share.Profile) {
				v.Elsewhere = append(v.Elsewhere, c.Name)
			}
		}
		result = append(result, v)
	}
	return result
}
