package network

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const nodeLink = "eth0"

// Configure sets up the network namespace of node i, one of n, from inside,
// after Plug.
func Configure(i, n int) error {
	if err := up("lo"); err != nil {
		return err
	}
	link, err := netlink.LinkByName(nodeLink)
	if err != nil {
		return fmt.Errorf("find the node's link: %w", err)
	}
	addr := &netlink.Addr{IPNet: ipNet(netip.PrefixFrom(NodeAddr(i), Nodes.Bits()))}
	if err := netlink.AddrAdd(link, addr); err != nil {
		return fmt.Errorf("give the node its address %s: %w", addr, err)
	}
	if err := up(nodeLink); err != nil {
		return err
	}
	for j := range n {
		if j == i {
			continue
		}
		if err := addRoute(link, PodCIDR(j), NodeAddr(j)); err != nil {
			return err
		}
	}
	return service(link)
}

// service makes outgoing packets to services pass the route lookup, which
// comes before kube-proxy rewrites them, and refuses everything else that is
// not on the bridge.
func service(link netlink.Link) error {
	if err := addRoute(link, Services, Host); err != nil {
		return err
	}
	everything := &net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(0, 32)}
	refuse := &netlink.Route{Dst: everything, Type: unix.RTN_UNREACHABLE}
	if err := netlink.RouteReplace(refuse); err != nil {
		return fmt.Errorf("refuse routes to the outside: %w", err)
	}
	return nil
}

func up(name string) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("find link %s: %w", name, err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("start link %s: %w", name, err)
	}
	return nil
}
