package cost

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// BillRow is what the jobs with the same tenant, person, runtime and queue used. Its JSON is stable.
type BillRow struct {
	// Tenant is the namespace where no tenant has it.
	Tenant string `json:"tenant"`
	// Person is empty for jobs that are older than the log, as are Runtime and Queue.
	Person  string `json:"person,omitempty"`
	Runtime string `json:"runtime,omitempty"`
	Queue   string `json:"queue,omitempty"`
	// Profile is the kind of machine; empty for runtimes that are not of this cluster.
	Profile string `json:"profile,omitempty"`
	Jobs    int    `json:"jobs"`
	// MachineHours are Guaranteed and Borrowed together.
	MachineHours float64 `json:"machineHours"`
	Guaranteed   float64 `json:"guaranteed"`
	Borrowed     float64 `json:"borrowed"`
	// Cost is 0 where the machines have no price.
	Cost   float64 `json:"cost"`
	Priced bool    `json:"priced"`
}

// IdleMachines is what of its guaranteed machines a tenant did not use. Others may have borrowed it.
type IdleMachines struct {
	Tenant       string  `json:"tenant"`
	Profile      string  `json:"profile"`
	MachineHours float64 `json:"machineHours"`
	Cost         float64 `json:"cost"`
	Priced       bool    `json:"priced"`
}

// Bill is what a span of time cost. Its JSON is stable.
type Bill struct {
	From time.Time      `json:"from"`
	To   time.Time      `json:"to"`
	Rows []BillRow      `json:"rows"`
	Idle []IdleMachines `json:"idle"`
}

// NewBill adds up what was used between two moments.
func NewBill(uses []MachineUse, c *Cluster, from, to time.Time) Bill {
	b := Bill{From: from, To: to, Rows: []BillRow{}, Idle: []IdleMachines{}}
	rows, jobs := map[BillRow]*BillRow{}, map[BillRow]map[string]bool{}
	guaranteed := map[ShareKey]float64{}
	for share, spans := range usesByShare(uses, c, from, to) {
		divided := divideHours(spans, c.guaranteedOrAll(share))
		for _, use := range spans { // in one order, so that a sum has the same last digit each time
			hours := divided[use]
			key := BillRow{Tenant: share.Tenant, Person: use.Person, Runtime: use.Runtime, Queue: use.Queue, Profile: share.Profile}
			if rows[key] == nil {
				row := key
				rows[key], jobs[key] = &row, map[string]bool{}
			}
			rows[key].Guaranteed += hours.guaranteed
			rows[key].Borrowed += hours.borrowed
			guaranteed[share] += hours.guaranteed
			jobs[key][fmt.Sprint(use.Namespace, "/", use.Job, " ", use.Made)] = true
		}
	}
	for key, row := range rows {
		row.Jobs, row.MachineHours = len(jobs[key]), row.Guaranteed+row.Borrowed
		row.Cost, row.Priced = c.costOf(row.Profile, row.MachineHours)
		b.Rows = append(b.Rows, *row)
	}
	slices.SortFunc(b.Rows, compareRows)
	for share, machines := range c.Guaranteed {
		hours := float64(machines)*to.Sub(from).Hours() - guaranteed[share]
		idle := IdleMachines{Tenant: share.Tenant, Profile: share.Profile, MachineHours: hours}
		idle.Cost, idle.Priced = c.costOf(share.Profile, hours)
		b.Idle = append(b.Idle, idle)
	}
	slices.SortFunc(b.Idle, func(x, y IdleMachines) int {
		return cmp.Or(cmp.Compare(x.Tenant, y.Tenant), cmp.Compare(x.Profile, y.Profile))
	})
	return b
}

func compareRows(a, b BillRow) int {
	return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Person, b.Person), cmp.Compare(a.Runtime, b.Runtime), cmp.Compare(a.Queue, b.Queue),
		cmp.Compare(a.Profile, b.Profile))
}

