// Package network gives the cluster its addresses and joins its nodes.
//
// Every node has a network namespace with one link, eth0, whose other end is a
// port of a bridge on the machine. The machine has an address on that bridge
// and routes to the API server, all pods and all services, so that kubectl and
// tests work from outside. Nodes reach each other, and the machine, and
// nothing else: everything outside is unreachable at once rather than after a
// time-out.
//
// Invariant: every link on the machine's side has a name that starts with
// Bridge or portPrefix, so that Remove finds all of them without a record.
package network

import (
	"fmt"
	"net/netip"
)

const (
	// Bridge is the name of the bridge on the machine.
	Bridge     = "lockstep0"
	portPrefix = "lockstep-n"
	// MaxNodes keeps the nodes' addresses and pod networks inside the plan.
	MaxNodes = 64
	// APIPort is the API server's.
	APIPort = 6443
)

// The fixed networks, and addresses in them.
var (
	Nodes    = netip.MustParsePrefix("10.240.0.0/24")
	Services = netip.MustParsePrefix("10.96.0.0/16")
	Pods     = netip.MustParsePrefix("10.244.0.0/16")
	// Host is the machine's own address on the bridge.
	Host = netip.MustParseAddr("10.240.0.1")
	// APIService is the first service address, which Kubernetes gives to the
	// service `kubernetes`.
	APIService = netip.MustParseAddr("10.96.0.1")
	// DNS is the address of the cluster's DNS service.
	DNS = netip.MustParseAddr("10.96.0.10")
)

// NodeName is the name of node i.
func NodeName(i int) string { return fmt.Sprintf("node%d", i) }

// NodeAddr is the address of node i; node 0 also runs the control plane.
func NodeAddr(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 240, 0, byte(2 + i)})
}

// PodCIDR is the network of the pods on node i.
func PodCIDR(i int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 244, byte(i), 0}), 24)
}

// APIServer is the URL of the API server.
func APIServer() string {
	return "https://" + netip.AddrPortFrom(NodeAddr(0), APIPort).String()
}

func portName(i int) string { return fmt.Sprintf("%s%d", portPrefix, i) }
