package capacity

import (
	"math"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/plan"
)

// TenantCapacity is how many machines of a profile a tenant with a queue can have.
type TenantCapacity struct {
	Tenant  string `json:"tenant"`
	Cohort  string `json:"cohort,omitempty"`
	Profile string `json:"profile"`
	// Guaranteed is what it always gets, Most what it gets when all others are idle.
	Guaranteed int64 `json:"guaranteed"`
	Most       int64 `json:"most"`
	// Busy is what it gets when all others use what is guaranteed to them, and those who may borrow divide the machines that belong to
	// nobody evenly, in tenths of a machine. Kueue gives them to whoever waits with the highest priority; this is the long run.
	Busy float64 `json:"busy"`
}

// ProfileCapacity is where the machines of a profile are.
type ProfileCapacity struct {
	Profile  string `json:"profile"`
	Machines int64  `json:"machines"`
	// Guaranteed are those of tenants, Cohorts those that cohorts have for whoever comes first.
	Guaranteed int64 `json:"guaranteed"`
	Cohorts    int64 `json:"cohorts"`
	// Free is what is left, Over what is missing.
	Free int64 `json:"free"`
	Over int64 `json:"over"`
}

// Summarize returns the capacity of every profile of a cluster and of every tenant that queues, both in the order of the plan.
func Summarize(c *plan.Cluster, facts []Facts) ([]ProfileCapacity, []TenantCapacity) {
	p := &proof{c: c, kueueModel: newKueueModel(facts), runtimes: map[string]*runtime{}, namespaces: map[string]*namespace{}}
	for i := range facts {
		p.readFacts(&facts[i])
	}
	p.units = p.machineUnits()
	var stocks []ProfileCapacity
	for i := range c.Capacity {
		stocks = append(stocks, p.profileCapacity(&c.Capacity[i]))
	}
	var rooms []TenantCapacity
	for _, t := range c.Tenants {
		if q := p.queues[t.Name.V]; q != nil && t.Queue != nil {
			for _, share := range t.Queue.Shares {
				rooms = append(rooms, p.tenantCapacity(t, q, share.Profile.Name))
			}
		}
	}
	return stocks, rooms
}

// countingResource is the resource of a profile by which machines are counted, and how much one has.
func (p *proof) countingResource(profile string) amount {
	for _, unit := range p.units[profile] {
		if unit.value > 0 {
			return unit
		}
	}
	return amount{value: 1}
}

func (p *proof) profileCapacity(m *plan.Machines) ProfileCapacity {
	name := m.Profile.Name
	one := p.countingResource(name)
	s := ProfileCapacity{Profile: name, Machines: int64(m.Nodes.V)}
	for _, q := range p.all {
		machines := q.quotaOf(name, one.name).nominal / one.value
		if q.cohort {
			s.Cohorts = addBounded(s.Cohorts, machines)
		} else {
			s.Guaranteed = addBounded(s.Guaranteed, machines)
		}
	}
	left := s.Machines - addBounded(s.Guaranteed, s.Cohorts)
	s.Free, s.Over = max(0, left), max(0, -left)
	return s
}

func (p *proof) tenantCapacity(t *plan.Tenant, q *queue, profile string) TenantCapacity {
	one := p.countingResource(profile)
	r := TenantCapacity{Tenant: t.Name.V, Cohort: q.parent, Profile: profile}
	r.Guaranteed = q.quotaOf(profile, one.name).nominal / one.value
	r.Most = p.potentialAvailable(q, profile, one.name) / one.value
	r.Busy = min(float64(r.Most), float64(r.Guaranteed)+p.fairShare(q, profile, one))
	return r
}

// fairShare is the even part of a queue in the machines of the cohorts above it.
func (p *proof) fairShare(q *queue, profile string, one amount) float64 {
	var part float64
	if !mayBorrow(q.flavor(profile)) {
		return 0
	}
	parent := p.cohorts[q.parent]
	for depth := 0; parent != nil && depth < maxDepth; depth++ {
		if rivals := p.borrowers(parent, profile, 0); rivals > 0 {
			part += float64(parent.quotaOf(profile, one.name).nominal/one.value) / float64(rivals)
		}
		parent = p.cohorts[parent.parent]
	}
	return math.Round(part*10) / 10
}

// borrowers counts the queues below a cohort that may borrow machines of a profile.
func (p *proof) borrowers(cohort *queue, profile string, depth int) int64 {
	var count int64
	for _, member := range p.members[cohort.name] {
		switch {
		case member.cohort && depth < maxDepth:
			count += p.borrowers(member, profile, depth+1)
		case !member.cohort && mayBorrow(member.flavor(profile)):
			count++
		}
	}
	return count
}

func mayBorrow(f *flavorQuota) bool {
	if f == nil {
		return false
	}
	for _, h := range f.resources {
		if h.borrow == nil || *h.borrow > 0 {
			return true
		}
	}
	return false
}

// QuotaPromise is what quotas, without queues, promise of a resource.
type QuotaPromise struct {
	Resource string `json:"resource"`
	Has      string `json:"has"`
	Promised string `json:"promised"`
	Over     bool   `json:"over"`
}

// QuotaPromises compares what the ResourceQuotas of all tenants promise with what the machines of a cluster offer, sorted by resource. It
// is empty where nobody said what machines there are, or no quota counts what pods request.
func QuotaPromises(c *plan.Cluster, facts []Facts) []QuotaPromise {
	var has, promised amounts
	for i := range c.Capacity {
		m := &c.Capacity[i]
		for _, offer := range m.Profile.Allocatable() {
			has = addAmounts(has, amounts{{name: offer.Name, value: countedMachines(offer.Name, offer.V)}}, int64(m.Nodes.V))
		}
	}
	for i := range facts {
		for _, quota := range facts[i].quotas {
			for _, hard := range quota.hard {
				if name, isRequest := strings.CutPrefix(hard.name, "requests."); isRequest {
					promised = addAmounts(promised, amounts{{name: name, value: hard.value}}, 1)
				}
			}
		}
	}
	var result []QuotaPromise
	for _, p := range promised {
		if offered, found := has.get(p.name); found {
			result = append(result, QuotaPromise{p.name, amountText(p.name, offered.value), amountText(p.name, p.value), p.value > offered.value})
		}
	}
	return result
}
