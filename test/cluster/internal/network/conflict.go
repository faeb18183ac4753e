package network

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/vishvananda/netlink"
)

// Claim is a network that something on the machine uses already.
type Claim struct {
	Prefix netip.Prefix
	// By says what uses it, for people: "address of eth0", "route via tun0".
	By string
}

// ConflictError lists the claims that overlap the cluster's fixed networks.
type ConflictError struct{ Claims []Claim }

func (e ConflictError) Error() string {
	var b strings.Builder
	b.WriteString("the cluster needs the networks " + Nodes.String() + " (nodes), " + Services.String() + " (services) and " + Pods.String() + " (pods), but this machine uses ")
	for i, c := range e.Claims {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s (%s)", c.Prefix, c.By)
	}
	b.WriteString(": remove that address or route first")
	return b.String()
}

// CheckFree returns a ConflictError when addresses or routes of the machine
// overlap the cluster's networks.
func CheckFree() error {
	claims, err := machine()
	if err != nil {
		return err
	}
	if found := conflicts(claims); len(found) > 0 {
		return ConflictError{Claims: found}
	}
	return nil
}

// conflicts picks the claims that overlap. A default route claims nothing.
func conflicts(claims []Claim) []Claim {
	var found []Claim
	for _, c := range claims {
		if c.Prefix.Bits() == 0 {
			continue
		}
		for _, own := range []netip.Prefix{Nodes, Services, Pods} {
			if own.Overlaps(c.Prefix) {
				found = append(found, c)
				break
			}
		}
	}
	return found
}

// machine lists addresses and routes, without those of the cluster's links.
func machine() ([]Claim, error) {
	links, err := netlink.LinkList()
	if err != nil {
		return nil, fmt.Errorf("list the machine's links: %w", err)
	}
	var claims []Claim
	for _, l := range links {
		name := l.Attrs().Name
		if name == Bridge || strings.HasPrefix(name, portPrefix) {
			continue
		}
		addrs, err := netlink.AddrList(l, netlink.FAMILY_V4)
		if err != nil {
			return nil, fmt.Errorf("list the addresses of %s: %w", name, err)
		}
		for _, a := range addrs {
			claims = append(claims, claim(a.IPNet.String(), "address of "+name)...)
		}
		routes, err := netlink.RouteList(l, netlink.FAMILY_V4)
		if err != nil {
			return nil, fmt.Errorf("list the routes of %s: %w", name, err)
		}
		for _, r := range routes {
			if r.Dst != nil {
				claims = append(claims, claim(r.Dst.String(), "route via "+name)...)
			}
		}
	}
	return claims, nil
}

func claim(prefix, by string) []Claim {
	p, err := netip.ParsePrefix(prefix)
	if err != nil {
		return nil
	}
	return []Claim{{Prefix: p.Masked(), By: by}}
}
