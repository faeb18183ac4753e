package rule

import (
	"cmp"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
)

// trend is where amounts go.
type trend int

const (
	unknown trend = iota
	more
	less
)

// commonTrend says where all amounts of some changes go; unknown where they go both ways, or are not amounts.
func commonTrend(changes []*match.Change) trend {
	all := unknown
	for _, c := range changes {
		one := trendOf(c.Old, c.New)
		if one == unknown || all != unknown && one != all {
			return unknown
		}
		all = one
	}
	return all
}

// trendOf compares two amounts. One that is not there is less than any.
func trendOf(old, later *object.Node) trend {
	switch {
	case old == nil && later == nil:
		return unknown
	case old == nil:
		return more
	case later == nil:
		return less
	}
	a, b, ok := match.ParseQuantities(old.Text, later.Text)
	switch {
	case !ok || a.Cmp(b) == 0:
		return unknown
	case a.Cmp(b) < 0:
		return more
	}
	return less
}

func (t trend) opposite() trend {
	switch t {
	case more:
		return less
	case less:
		return more
	}
	return unknown
}

func trendToward(wider bool) trend {
	if wider {
		return more
	}
	return less
}

// presenceTrend reports whether what is there lets pods do more.
func presenceTrend(c *match.Change) trend {
	switch {
	case c.Added():
		return more
	case c.Removed():
		return less
	}
	return unknown
}

func textNode(name string) *object.Node {
	n := object.Text("", name, nil)
	return &n
}

// amountDifference is the amount between two, as Kubernetes writes it, without sign.
func amountDifference(x, y string) string {
	a, b, ok := match.ParseQuantities(cmp.Or(x, "0"), cmp.Or(y, "0"))
	if !ok {
		return "?"
	}
	if a.Cmp(b) < 0 {
		a, b = b, a
	}
	a.Sub(b)
	return a.String()
}
