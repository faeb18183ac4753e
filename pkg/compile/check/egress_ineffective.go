package check

import (
	"net/netip"
	"slices"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/ipv4in6"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// askedFor are ranges of which other rules say what is wrong with them: they may hold addresses of the cluster, or are IPv4 for a network that
// translates, so that pods of IPv4 clusters may have IPv6 after all.
var askedFor = slices.Concat(private, metadataServices, ipv4in6.IPv6Forms(netip.MustParsePrefix("0.0.0.0/0")))

// egressOfKnownFamily warns of ranges of IPv6 where all addresses of the cluster are of IPv4, and the other way round: its pods have no
// address to go there from. Where the range may hold addresses of the cluster, clusterRangesDeclared asks for these.
func egressOfKnownFamily(c *plan.Cluster, list *diag.List) {
	if len(c.Ranges) == 0 {
		return
	}
	for _, f := range families {
		if f.isDeclared(c) {
			continue
		}
		for _, t := range c.Tenants {
			for _, e := range t.Egress {
				prefix, err := netip.ParsePrefix(e.CIDR.V)
				if err == nil && f.is(prefix.Addr()) && !slices.ContainsFunc(askedFor, prefix.Overlaps) {
					list.Warnf(diag.SettingInVain, e.CIDR.At, "`%s` opens nothing: no range of the cluster `%s` has %saddresses", e.CIDR.V, c.Name.V, f.name).
						Also(c.Ranges[0].At, "the ranges").Helpf("remove it, or write the %sranges of pods and Services to `network.ranges`", f.name)
				}
			}
		}
	}
}

// egressNotTwice warns of a range that is there again and opens nothing more. One that is within a wider one may be there for its name.
func egressNotTwice(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		for i := range t.Egress {
			for j := range t.Egress {
				if own, other := &t.Egress[i], &t.Egress[j]; i != j && opensAllPortsOf(other, own) && (i > j || !opensAllPortsOf(own, other)) {
					list.Warnf(diag.SettingInVain, own.CIDR.At, "`%s` opens nothing that `%s` does not open", own.CIDR.V, other.CIDR.V).
						Also(other.CIDR.At, "opened here").Helpf("remove one of them, or correct its range or its ports")
					break
				}
			}
		}
	}
}

// opensAllPortsOf reports whether an egress opens all that another one of the same range opens.
func opensAllPortsOf(wide, narrow *plan.Egress) bool {
	outer, err := netip.ParsePrefix(wide.CIDR.V)
	inner, other := netip.ParsePrefix(narrow.CIDR.V)
	if err != nil || other != nil || outer.Masked() != inner.Masked() {
		return false
	}
	has := func(p plan.Port) bool {
		return slices.ContainsFunc(wide.Ports, func(own plan.Port) bool { return own.Port.V == p.Port.V && own.Protocol.V == p.Protocol.V })
	}
	return len(wide.Ports) == 0 || len(narrow.Ports) > 0 && !slices.ContainsFunc(narrow.Ports, func(p plan.Port) bool { return !has(p) })
}
