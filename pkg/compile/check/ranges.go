package check

import (
	"net/netip"
	"slices"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// private are the ranges from which networks give pods and Services their addresses (RFC 1918, RFC 6598, RFC 4193).
var private = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("fc00::/7"),
}

// rangesAreKnown asks a cluster for the addresses of its pods and Services where a tenant may reach some that could be among them: a
// range of addresses opens what has them, whatever network policies say about namespaces. One finding is enough for a cluster.
func rangesAreKnown(c *plan.Cluster, list *diag.List) {
	if len(c.Ranges) > 0 {
		return
	}
	for _, t := range c.Tenants {
		for _, e := range t.Egress {
			prefix, err := netip.ParsePrefix(e.CIDR.V)
			if err == nil && slices.ContainsFunc(private, prefix.Overlaps) {
				list.Warnf(diag.RangesUnknown, c.Name.At, "the cluster `%s` does not say which addresses its pods and Services have", c.Name.V).
					Also(e.CIDR.At, "whether `%s` may reach the tenants and the platform by `%s` is not known", t.Name.V, e.CIDR.V).
					Helpf("write them at `network.ranges` of the cluster, for example `[10.244.0.0/16, 10.96.0.0/12]`")
				return
			}
		}
	}
}
