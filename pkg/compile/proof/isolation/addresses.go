package isolation

import (
	"net/netip"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// addressRange is all addresses of one family from one to another.
type addressRange struct{ from, to netip.Addr }

// addressSet is a set, sorted and disjoint, IPv4 before IPv6; ranges that touch are one.
type addressSet []addressRange

// everywhere is all addresses.
var everywhere = addressSet{rangeOf(netip.MustParsePrefix("0.0.0.0/0")), rangeOf(netip.MustParsePrefix("::/0"))}

// readBlock returns the addresses of an ipBlock, and false for what is not one.
func readBlock(n *object.Node) (addressSet, bool) {
	block, ok := readPrefix(n.StringAt("cidr"))
	if !ok {
		return nil, false
	}
	var without addressSet
	if except := n.Get("except"); except != nil {
		for i := range except.Children {
			hole, ok := readPrefix(except.Children[i].Text)
			if !ok {
				return nil, false
			}
			without = append(without, hole)
		}
	}
	return addressSet{block}.minus(without.normalized()), true
}

func readPrefix(text string) (addressRange, bool) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return addressRange{}, false
	}
	if a := prefix.Addr(); a.Is4In6() && prefix.Bits() >= 96 {
		prefix = netip.PrefixFrom(a.Unmap(), prefix.Bits()-96)
	}
	return rangeOf(prefix), true
}

// rangeOf returns the first and the last address of a prefix.
func rangeOf(p netip.Prefix) addressRange {
	p = p.Masked()
	bytes := p.Addr().AsSlice()
	for i := range bytes {
		switch free := (i+1)*8 - p.Bits(); {
		case free >= 8:
			bytes[i] = 0xff
		case free > 0:
			bytes[i] |= 1<<free - 1
		}
	}
	last, _ := netip.AddrFromSlice(bytes)
	return addressRange{from: p.Addr(), to: last}
}

func (s addressSet) normalized() addressSet {
	slices.SortFunc(s, func(a, b addressRange) int { return a.from.Compare(b.from) })
	result := s[:0]
	for _, r := range s {
		if last := len(result) - 1; last >= 0 && result[last].touches(r.from) {
			if result[last].to.Less(r.to) {
				result[last].to = r.to
			}
		} else {
			result = append(result, r)
		}
	}
	return result
}

// touches reports whether a range ends at an address of its family or right before it.
func (r addressRange) touches(a netip.Addr) bool {
	return r.to.Is4() == a.Is4() && (!r.to.Less(a) || r.to.Next() == a)
}

func (r addressRange) overlaps(other addressRange) bool {
	return r.from.Is4() == other.from.Is4() && !other.to.Less(r.from) && !r.to.Less(other.from)
}

func (s addressSet) overlaps(other addressSet) bool {
	for _, r := range s {
		if slices.ContainsFunc(other, r.overlaps) {
			return true
		}
	}
	return false
}

// minus returns what is not in other.
func (s addressSet) minus(other addressSet) addressSet {
	left := s
	for _, hole := range other {
		var next addressSet
		for _, r := range left {
			next = append(next, r.minus(hole)...)
		}
		left = next
	}
	return left
}

func (r addressRange) minus(hole addressRange) addressSet {
	if !r.overlaps(hole) {
		return addressSet{r}
	}
	var parts addressSet
	if r.from.Less(hole.from) {
		parts = append(parts, addressRange{r.from, hole.from.Prev()})
	}
	if hole.to.Less(r.to) {
		parts = append(parts, addressRange{hole.to.Next(), r.to})
	}
	return parts
}

// String returns the range as a prefix where it is one.
func (r addressRange) String() string {
	if prefix, is := r.prefix(); is {
		return prefix.String()
	}
	return r.from.String() + " to " + r.to.String()
}

func (r addressRange) prefix() (prefix netip.Prefix, is bool) {
	for bits := 0; bits <= r.from.BitLen(); bits++ {
		if prefix = netip.PrefixFrom(r.from, bits); rangeOf(prefix) == r {
			return prefix, true
		}
	}
	return netip.Prefix{}, false
}

func (s addressSet) String() string {
	parts := make([]string, len(s))
	for i, r := range s {
		parts[i] = r.String()
	}
	return strings.Join(parts, ", ")
}

func (s addressSet) appendTo(b []byte) []byte {
	for _, r := range s {
		b = append(r.from.AppendTo(b), '-')
		b = append(r.to.AppendTo(b), ' ')
	}
	return b
}
