package check

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// storesReachable warns of object stores that the tenant's egress does not lead to. Where the endpoint is a name its address is not
// known: then only that some range opens its port.
func storesReachable(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		if t.ObjectStore == nil || t.ObjectStore.Endpoint.V == "" {
			continue
		}
		endpoint, err := url.Parse(t.ObjectStore.Endpoint.V)
		if err != nil {
			continue // decoding has reported it
		}
		port := 443
		if number, err := strconv.Atoi(endpoint.Port()); err == nil {
			port = number
		}
		opens := func(e plan.Egress) bool { return egressLeadsTo(e, endpoint.Hostname(), port) }
		if !slices.ContainsFunc(t.Egress, opens) {
			list.Warnf(diag.StoreNotReachable, t.ObjectStore.Endpoint.At, "no egress of the tenant `%s` leads to its object store, `%s` on port %d", t.Name.V, endpoint.Hostname(), port).
				Helpf("add the range of the store, or its pods, to `network.egress`")
		}
	}
}

// egressLeadsTo reports whether an egress may lead to a port of a host. The name of a Service holds its namespace. Its pods
// may listen on another port.
func egressLeadsTo(e plan.Egress, host string, port int) bool {
	if e.CIDR.V == "" {
		_, home, _ := strings.Cut(host, ".")
		return e.Namespace.V != "" && strings.HasPrefix(home+".", e.Namespace.V+".")
	}
	opens := func(p plan.Port) bool { return int(p.Port.V) == port && p.Protocol.V == "TCP" }
	if len(e.Ports) > 0 && !slices.ContainsFunc(e.Ports, opens) {
		return false
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return true
	}
	prefix, err := netip.ParsePrefix(e.CIDR.V)
	return err == nil && prefix.Contains(address)
}

// storesAreUsed warns of object stores whose Secret no job gets: catalog runtimes are shared, so that only variants have it.
func storesAreUsed(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		if t.ObjectStore != nil && len(t.Bases) == 0 {
			list.Warnf(diag.SettingInVain, t.ObjectStore.Secret.At, "no job of `%s` gets the object store: the tenant has no variant of a runtime", t.Name.V).
				Notef("runtimes of the catalog are shared and know no tenant's Secret").
				Helpf("add a variant to `variants`, or let TrainJobs name the Secret themselves and remove `objectStore`")
		}
	}
}
