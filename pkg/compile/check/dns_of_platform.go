package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// OpenShift's DNS operator runs its pods in this namespace, with this port.
const (
	openShiftDNS     = "openshift-dns"
	openShiftDNSPort = 5353
)

// dnsIsOfPlatform warns of a DNS that mixes OpenShift's with Kubernetes': policies would open a way on which nothing
// answers, and no job would resolve a name.
func dnsIsOfPlatform(c *plan.Cluster, list *diag.List) {
	namespace, port := c.DNS.Namespace, c.DNS.Port
	isOpenShift := namespace.V == openShiftDNS
	switch {
	case c.OpenShift && !isOpenShift:
		list.Warnf(diag.Contradiction, namespace.At, "`network.dns` names `%s`, and OpenShift answers DNS in `%s`",
			namespace.V, openShiftDNS).Helpf("remove `dns`: the pods and the port of OpenShift are its default")
	case !c.OpenShift && isOpenShift:
		list.Warnf(diag.Contradiction, namespace.At, "`%s` is of OpenShift, and the platform is Kubernetes", openShiftDNS).
			Helpf("remove `dns`, or write `platform: OpenShift`")
	case isOpenShift && port.V != openShiftDNSPort:
		list.Warnf(diag.Contradiction, port.At, "the pods in `%s` answer DNS on port %d, and `port` is %d",
			openShiftDNS, openShiftDNSPort, port.V).Helpf("write `port: %d`", openShiftDNSPort)
	}
}