// SumBy returns the rows of a bill added up by some of the keys `tenant`, `person`, `runtime` and `queue`; the others are empty in them.
func (b *Bill) SumBy(keys ...string) []BillRow {
	sums := map[BillRow]*BillRow{}
	for _, row := range b.Rows {
		key := BillRow{Profile: row.Profile}
		for name, field := range keyFields {
			if slices.Contains(keys, name) {
				*field(&key) = *field(&row)
			}
		}
		if sums[key] == nil {
			sum := key
			sums[key] = &sum
		}
		sums[key].add(&row)
	}
	var result []BillRow
	for _, row := range sums {
		result = append(result, *row)
	}
	slices.SortFunc(result, compareRows)
	return result
}

// Keys are what rows can be added up by.
var Keys = []string{"tenant", "person", "runtime", "queue"}

var keyFields = map[string]func(*BillRow) *string{
	"tenant": func(r *BillRow) *string { return &r.Tenant }, "person": func(r *BillRow) *string { return &r.Person },
	"runtime": func(r *BillRow) *string { return &r.Runtime }, "queue": func(r *BillRow) *string { return &r.Queue },
}

// KeyValue returns what a row has of a key, one of Keys.
func (r *BillRow) KeyValue(name string) string { return *keyFields[name](r) }

func (r *BillRow) add(other *BillRow) {
	r.Jobs += other.Jobs
	r.MachineHours += other.MachineHours
	r.Guaranteed += other.Guaranteed
	r.Borrowed += other.Borrowed
	r.Cost += other.Cost
	r.Priced = other.Priced // a price is that of the profile, which they share
}

// guaranteedOrAll is how many machines of a share are guaranteed, so that they are not borrowed; -1 for all that there are.
func (c *Cluster) guaranteedOrAll(s ShareKey) int64 {
	if !c.Queues || s.Profile == "" {
		return -1
	}
	return c.Guaranteed[s]
}

func (c *Cluster) costOf(profile string, hours float64) (float64, bool) {
	price, known := c.Prices[profile]
	return price * hours, known
}

// usesByShare cuts uses to the span that is billed, names their tenant and profile, and fills in how many nodes they had.
func usesByShare(uses []MachineUse, c *Cluster, from, to time.Time) map[ShareKey][]MachineUse {
	shares := map[ShareKey][]MachineUse{}
	for _, use := range uses {
		if use.From.Before(from) {
			use.From = from
		}
		if use.To.After(to) {
			use.To = to
		}
		if !use.From.Before(use.To) {
			continue
		}
		runtime := c.Runtimes[use.Runtime]
		use.Nodes = cmp.Or(use.Nodes, runtime.Nodes, 1) // one where nobody knows
		share := ShareKey{cmp.Or(c.Tenants[use.Namespace], use.Namespace), runtime.Profile}
		shares[share] = append(shares[share], use)
	}
	return shares
}

// useHours are machine-hours of one use.
type useHours struct{ guaranteed, borrowed float64 }

// divideHours says how much of each use was within the machines of a share. Who came first has them; who goes leaves them to the next.
func divideHours(uses []MachineUse, room int64) map[MachineUse]useHours {
	var moments []time.Time
	for _, use := range uses {
		moments = append(moments, use.From, use.To)
	}
	slices.SortFunc(moments, time.Time.Compare)
	result := map[MachineUse]useHours{}
	var active []MachineUse // by their beginning, as uses are
	next := 0
	for i := 1; i < len(moments); i++ {
		now := moments[i-1]
		active = slices.DeleteFunc(active, func(u MachineUse) bool { return !u.To.After(now) })
		for ; next < len(uses) && !uses[next].From.After(now); next++ {
			active = append(active, uses[next])
		}
		addSpan(active, room, moments[i].Sub(now).Hours(), result)
	}
	return result
}

// addSpan adds a span in which nothing begins or ends.
func addSpan(active []MachineUse, room int64, span float64, to map[MachineUse]useHours) {
	for _, use := range active {
		own := use.Nodes
		if room >= 0 {
			own = min(use.Nodes, room)
			room -= own
		}
		h := to[use]
		h.guaranteed += float64(own) * span
		h.borrowed += float64(use.Nodes-own) * span
		to[use] = h
	}
}
