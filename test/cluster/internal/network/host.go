package network

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/vishvananda/netlink"
)

// Create makes the bridge, gives the machine its address on it, and routes
// services to node 0.
func Create() error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = Bridge
	if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attrs}); err != nil {
		return fmt.Errorf("make bridge %s: %w", Bridge, err)
	}
	bridge, err := netlink.LinkByName(Bridge)
	if err != nil {
		return fmt.Errorf("find bridge %s: %w", Bridge, err)
	}
	addr := &netlink.Addr{IPNet: ipNet(netip.PrefixFrom(Host, Nodes.Bits()))}
	if err := netlink.AddrAdd(bridge, addr); err != nil {
		return fmt.Errorf("give bridge %s the address %s: %w", Bridge, addr, err)
	}
	if err := netlink.LinkSetUp(bridge); err != nil {
		return fmt.Errorf("start bridge %s: %w", Bridge, err)
	}
	return addRoute(bridge, Services, NodeAddr(0))
}

// Plug makes the link of node i, whose first process is known to the machine
// by pid, and routes the node's pods to it.
func Plug(i, pid int) error {
	bridge, err := netlink.LinkByName(Bridge)
	if err != nil {
		return fmt.Errorf("find bridge %s: %w", Bridge, err)
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MasterIndex = portName(i), bridge.Attrs().Index
	pair := &netlink.Veth{LinkAttrs: attrs, PeerName: nodeLink, PeerNamespace: netlink.NsPid(pid)}
	if err := netlink.LinkAdd(pair); err != nil {
		return fmt.Errorf("link %s with the bridge: %w", NodeName(i), err)
	}
	port, err := netlink.LinkByName(portName(i))
	if err != nil {
		return fmt.Errorf("find link %s: %w", portName(i), err)
	}
	if err := netlink.LinkSetUp(port); err != nil {
		return fmt.Errorf("start link %s: %w", portName(i), err)
	}
	return addRoute(bridge, PodCIDR(i), NodeAddr(i))
}

// Unplugged returns an error while the link of node i is there.
func Unplugged(i int) error {
	_, err := netlink.LinkByName(portName(i))
	if errors.As(err, new(netlink.LinkNotFoundError)) {
		return nil
	}
	return errors.Join(err, fmt.Errorf("link %s is there", portName(i)))
}

func addRoute(link netlink.Link, to netip.Prefix, via netip.Addr) error {
	route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: ipNet(to), Gw: via.AsSlice()}
	if err := netlink.RouteReplace(route); err != nil {
		return fmt.Errorf("route %s via %s: %w", to, via, err)
	}
	return nil
}

// Remove removes every link of the cluster; routes go with them.
func Remove() error {
	links, err := ours()
	if err != nil {
		return err
	}
	var failed []error
	for _, l := range links {
		// The other end may have gone a moment ago with its namespace.
		err := netlink.LinkDel(l)
		if _, gone := netlink.LinkByName(l.Attrs().Name); err != nil && gone == nil {
			failed = append(failed, fmt.Errorf("remove link %s: %w", l.Attrs().Name, err))
		}
	}
	return errors.Join(failed...)
}

// Exists reports whether any link of the cluster is there.
func Exists() (bool, error) {
	links, err := ours()
	return len(links) > 0, err
}

func ours() ([]netlink.Link, error) {
	links, err := netlink.LinkList()
	if err != nil {
		return nil, fmt.Errorf("list the machine's links: %w", err)
	}
	var mine []netlink.Link
	for _, l := range links {
		if name := l.Attrs().Name; name == Bridge || strings.HasPrefix(name, portPrefix) {
			mine = append(mine, l)
		}
	}
	return mine, nil
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), 32)}
}
