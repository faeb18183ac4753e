package semdiff

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// trend is where amounts go.
type trend int

const (
	unknown trend = iota
	more
	less
)

// direction says where all amounts of some changes go; unknown where they go both ways, or are no amounts.
func direction(changes []*Change) trend {
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
	a, b, ok := amounts(old.Text, later.Text)
	switch {
	case !ok || a.Cmp(b) == 0:
		return unknown
	case a.Cmp(b) < 0:
		return more
	}
	return less
}

func amounts(x, y string) (a, b resource.Quantity, ok bool) {
	a, err := resource.ParseQuantity(x)
	if err != nil {
		return a, b, false
	}
	b, err = resource.ParseQuantity(y)
	return a, b, err == nil
}

// difference is the amount between two, as Kubernetes writes it, without sign.
func difference(x, y string) string {
	a, b, ok := amounts(or(x, "0"), or(y, "0"))
	if !ok {
		return "?"
	}
	if a.Cmp(b) < 0 {
		a, b = b, a
	}
	a.Sub(b)
	return a.String()
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
