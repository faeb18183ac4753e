package whatif

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/compile/plan"
)

// Change is what would be different. The zero Change is nothing.
type Change struct {
	// Tenant is the name of a tenant that would come, or "".
	Tenant string
	// Profile is that of its machines, Nodes how many are guaranteed, Borrow how many more it may borrow; nil for no bound.
	Profile string
	Nodes   int32
	Borrow  *int32
	// Cohort that it would be in, or "".
	Cohort string
	// Resizes are profiles of which there would be another number of machines.
	Resizes []Resize
}

// Resize is another number of machines of a profile.
type Resize struct {
	Profile string
	// By is added to what there is; where To is set there would be that many instead.
	By int32
	To *int32
}

// maxMachines is how many machines of a profile a cluster may have, as in its spec.
const maxMachines = 1000000

// ParseResize reads PROFILE=+4, PROFILE=-4 or PROFILE=20.
func ParseResize(text string) (Resize, error) {
	profile, number, found := strings.Cut(text, "=")
	n, err := strconv.ParseInt(number, 10, 32)
	if !found || profile == "" || err != nil || n > maxMachines || n < -maxMachines {
		return Resize{}, fmt.Errorf("`%s` is not PROFILE=NUMBER, such as `h100=+4`, `h100=-4` or `h100=20`", text)
	}
	if number[0] == '+' || number[0] == '-' {
		return Resize{Profile: profile, By: int32(n)}, nil
	}
	to := int32(n)
	return Resize{Profile: profile, To: &to}, nil
}

