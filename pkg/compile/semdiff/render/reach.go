package render

import (
	"math/bits"
	"net/netip"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/proof/isolation"
	"lockstep.dev/lockstep/pkg/compile/semdiff"
)

// The ends of traffic beside tenants, after them in the order of ends.
const (
	platform = "the platform"
	inside   = "the cluster's ranges"
	private  = "private networks"
	internet = "the internet"
)

var outside = []string{platform, inside, private, internet}

// unrouted are the networks that organisations use within (RFC 1918, 6598, 4193).
var unrouted = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("fc00::/7"),
}

// reachParties are who may speak with whom on a cluster: its tenants on both sides together, sorted, then the outside.
type reachParties struct {
	names []string
	at    map[string]int
	// tenants is how many of them are tenants.
	tenants int
}

func partiesOf(before, after *semdiff.Proven) *reachParties {
	e := &reachParties{at: map[string]int{}}
	for _, facts := range []*semdiff.Proven{before, after} {
		if facts == nil {
			continue
		}
		for i := range facts.Reach.Of {
			e.names = append(e.names, facts.Reach.Of[i].Tenant)
		}
	}
	slices.Sort(e.names)
	e.names = slices.Compact(e.names)
	e.tenants = len(e.names)
	e.names = append(e.names, outside...)
	for i, name := range e.names {
		e.at[name], e.names[i] = i, escapeControl(name)
	}
	return e
}

// reachState is who may speak with whom in one state, and over which ports.
type reachState struct {
	ends *reachParties
	// open has a bit for each end that an end reaches; half those where only one of two tenants allows it, which is not traffic.
	open, half []bitSet
	ports      map[[2]int][]string
	// ranges are the addresses of pods and Services.
	ranges []netip.Prefix
}

// bitSet is a set of small numbers.
type bitSet []uint64

func (s bitSet) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s bitSet) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

func (s bitSet) each(do func(int)) {
	for i, word := range s {
		for word != 0 {
			do(i*64 + bits.TrailingZeros64(word))
			word &= word - 1
		}
	}
}

func newBitSets(n, size int) []bitSet {
	all := make([]bitSet, n)
	for i := range all {
		all[i] = make(bitSet, (size+63)/64)
	}
	return all
}

// reachOf joins what namespaces may do as what tenants may do. Traffic between two tenants needs a namespace of each: the one that may
// send and the other that may receive.
func reachOf(e *reachParties, facts *semdiff.Proven) *reachState {
	r := &reachState{ends: e, open: newBitSets(len(e.names), len(e.names)), half: newBitSets(len(e.names), len(e.names)), ports: map[[2]int][]string{}}
	if facts == nil {
		return r
	}
	for _, text := range facts.Ranges {
		if p, err := netip.ParsePrefix(text); err == nil {
			r.ranges = append(r.ranges, p)
		}
	}
	spaces := tenantNamespacesOf(&facts.Reach)
	out, in := newBitSets(len(spaces.all), len(spaces.all)), newBitSets(len(spaces.all), len(spaces.all))
	for i := range facts.Reach.Of {
		own := &facts.Reach.Of[i]
		tenant := e.at[own.Tenant]
		for _, flow := range own.Egress {
			r.noteFlow(flow, spaces, i, out[i], func(other string) { r.noteFlowBetween(tenant, e.at[other], flow) })
		}
		for _, flow := range own.Ingress {
			r.noteFlow(flow, spaces, i, in[i], func(other string) { r.noteFlowBetween(e.at[other], tenant, flow) })
		}
	}
	for i := range out {
		from := e.at[spaces.all[i].Tenant]
		out[i].each(func(j int) {
			if to := e.at[spaces.all[j].Tenant]; from != to && in[j].has(i) {
				r.open[from].add(to)
			} else if from != to {
				r.half[from].add(to)
			}
		})
		in[i].each(func(j int) {
			if to := e.at[spaces.all[j].Tenant]; from != to && !out[j].has(i) {
				r.half[to].add(from)
			}
		})
	}
	return r
}

// tenantNamespaces are the namespaces of tenants.
type tenantNamespaces struct {
	all        []isolation.Reach
	at         map[string]int
	selections map[string][]string
}

func tenantNamespacesOf(r *isolation.Reachability) *tenantNamespaces {
	s := &tenantNamespaces{all: r.Of, at: map[string]int{}, selections: r.Selections}
	for i := range r.Of {
		s.at[r.Of[i].Namespace] = i
	}
	return s
}

// noteFlow notes one flow of a namespace: other namespaces of tenants in a set, other ends by their names.
func (r *reachState) noteFlow(f isolation.Flow, all *tenantNamespaces, own int, among bitSet, end func(string)) {
	switch {
	case f.From.IsValid():
		r.endsOfAddresses(f, end)
	case f.Namespaces == isolation.Own:
	case strings.HasPrefix(f.Namespaces, "{"):
		selected := all.selections[f.Namespaces]
		for _, name := range selected {
			if i, known := all.at[name]; known && i != own {
				among.add(i)
			}
		}
		if len(selected) == 0 || f.Namespaces == "{}" {
			end(platform)
		}
		if len(selected) <= maxFlows {
			r.endsOfNamespaces(selected, all, end)
		}
	default:
		if i, known := all.at[f.Namespaces]; known {
			among.add(i)
			r.endsOfNamespaces([]string{f.Namespaces}, all, end)
			return
		}
		end(platform)
	}
}

// endsOfNamespaces tells the tenants of namespaces, whose flows are named as long as they are few.
func (r *reachState) endsOfNamespaces(names []string, all *tenantNamespaces, end func(string)) {
	for _, name := range names {
		if i, known := all.at[name]; known {
			end(all.all[i].Tenant)
		}
	}
}

// endsOfAddresses tells the ends that a range of addresses is a part of.
func (r *reachState) endsOfAddresses(f isolation.Flow, end func(string)) {
	public, own := f.HasPublicAddress(), overlapsAny(f, r.ranges)
	if public {
		end(internet)
	}
	if own {
		end(inside)
	}
	if !public && !own || overlapsAny(f, unrouted) && !isWithinOne(f, r.ranges) {
		end(private)
	}
}

// overlapsAny reports whether a flow is about an address of some network.
func overlapsAny(f isolation.Flow, networks []netip.Prefix) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool {
		first := p.Masked().Addr()
		return p.Contains(f.From) || p.Contains(f.To) || first.Is4() == f.From.Is4() && f.From.Less(first) && first.Less(f.To)
	})
}

// isWithinOne reports whether a flow is about addresses of one network only.
func isWithinOne(f isolation.Flow, networks []netip.Prefix) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(f.From) && p.Contains(f.To) })
}

// noteFlowBetween notes a flow between two ends. Between two tenants it is one side's part only, and opens nothing.
func (r *reachState) noteFlowBetween(from, to int, f isolation.Flow) {
	if from >= r.ends.tenants || to >= r.ends.tenants {
		r.open[from].add(to)
	}
	k := [2]int{from, to}
	text := f.Ports
	if f.From.IsValid() || from >= r.ends.tenants || to >= r.ends.tenants {
		text = f.String()
	}
	if len(r.ports[k]) < maxFlows && !slices.Contains(r.ports[k], text) {
		r.ports[k] = append(r.ports[k], text)
	}
}

// maxFlows is how many flows between two ends are named.
const maxFlows = 20
