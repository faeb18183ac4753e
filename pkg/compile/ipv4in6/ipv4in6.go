// Package ipv4in6 knows the IPv6 addresses behind which IPv4 addresses hide. Who opens one opens the other, where the network has a
// gateway that translates. It is pure.
package ipv4in6

import "net/netip"

// carriers are the prefixes that an IPv4 address follows: IPv4-mapped addresses (RFC 4291, section 2.5.5.2), NAT64 (RFC 6052, section
// 2.1) and 6to4 (RFC 3056, section 2).
var carriers = []netip.Prefix{
	netip.MustParsePrefix("::ffff:0:0/96"), netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("2002::/16"),
}

// IPv6Forms returns the ranges of IPv6 addresses that stand for a range of IPv4 addresses; none for one of IPv6 addresses.
func IPv6Forms(p netip.Prefix) []netip.Prefix {
	if !p.Addr().Is4() {
		return nil
	}
	address := p.Masked().Addr().As4()
	forms := make([]netip.Prefix, len(carriers))
	for i, carrier := range carriers {
		bytes := carrier.Addr().As16()
		copy(bytes[carrier.Bits()/8:], address[:])
		forms[i] = netip.PrefixFrom(netip.AddrFrom16(bytes), carrier.Bits()+p.Bits())
	}
	return forms
}

// WithIPv6Forms returns ranges, and behind each its forms.
func WithIPv6Forms(prefixes []netip.Prefix) []netip.Prefix {
	var all []netip.Prefix
	for _, p := range prefixes {
		all = append(append(all, p), IPv6Forms(p)...)
	}
	return all
}