// concernedClusters returns the clusters where the change can be made: those with the machines that it is about, and the cohort.
func (ch Change) concernedClusters(clusters []*plan.Cluster) ([]*plan.Cluster, error) {
	var profiles, cohorts []string
	var concerned []*plan.Cluster
	for _, c := range clusters {
		if slices.ContainsFunc(c.Tenants, func(t *plan.Tenant) bool { return ch.Tenant != "" && t.Name.V == ch.Tenant }) {
			return nil, fmt.Errorf("the tenant `%s` exists on `%s`: ask about another name", ch.Tenant, c.Name.V)
		}
		for _, m := range c.Capacity {
			profiles = append(profiles, m.Profile.Name)
		}
		if c.Queueing != nil {
			for _, cohort := range c.Queueing.Cohorts {
				cohorts = append(cohorts, cohort.Name.V)
			}
		}
		if ch.isPossibleOn(c) {
			concerned = append(concerned, c)
			if err := ch.checkLeavesMachines(c); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range ch.profileNames() {
		if !slices.Contains(profiles, name) {
			return nil, fmt.Errorf("no cluster has machines of the profile `%s`: there are `%s`", name, strings.Join(uniqueNames(profiles), "`, `"))
		}
	}
	if ch.Cohort != "" && !slices.Contains(cohorts, ch.Cohort) {
		return nil, fmt.Errorf("no cluster has the cohort `%s`: there are `%s`", ch.Cohort, strings.Join(uniqueNames(cohorts), "`, `"))
	}
	if len(concerned) == 0 {
		return nil, fmt.Errorf("no cluster has machines of %s together with the cohort `%s`", "`"+strings.Join(ch.profileNames(), "`, `")+"`", ch.Cohort)
	}
	return concerned, nil
}

// checkLeavesMachines refuses to take away more machines than a cluster has.
func (ch Change) checkLeavesMachines(c *plan.Cluster) error {
	for _, r := range ch.Resizes {
		if m := c.MachinesOf(r.Profile); m != nil && r.To == nil && r.By < -m.Nodes.V {
			return fmt.Errorf("`%s` has %d machines of the profile `%s`: %d cannot go; ask about at most that many, or about another cluster with --cluster", c.Name.V, m.Nodes.V, r.Profile, -r.By)
		}
	}
	return nil
}

func uniqueNames(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

func (ch Change) profileNames() []string {
	var names []string
	if ch.Tenant != "" {
		names = append(names, ch.Profile)
	}
	for _, r := range ch.Resizes {
		names = append(names, r.Profile)
	}
	return names
}

// isPossibleOn reports whether a cluster has the machines of the new tenant and its cohort, or those of a resize where nobody comes.
func (ch Change) isPossibleOn(c *plan.Cluster) bool {
	if ch.Cohort != "" && (c.Queueing == nil || c.Queueing.Cohort(ch.Cohort) == nil) {
		return false
	}
	if ch.Tenant != "" {
		return c.MachinesOf(ch.Profile) != nil
	}
	return slices.ContainsFunc(ch.Resizes, func(r Resize) bool { return c.MachinesOf(r.Profile) != nil })
}

// appliedTo returns the cluster as it would be.
func (ch Change) appliedTo(c *plan.Cluster) *plan.Cluster {
	changed := *c
	changed.Capacity = slices.Clone(c.Capacity)
	for _, r := range ch.Resizes {
		if m := changed.MachinesOf(r.Profile); m != nil {
			m.Nodes.V = r.resizedCount(m.Nodes.V)
		}
	}
	if ch.Tenant != "" {
		changed.Tenants = append(slices.Clone(c.Tenants), ch.newTenant(&changed))
		slices.SortFunc(changed.Tenants, func(a, b *plan.Tenant) int { return strings.Compare(a.Name.V, b.Name.V) })
	}
	return &changed
}

func (r Resize) resizedCount(nodes int32) int32 {
	if r.To != nil {
		return max(0, *r.To)
	}
	return max(0, nodes+r.By)
}

// newTenant returns the one that would come: it has one namespace of its own name, and the runtimes for its machines.
func (ch Change) newTenant(c *plan.Cluster) *plan.Tenant {
	name := plan.Value[string]{V: ch.Tenant}
	m := c.MachinesOf(ch.Profile)
	t := &plan.Tenant{
		TenantSpec: &plan.TenantSpec{
			Name: name, Namespaces: []plan.Value[string]{name}, PodSecurity: plan.Value[string]{V: "restricted"},
			Limits: plan.Limits{
				DefaultCPU:    plan.Value[resource.Quantity]{V: resource.MustParse("1m")},
				DefaultMemory: plan.Value[resource.Quantity]{V: resource.MustParse("1Mi")},
			},
		},
		Quota: ch.newTenantQuota(c, m),
	}
	for _, r := range c.Runtimes {
		if r.Profile == m.Profile && r.Admits(ch.Tenant) {
			t.Usable = append(t.Usable, r)
		}
	}
	if c.Queueing != nil {
		t.Queue = &plan.Queue{
			Cohort: plan.Value[string]{V: ch.Cohort}, Preempts: plan.Value[string]{V: plan.PreemptsBorrowed},
			Shares: []plan.Share{{
				Profile: m.Profile, ProfileName: plan.Value[string]{V: ch.Profile},
				Nodes: plan.Value[int32]{V: ch.Nodes}, Borrow: plan.Value[*int32]{V: ch.Borrow},
			}},
		}
	}
	return t
}

// newTenantQuota returns what the machines offer together. Pods and jobs are not what is asked about.
func (ch Change) newTenantQuota(c *plan.Cluster, m *plan.Machines) plan.Quota {
	const plenty = 1_000_000
	q := plan.Quota{Pods: plan.Value[int64]{V: plenty}, Jobs: plan.Value[int64]{V: plenty}}
	for _, unit := range m.Unit {
		amount := unit.V.DeepCopy()
		amount.Mul(int64(ch.Nodes))
		switch unit.Name {
		case "cpu":
			q.CPU.V = amount
		case "memory":
			q.Memory.V = amount
		}
	}
	for _, accelerator := range c.Accelerators {
		granted := plan.Named[resource.Quantity]{Name: accelerator}
		if accelerator == m.Profile.Accelerator.V {
			granted.V = *resource.NewQuantity(int64(m.Profile.Accelerators.V)*int64(ch.Nodes), resource.DecimalSI)
		}
		q.Accelerators = append(q.Accelerators, granted)
	}
	return q
}
