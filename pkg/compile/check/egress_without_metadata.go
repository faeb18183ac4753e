package check

import (
	"net/netip"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/ipv4in6"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// metadataServices are the addresses at which clouds hand a machine its credentials: the one that most have in common, the one of AWS
// for IPv6 (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html), the one of Alibaba Cloud
// (https://www.alibabacloud.com/help/en/ecs/user-guide/view-instance-metadata), and the one from which machines of Azure get their
// certificates and settings (https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16).
var metadataServices = []netip.Prefix{
	netip.MustParsePrefix("169.254.169.254/32"), netip.MustParsePrefix("fd00:ec2::254/128"), netip.MustParsePrefix("100.100.100.200/32"),
	netip.MustParsePrefix("168.63.129.16/32"),
}

// metadataForms are these addresses as a network that translates has them, by the service.
var metadataForms = func() [][]netip.Prefix {
	forms := make([][]netip.Prefix, len(metadataServices))
	for i := range metadataServices {
		forms[i] = ipv4in6.WithIPv6Forms(metadataServices[i : i+1])
	}
	return forms
}()

// egressWithoutMetadata warns of ranges with a metadata service. It is not an error: not every cluster is in a cloud.
func egressWithoutMetadata(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		for _, e := range t.Egress {
			prefix, err := netip.ParsePrefix(e.CIDR.V)
			if err != nil {
				continue // decoding has reported it
			}
			if service := metadataServiceIn(prefix); service != "" {
				list.Warnf(diag.MetadataReachable, e.CIDR.At, "`%s` opens the metadata service, %s, to the pods of the tenant", e.CIDR.V, service).
					Notef("in a cloud it hands out the credentials of the machine to whoever asks").
					Helpf("name the ranges that are needed, or block the address on the machines")
			}
		}
	}
}

// metadataServiceIn returns the first service that a range holds, or "". An address of its own comes before one that is translated.
func metadataServiceIn(r netip.Prefix) string {
	for _, service := range metadataServices {
		if r.Overlaps(service) {
			return service.Addr().String()
		}
	}
	for i, forms := range metadataForms {
		for _, form := range forms {
			if r.Overlaps(form) {
				return metadataServices[i].Addr().String() + " behind " + form.Addr().String()
			}
		}
	}
	return ""
}
