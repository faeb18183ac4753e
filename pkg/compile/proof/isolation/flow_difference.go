package isolation

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/source"
)

// Opening is a flow that is open on one side of a comparison and not on the other, and where it was opened: the place of the rule in a
// spec, nowhere for what no policy closes.
type Opening struct {
	Flow
	// Of is the flow that it is a part of, with the ports of the part.
	Of Flow
	// Ingress says that others may come in; otherwise pods may go out.
	Ingress bool
	At      source.Span
}

// Difference returns what is open for the pods of a namespace in one state of a cluster and not in another: what was opened, and what
// was closed. A namespace that only one state has is open to nobody in the other; one that neither compiles is there in any case, and
// open where it has no policies. It may be called any number of times once all facts were added.
func Difference(before, after *Cluster, namespace string) (opened, closed []Opening) {
	foreign := !before.isCompiled(namespace) && !after.isCompiled(namespace)
	was, is := before.openFlowsOf(namespace, foreign), after.openFlowsOf(namespace, foreign)
	known := labelsOfBoth(before, after)
	for _, d := range []trafficDirection{egress, ingress} {
		opened = append(opened, flowsBeyond(d, namespace, known, is[d], was[d], after.placesOf(namespace))...)
		closed = append(closed, flowsBeyond(d, namespace, known, was[d], is[d], before.placesOf(namespace))...)
	}
	return opened, closed
}

