package check

import (
	"net/netip"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// metadataServices are the addresses at which clouds hand a machine its credentials: the one that all have in common, and the one
// of AWS for IPv6 (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html).
var metadataServices = []netip.Addr{netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("fd00:ec2::254")}

// egressWithoutMetadata warns of ranges with a metadata service. It is no error: not every cluster is in a cloud.
func egressWithoutMetadata(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		for _, e := range t.Egress {
			prefix, err := netip.ParsePrefix(e.CIDR.V)
			if err != nil {
				continue // decoding has reported it
			}
			for _, service := range metadataServices {
				if prefix.Contains(service) {
					list.Warnf(diag.MetadataReachable, e.CIDR.At, "`%s` opens the metadata service, %s, to the pods of the tenant", e.CIDR.V, service).
						Notef("in a cloud it hands out the credentials of the machine to whoever asks").
						Helpf("name the ranges that are needed, or block the address on the machines")
				}
			}
		}
	}
}
