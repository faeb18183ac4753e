package isolation

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/proof/labels"
)

// Own is the Namespaces of a Flow between pods of one namespace.
const Own = "."

// Flow is one thing that is open to pods of a namespace in one direction. It is comparable; flows of one Side are sorted.
type Flow struct {
	// Pods are those of the namespace that have it, as a label selector; "" is all.
	Pods string
	// Namespaces are those of the other end: Own, a name, or a label selector in braces, `{}` for all. It is "" for addresses.
	Namespaces string
	// Peers are the pods at the other end, as a label selector; "" is all.
	Peers string
	// From and To are the first and the last address of the other end. They are not valid for pods.
	From, To netip.Addr
	// Ports are for example `TCP 443, UDP 53`, or `all ports`.
	Ports string
}

// Side is all that is open in one direction, in the one form that it has: equal slices mean equal traffic.
type Side []Flow

// String says what the flow is about, for example `TCP 443 at 10.0.0.0/8`.
func (f Flow) String() string {
	var b strings.Builder
	b.WriteString(f.Ports)
	switch {
	case f.From.IsValid():
		b.WriteString(" at " + addressRange{f.From, f.To}.String())
	default:
		b.WriteString(" at " + f.peerText())
	}
	if f.Pods != "" {
		b.WriteString(", for pods with " + f.Pods)
	}
	return b.String()
}

func (f Flow) peerText() string {
	pods := "all pods"
	if f.Peers != "" {
		pods = "pods with " + f.Peers
	}
	switch {
	case f.Namespaces == Own:
		return pods + " of the namespace itself"
	case f.Namespaces == "{}":
		return pods + " of all namespaces"
	case strings.HasPrefix(f.Namespaces, "{"):
		return pods + " of namespaces with " + strings.Trim(f.Namespaces, "{}")
	}
	return pods + " in namespace " + f.Namespaces
}

// grant lets some pods of a namespace speak with a peer. It comes from a rule of a policy, by their numbers, or from no policy
// for pods that none closes.
type grant struct {
	pods         labels.Selector
	peer         *policyPeer
	ports        *portSet
	policy, rule int
}

// open marks the grants of pods that no policy closes.
const open = -1

// openFlow is a flow with its ports as a set, and the first grant that opens it.
type openFlow struct {
	Flow
	set portSet
	by  *grant
}

// openFlows are all flows of one direction, in the one form that they have.
func openFlows(grants []grant) []openFlow {
	all := append(podFlows(grants), addressFlows(grants)...)
	for i := range all {
		all[i].Ports = all[i].set.String()
	}
	return all
}

func sideOf(all []openFlow) Side {
	flows := make(Side, len(all))
	for i := range all {
		flows[i] = all[i].Flow
	}
	return flows
}

// isWithin reports whether a flow is a part of one of others.
func (o *openFlow) isWithin(others []openFlow) bool {
	return slices.ContainsFunc(others, func(other openFlow) bool {
		switch {
		case other.Pods != "" && other.Pods != o.Pods || !other.set.contains(&o.set) || o.From.IsValid() != other.From.IsValid():
			return false
		case o.From.IsValid():
			return o.From.Is4() == other.From.Is4() && !o.From.Less(other.From) && !other.To.Less(o.To)
		}
		return (other.Namespaces == "{}" || other.Namespaces == o.Namespaces) && (other.Peers == "" || other.Peers == o.Peers)
	})
}

// podFlows joins the grants to equal peers, and drops those that a wider one covers.
func podFlows(grants []grant) []openFlow {
	var all []openFlow
	for i := range grants {
		g := &grants[i]
		if g.peer.kind == outside || g.ports.isEmpty() {
			continue
		}
		for _, name := range g.peer.namespacesText() {
			flow := Flow{Pods: g.pods.String(), Namespaces: name, Peers: g.peer.pods.String()}
			if at := slices.IndexFunc(all, func(o openFlow) bool { return o.Flow == flow }); at >= 0 {
				all[at].set = all[at].set.union(*g.ports)
			} else {
				all = append(all, openFlow{flow, *g.ports, g})
			}
		}
	}
	kept := make([]openFlow, 0, len(all))
	for i := range all {
		if !slices.ContainsFunc(all, func(o openFlow) bool { return o.Flow != all[i].Flow && o.covers(&all[i]) }) {
			kept = append(kept, all[i])
		}
	}
	slices.SortFunc(kept, func(a, b openFlow) int {
		return cmp.Or(strings.Compare(a.Namespaces, b.Namespaces), strings.Compare(a.Peers, b.Peers), strings.Compare(a.Pods, b.Pods))
	})
	return kept
}

