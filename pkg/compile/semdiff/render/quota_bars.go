package render

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/compile/semdiff"
	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
)

// quotaGauge is a resource of one profile on one cluster, with the bars of those who have it.
type quotaGauge struct {
	Cluster, What string
	Bars          []quotaBar
	More          string
	// Along are the resources that change alike.
	Along []string
}

// quotaBar is how much a holder has, before and after. Numbers are parts of barWidth.
type quotaBar struct {
	Holder        string
	Before, After barAmount
	// Says is both in words; Differs that they are not the same.
	Says    string
	Differs bool
}

// barAmount is one state of a bar: what is guaranteed, and what may be borrowed on top.
type barAmount struct {
	Guaranteed, Borrows int
}

// What bounds the size of a page.
const (
	barWidth  = 400
	maxGauges = 60
	maxBars   = 40
)

// changedGauges are those resources of which a holder has more or less than before, accelerators first. left is how many have no room.
func changedGauges(r *semdiff.Report) (shown []quotaGauge, left int) {
	var all []quotaGauge
	for i := range r.Clusters {
		all = append(all, clusterGauges(&r.Clusters[i])...)
	}
	slices.SortStableFunc(all, func(a, b quotaGauge) int { return cmp.Compare(resourceWeight(a.What), resourceWeight(b.What)) })
	all = joinMachineGauges(all)
	return all[:min(maxGauges, len(all))], max(0, len(all)-maxGauges)
}

// joinMachineGauges joins the gauges of what comes with the same machines: where all of a profile changes alike, the first says it.
func joinMachineGauges(all []quotaGauge) []quotaGauge {
	var joined []quotaGauge
	for _, g := range all {
		name, profile, ofProfile := strings.Cut(g.What, " of profile ")
		i := slices.IndexFunc(joined, func(first quotaGauge) bool {
			return ofProfile && first.Cluster == g.Cluster && strings.HasSuffix(first.What, " of profile "+profile) && slices.EqualFunc(first.Bars, g.Bars, sameLength)
		})
		if i < 0 {
			joined = append(joined, g)
			continue
		}
		joined[i].Along = append(joined[i].Along, name)
	}
	for i := range joined {
		if along := joined[i].Along; len(along) > 0 {
			joined[i].What += ", and " + strings.Join(along, " and ") + " alike"
		}
	}
	return joined
}

// sameLength reports whether two bars are as long as each other, but for rounding.
func sameLength(a, b quotaBar) bool {
	near := func(x, y int) bool { return x-y <= 1 && y-x <= 1 }
	same := func(x, y barAmount) bool { return near(x.Guaranteed, y.Guaranteed) && near(x.Borrows, y.Borrows) }
	return a.Holder == b.Holder && same(a.Before, b.Before) && same(a.After, b.After)
}

// resourceWeight puts accelerators before what comes with them.
func resourceWeight(what string) int {
	for i, name := range []string{"cpu", "memory", "pods", "count/", "requests.", "limits."} {
		if strings.HasPrefix(what, name) {
			return i + 1
		}
	}
	return 0
}

func clusterGauges(c *semdiff.ClusterReport) []quotaGauge {
	byKey := map[string][]*rule.Quota{}
	var keys []string
	for i := range c.Quotas {
		q := &c.Quotas[i]
		key := q.Resource
		if q.Flavor != "" {
			key += " of profile " + q.Flavor
		}
		if byKey[key] == nil {
			keys = append(keys, key)
		}
		byKey[key] = append(byKey[key], q)
	}
	slices.Sort(keys)
	var all []quotaGauge
	for _, key := range keys {
		list := byKey[key]
		if !slices.ContainsFunc(list, func(q *rule.Quota) bool { return !sameAmounts(q.Before, q.After) }) {
			continue
		}
		g := quotaGauge{Cluster: escapeControl(c.Name), What: escapeControl(key), Bars: newBars(list)}
		// Those that differ come first, and stay.
		slices.SortStableFunc(g.Bars, func(a, b quotaBar) int {
			switch {
			case a.Differs == b.Differs:
				return 0
			case a.Differs:
				return -1
			}
			return 1
		})
		if more := len(g.Bars) - maxBars; more > 0 {
			g.Bars, g.More = g.Bars[:maxBars], "and "+groupThousands(more)+" more"
		}
		all = append(all, g)
	}
	return all
}

func newBars(list []*rule.Quota) []quotaBar {
	most := 0.0
	for _, q := range list {
		for _, a := range []rule.Amounts{q.Before, q.After} {
			most = max(most, amountValue(a.Nominal)+amountValue(a.Borrowing))
		}
	}
	var all []quotaBar
	for _, q := range list {
		all = append(all, quotaBar{
			Holder: escapeControl(strings.TrimPrefix(q.Holder, "tenant ")), Before: newAmount(q.Before, most), After: newAmount(q.After, most),
			Says: amountText(q.Before, q.After), Differs: !sameAmounts(q.Before, q.After),
		})
	}
	return all
}

func newAmount(a rule.Amounts, most float64) barAmount {
	if most == 0 {
		return barAmount{}
	}
	return barAmount{int(amountValue(a.Nominal) / most * barWidth), int(amountValue(a.Borrowing) / most * barWidth)}
}

// amountText is `64 → 48, may borrow 32`.
func amountText(before, after rule.Amounts) string {
	text := stepText(cmp.Or(before.Nominal, noQuota), cmp.Or(after.Nominal, noQuota))
	if before.Borrowing != "" || after.Borrowing != "" {
		if borrows := stepText(borrowedText(before), borrowedText(after)); borrows != "0" {
			text += ", may borrow " + borrows
		}
	}
	return escapeControl(text)
}

// noQuota is what a holder has who is not there, or a namespace without a bound.
const noQuota = "no quota"

// borrowedText is how much a queue may borrow; one that says nothing borrows all that its cohort has
// (https://kueue.sigs.k8s.io/docs/concepts/cluster_queue/#borrowinglimit).
func borrowedText(a rule.Amounts) string {
	if a.Nominal != "" {
		return cmp.Or(a.Borrowing, "any")
	}
	return "0"
}

func stepText(before, after string) string {
	if before == after {
		return after
	}
	return before + " → " + after
}

func sameAmounts(a, b rule.Amounts) bool {
	return amountValue(a.Nominal) == amountValue(b.Nominal) && amountValue(a.Borrowing) == amountValue(b.Borrowing)
}

// amountValue is the number of an amount, 0 for none.
func amountValue(text string) float64 {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return 0
	}
	return max(0, q.AsApproximateFloat64())
}
