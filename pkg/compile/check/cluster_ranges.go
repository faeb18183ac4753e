package check

import (
	"cmp"
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

// addressFamily is one of both kinds of addresses: a cluster may say of one which addresses its pods have, and forget the other.
type addressFamily struct {
	is            func(netip.Addr) bool
	name, example string
}

var families = []addressFamily{
	{netip.Addr.Is4, "IPv4 ", "[10.244.0.0/16, 10.96.0.0/12]"},
	{netip.Addr.Is6, "IPv6 ", "[fd00:10:244::/56, fd00:10:96::/112]"},
}

// clusterRangesDeclared asks a cluster for the addresses of its pods and Services where a tenant may reach some that could be among them: a
// range of addresses opens what has them, whatever network policies say about namespaces. One finding is enough for a cluster. It is
// about the cluster and names no tenant.
func clusterRangesDeclared(c *plan.Cluster, list *diag.List) {
	for _, f := range families {
		if !f.isDeclared(c) && f.warnIfUndeclared(c, list) {
			return
		}
	}
}

func (f addressFamily) isDeclared(c *plan.Cluster) bool {
	return slices.ContainsFunc(c.Ranges, func(r plan.Value[string]) bool {
		prefix, err := netip.ParsePrefix(r.V)
		return err == nil && f.is(prefix.Addr())
	})
}

// clusterRangesApart warns of a range of the cluster that is within another one: pods and Services have ranges of their own, so that one of both is a
// slip, or says nothing.
func clusterRangesApart(c *plan.Cluster, list *diag.List) {
	type own struct {
		prefix netip.Prefix
		value  plan.Value[string]
	}
	var all []own
	for _, r := range c.Ranges {
		if prefix, err := netip.ParsePrefix(r.V); err == nil {
			all = append(all, own{prefix.Masked(), r})
		}
	}
	// Of two prefixes that overlap one holds the other, and comes first.
	slices.SortStableFunc(all, func(a, b own) int {
		return cmp.Or(a.prefix.Addr().Compare(b.prefix.Addr()), cmp.Compare(a.prefix.Bits(), b.prefix.Bits()))
	})
	for i, outer := 1, 0; i < len(all); i++ {
		if !all[outer].prefix.Overlaps(all[i].prefix) {
			outer = i
			continue
		}
		list.Warnf(diag.SettingInVain, all[i].value.At, "all addresses of `%s` are in `%s`, another range of the cluster", all[i].value.V, all[outer].value.V).
			Also(all[outer].value.At, "the other range").Helpf("remove it, or correct one of them: pods and Services have ranges of their own")
	}
}

// warnIfUndeclared reports that a range of a tenant may hold addresses of the cluster, and reports whether there is one.
func (f addressFamily) warnIfUndeclared(c *plan.Cluster, list *diag.List) bool {
	which := f.name
	if len(c.Ranges) == 0 {
		which = "" // it says nothing at all
	}
	for _, t := range c.Tenants {
		for _, e := range t.Egress {
			prefix, err := netip.ParsePrefix(e.CIDR.V)
			if err == nil && f.is(prefix.Addr()) && slices.ContainsFunc(private, prefix.Overlaps) {
				list.Warnf(diag.RangesUnknown, c.Name.At, "the cluster `%s` does not say which %saddresses its pods and Services have", c.Name.V, which).
					Notef("a tenant may reach private addresses: whether these are those of other tenants and of the platform is not known").
					Helpf("write them at `network.ranges` of the cluster, for example `%s`", f.example)
				return true
			}
		}
	}
	return false
}