// namespacesText returns how the namespaces of a peer are written in a Flow: those that are selected by name alone each by theirs.
func (p *policyPeer) namespacesText() []string {
	if p.kind == own {
		return []string{Own}
	}
	if names, named := p.namespaces.Values(nameLabel); named && len(p.namespaces) == 1 {
		return names
	}
	return []string{"{" + p.namespaces.String() + "}"}
}

func (o *openFlow) covers(other *openFlow) bool {
	return (o.Pods == "" || o.Pods == other.Pods) && (o.Peers == "" || o.Peers == other.Peers) &&
		(o.Namespaces == "{}" || o.Namespaces == other.Namespaces) && o.set.contains(&other.set)
}

// addressFlows cuts the addresses at all ends of ranges, joins the ports of each piece, and pieces with equal ports again.
func addressFlows(grants []grant) []openFlow {
	var all []openFlow
	for _, pods := range podsOf(grants) {
		all = append(all, addressPieces(grants, pods)...)
	}
	return all
}

// podsOf returns the selectors of pods that have addresses opened, sorted.
func podsOf(grants []grant) []string {
	var pods []string
	for i := range grants {
		if grants[i].peer.kind == outside {
			pods = append(pods, grants[i].pods.String())
		}
	}
	slices.Sort(pods)
	return slices.Compact(pods)
}

func addressPieces(grants []grant, pods string) []openFlow {
	var result []openFlow
	for _, piece := range cutRanges(grants, pods) {
		o := openFlow{Flow: Flow{Pods: pods, From: piece.from, To: piece.to}}
		for i := range grants {
			g := &grants[i]
			if g.peer.kind != outside || g.ports.isEmpty() || g.pods.String() != pods || !g.peer.addresses.overlaps(addressSet{piece}) {
				continue
			}
			if o.by == nil {
				o.by, o.set = g, *g.ports
			} else {
				o.set = o.set.union(*g.ports)
			}
		}
		if o.by != nil {
			result = joinPiece(result, o)
		}
	}
	return result
}

// joinPiece adds a piece to those before it.
func joinPiece(before []openFlow, next openFlow) []openFlow {
	if last := len(before) - 1; last >= 0 {
		previous := &before[last]
		touch := addressRange{previous.From, previous.To}.touches(next.From)
		if touch && previous.set.contains(&next.set) && next.set.contains(&previous.set) {
			previous.To = next.To
			return before
		}
	}
	return append(before, next)
}

// cutRanges returns disjoint ranges that cover all addresses of the grants, such that no grant has only a part of one.
func cutRanges(grants []grant, pods string) []addressRange {
	var starts, ends []netip.Addr
	for i := range grants {
		if g := &grants[i]; g.peer.kind == outside && g.pods.String() == pods {
			for _, r := range g.peer.addresses {
				starts, ends = append(starts, r.from), append(ends, r.to)
				if next := r.to.Next(); next.IsValid() {
					starts = append(starts, next)
				}
				if previous := r.from.Prev(); previous.IsValid() {
					ends = append(ends, previous)
				}
			}
		}
	}
	slices.SortFunc(starts, netip.Addr.Compare)
	slices.SortFunc(ends, netip.Addr.Compare)
	starts, ends = slices.Compact(starts), slices.Compact(ends)
	var ranges []addressRange
	for _, start := range starts {
		if i, _ := slices.BinarySearchFunc(ends, start, netip.Addr.Compare); i < len(ends) && ends[i].Is4() == start.Is4() {
			ranges = append(ranges, addressRange{start, ends[i]})
		}
	}
	return ranges
}
