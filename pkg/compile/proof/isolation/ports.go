package isolation

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// protocols are those that a policy can name, in the order of ports.ranges.
var protocols = [...]string{"TCP", "UDP", "SCTP"}

const lastPort = 65535

// portSet is a set of ports. All is everything, protocols without ports included. A name stands for whatever port the pod at the
// other end gives it, which may be any.
type portSet struct {
	all    bool
	ranges [len(protocols)][]portRange
	names  [len(protocols)][]string
}

type portRange struct{ from, to int }

// readPorts returns the ports of a rule; none in the rule means all. It returns false for what is not a port.
func readPorts(n *object.Node) (portSet, bool) {
	var p portSet
	if n == nil || len(n.Children) == 0 {
		return portSet{all: true}, true
	}
	for i := range n.Children {
		if !p.readPort(&n.Children[i]) {
			return portSet{}, false
		}
	}
	return p.normalized(), true
}

func (p *portSet) readPort(n *object.Node) bool {
	protocol := slices.Index(protocols[:], cmp.Or(n.StringAt("protocol"), "TCP"))
	if protocol < 0 {
		return false
	}
	port, end := n.Get("port"), n.Get("endPort")
	switch {
	case port == nil:
		p.ranges[protocol] = append(p.ranges[protocol], portRange{0, lastPort})
		return end == nil
	case port.Kind == object.TextNode:
		p.names[protocol] = append(p.names[protocol], port.Text)
		return end == nil
	}
	from, err := strconv.Atoi(port.Text)
	to := from
	if end != nil && err == nil {
		to, err = strconv.Atoi(end.Text)
	}
	p.ranges[protocol] = append(p.ranges[protocol], portRange{from, to})
	return err == nil && 0 <= from && from <= to && to <= lastPort
}

// normalized returns the set in the one form that it has.
func (p portSet) normalized() portSet {
	if p.all {
		return portSet{all: true}
	}
	for i := range protocols {
		p.ranges[i] = mergeRanges(p.ranges[i])
		slices.Sort(p.names[i])
		p.names[i] = slices.Compact(p.names[i])
	}
	return p
}

func mergeRanges(ranges []portRange) []portRange {
	slices.SortFunc(ranges, func(a, b portRange) int { return a.from - b.from })
	result := ranges[:0]
	for _, r := range ranges {
		if last := len(result) - 1; last >= 0 && r.from <= result[last].to+1 {
			result[last].to = max(result[last].to, r.to)
		} else {
			result = append(result, r)
		}
	}
	return result
}

func (p portSet) union(other portSet) portSet {
	u := portSet{all: p.all || other.all}
	for i := range protocols {
		u.ranges[i] = slices.Concat(p.ranges[i], other.ranges[i])
		u.names[i] = slices.Concat(p.names[i], other.names[i])
	}
	return u.normalized()
}

func (p *portSet) isEmpty() bool {
	for i := range protocols {
		if len(p.ranges[i]) > 0 || len(p.names[i]) > 0 {
			return false
		}
	}
	return !p.all
}

// overlaps reports whether some packet is in both sets.
func (p *portSet) overlaps(other *portSet) bool {
	if p.all || other.all {
		return !p.isEmpty() && !other.isEmpty()
	}
	for i := range protocols {
		a, b := p.ranges[i], other.ranges[i]
		named := len(p.names[i]) > 0 && (len(b) > 0 || len(other.names[i]) > 0) || len(other.names[i]) > 0 && len(a) > 0
		if named || rangesOverlap(a, b) {
			return true
		}
	}
	return false
}

func rangesOverlap(a, b []portRange) bool {
	for _, x := range a {
		if slices.ContainsFunc(b, func(y portRange) bool { return x.from <= y.to && y.from <= x.to }) {
			return true
		}
	}
	return false
}

// contains reports whether the set has all of another.
func (p *portSet) contains(other *portSet) bool {
	if p.all || other.all {
		return p.all
	}
	for i := range protocols {
		for _, r := range other.ranges[i] {
			if !slices.ContainsFunc(p.ranges[i], func(own portRange) bool { return own.from <= r.from && r.to <= own.to }) {
				return false
			}
		}
		for _, name := range other.names[i] {
			if !slices.Contains(p.names[i], name) {
				return false
			}
		}
	}
	return true
}

// String returns for example `TCP 443, UDP 5000-5010`.
func (p *portSet) String() string {
	if p.all {
		return "all ports"
	}
	var parts []string
	for i, protocol := range protocols {
		for _, r := range p.ranges[i] {
			parts = append(parts, protocol+" "+r.String())
		}
		for _, name := range p.names[i] {
			parts = append(parts, protocol+" "+name)
		}
	}
	return strings.Join(parts, ", ")
}

func (r portRange) String() string {
	switch {
	case r.from <= 1 && r.to == lastPort:
		return "all"
	case r.from == r.to:
		return strconv.Itoa(r.from)
	}
	return strconv.Itoa(r.from) + "-" + strconv.Itoa(r.to)
}

func (p *portSet) append(b []byte) []byte {
	if p.all {
		return append(b, '*')
	}
	for i, protocol := range protocols {
		for _, r := range p.ranges[i] {
			b = append(append(b, protocol...), ' ')
			b = append(strconv.AppendInt(b, int64(r.from), 10), '-')
			b = append(strconv.AppendInt(b, int64(r.to), 10), ' ')
		}
		for _, name := range p.names[i] {
			b = append(append(append(append(b, protocol...), ' '), name...), ' ')
		}
	}
	return b
}