// SelectedNamespaces returns the namespaces that are compiled and whose labels are selected at the other end of an opening of a namespace, sorted;
// none where the other end is not a selector of namespaces.
func (c *Cluster) SelectedNamespaces(namespace string, o Opening) []string {
	n := c.namespaces[namespace]
	if n == nil || n.effective == nil || !strings.HasPrefix(o.Namespaces, "{") {
		return nil
	}
	d := egress
	if o.Ingress {
		d = ingress
	}
	grants := n.effective.grants[d]
	i := slices.IndexFunc(grants, func(g grant) bool {
		return g.peer.kind == selected && slices.Contains(g.peer.namespacesText(), o.Namespaces)
	})
	if i < 0 {
		return nil
	}
	var names []string
	for name, other := range c.namespaces {
		if other.compiled && grants[i].peer.namespaces.Selects(other.labels) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Namespaces returns the namespaces that are compiled or have policies, sorted.
func (c *Cluster) Namespaces() []string {
	names := make([]string, 0, len(c.namespaces))
	for _, n := range c.sortedNamespaces() {
		names = append(names, n.name)
	}
	return names
}

// Unreadable reports whether a namespace has a policy that is not understood, so that nobody knows what it opens.
func (c *Cluster) Unreadable(namespace string) bool {
	return slices.ContainsFunc(c.bad, func(p policyFact) bool { return p.namespace == namespace })
}

func (c *Cluster) isCompiled(namespace string) bool {
	n := c.namespaces[namespace]
	return n != nil && n.compiled
}

// openFlowsOf are all flows of a namespace, in both directions.
func (c *Cluster) openFlowsOf(namespace string, exists bool) [2][]openFlow {
	n := c.namespaces[namespace]
	switch {
	case n == nil && exists:
		return newEffectivePolicy(nil).open
	case n == nil:
		return [2][]openFlow{}
	}
	if c.effectivePolicies == nil || n.effective == nil {
		c.computeEffectivePolicies()
	}
	return n.effective.open
}

// placesOf returns the place of the rule behind a grant of a namespace.
func (c *Cluster) placesOf(namespace string) func(*grant) source.Span {
	return func(g *grant) source.Span {
		n := c.namespaces[namespace]
		if n == nil || g == nil || g.policy < 0 || g.policy >= len(n.policies) {
			return source.Span{}
		}
		p := &n.policies[g.policy]
		if g.rule >= 0 && g.rule < len(p.places) {
			return p.places[g.rule]
		}
		return p.at
	}
}

// flowsBeyond returns what of some flows of a namespace none of others has.
func flowsBeyond(d trafficDirection, namespace string, known labelsOf, flows, others []openFlow, at func(*grant) source.Span) []Opening {
	var found []Opening
	for i := range flows {
		o := &flows[i]
		for _, piece := range o.partsBeyond(namespace, known, others) {
			of := o.Flow
			of.Ports = piece.Ports
			found = append(found, Opening{Flow: piece, Of: of, Ingress: d == ingress, At: at(o.by)})
		}
	}
	return found
}

// partsBeyond returns what of a flow none of others has: its addresses are cut where others begin and end. A piece is told with the ports and
// the pods that others do not have; of its other end, some or all is new.
func (o *openFlow) partsBeyond(namespace string, known labelsOf, others []openFlow) []Flow {
	var found []Flow
	for _, piece := range o.splitAt(others) {
		whole := flowSetOf(namespace, &piece)
		if !whole.isPossible() {
			continue
		}
		left := []flowSet{whole}
		for i := range others {
			if other := &others[i]; other.sharesPeer(&piece) {
				left = subtractFlowSets(left, flowSetOf(namespace, other))
			}
		}
		if left = slices.DeleteFunc(left, func(b flowSet) bool { return !b.hasKnownNamespace(known) }); len(left) == 0 {
			continue
		}
		piece.Flow = flowOfRemainder(piece.Flow, left)
		if last := len(found) - 1; last >= 0 && areAdjacent(&found[last], &piece.Flow) {
			found[last].To = piece.To
			continue
		}
		found = append(found, piece.Flow)
	}
	return found
}

func areAdjacent(a, b *Flow) bool {
	return a.From.IsValid() && a.Ports == b.Ports && a.Pods == b.Pods && addressRange{a.From, a.To}.touches(b.From)
}

// sharesPeer reports whether a flow has the addresses of a piece, or whether both are about pods.
func (o *openFlow) sharesPeer(piece *openFlow) bool {
	if !o.From.IsValid() || !piece.From.IsValid() {
		return o.From.IsValid() == piece.From.IsValid()
	}
	return o.From.Is4() == piece.From.Is4() && !piece.From.Less(o.From) && !o.To.Less(piece.To)
}

// splitAt returns a flow in pieces such that each of others has all addresses of a piece, or none.
func (o *openFlow) splitAt(others []openFlow) []openFlow {
	if !o.From.IsValid() {
		return []openFlow{*o}
	}
	starts := []netip.Addr{o.From}
	for i := range others {
		other := &others[i]
		if !other.From.IsValid() || other.From.Is4() != o.From.Is4() {
			continue
		}
		starts = append(starts, other.From)
		if next := other.To.Next(); next.IsValid() {
			starts = append(starts, next)
		}
	}
	slices.SortFunc(starts, netip.Addr.Compare)
	starts = slices.Compact(starts)
	var pieces []openFlow
	for _, start := range starts {
		if start.Less(o.From) || o.To.Less(start) {
			continue
		}
		if last := len(pieces) - 1; last >= 0 {
			pieces[last].To = start.Prev()
		}
		piece := *o
		piece.From = start
		pieces = append(pieces, piece)
	}
	return pieces
}

// minus returns the ports that are not in another set. What is left of all ports is all of them but the others, which a set cannot say:
// it stays all.
func (p portSet) minus(other *portSet) portSet {
	if other.all {
		return portSet{}
	}
	if p.all {
		return p
	}
	var left portSet
	for i := range protocols {
		for _, r := range p.ranges[i] {
			left.ranges[i] = append(left.ranges[i], r.minus(other.ranges[i])...)
		}
		for _, name := range p.names[i] {
			every := slices.Contains(other.ranges[i], portRange{0, lastPort})
			if !every && !slices.Contains(other.names[i], name) {
				left.names[i] = append(left.names[i], name)
			}
		}
	}
	return left
}

func (r portRange) minus(others []portRange) []portRange {
	left := []portRange{r}
	for _, hole := range others {
		var next []portRange
		for _, l := range left {
			if hole.to < l.from || l.to < hole.from {
				next = append(next, l)
				continue
			}
			if l.from < hole.from {
				next = append(next, portRange{l.from, hole.from - 1})
			}
			if hole.to < l.to {
				next = append(next, portRange{hole.to + 1, l.to})
			}
		}
		left = next
	}
	return left
}

// IsInternet reports whether the flow is about a large part of the internet: at least as many public addresses as an IPv4 network of /8 has,
// or an IPv6 network of /16.
func (f Flow) IsInternet() bool {
	if !f.From.IsValid() {
		return false
	}
	total := 0.0
	for _, r := range (addressSet{{f.From, f.To}}).minus(private) {
		total += r.shareOfInternet()
	}
	return total >= 1
}

// IsPrefix reports whether the addresses of the flow are a network.
func (f Flow) IsPrefix() bool {
	_, is := addressRange{f.From, f.To}.prefix()
	return f.From.IsValid() && is
}

// shareOfInternet is how many networks of /8, for IPv6 of /16, are in a range.
func (r addressRange) shareOfInternet() float64 {
	from, to := r.from.AsSlice(), r.to.AsSlice()
	if r.from.Is4() {
		return (float64(binary.BigEndian.Uint32(to)) - float64(binary.BigEndian.Uint32(from)) + 1) / (1 << 24)
	}
	return (float64(binary.BigEndian.Uint32(to)) - float64(binary.BigEndian.Uint32(from)) + 1) / (1 << 16)
}

// HasPublicAddress reports whether some address of the flow is on the internet: neither private, nor of the machine or the link.
func (f Flow) HasPublicAddress() bool {
	return f.From.IsValid() && len(addressSet{{f.From, f.To}}.minus(private)) > 0
}

// private are the addresses that are not on the internet (RFC 1918, 6598, 3927, 4193, 4291, 1122, 5737, 3849, 2544, 1112).
var private = addressesOf(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16",
	"192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
	"::/127", "fc00::/7", "fe80::/10", "ff00::/8", "2001:db8::/32",
)
