package check

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// protocols have well-known ports whose services speak one alone. DNS takes both, and is asked by UDP first.
var protocols = map[string][]int32{
	"TCP": {22, 80, 443, 636, 988, 2049, 3306, 5432, 6379, 6443, 8080, 8443, 9000, 9092},
	"UDP": {53, 69, 123, 161, 4789, 4791, 8472, 51820},
}

// portsHaveProtocols warns of a well-known port that is open for the other protocol alone.
func portsHaveProtocols(c *plan.Cluster, list *diag.List) {
	for i := range c.Services {
		portsHaveProtocol(c.Services[i].Ports, list)
	}
	for _, t := range c.Tenants {
		for i := range t.Egress {
			if t.Egress[i].Service.V == "" {
				portsHaveProtocol(t.Egress[i].Ports, list)
			}
		}
	}
}

func portsHaveProtocol(ports []plan.Port, list *diag.List) {
	for protocol, known := range protocols {
		for _, p := range ports {
			right := func(q plan.Port) bool { return q.Port.V == p.Port.V && q.Protocol.V == protocol }
			if slices.Contains(known, p.Port.V) && !slices.ContainsFunc(ports, right) {
				list.Warnf(diag.WrongProtocol, p.Port.At, "services on port %d speak %s, and it is open for %s",
					p.Port.V, protocol, p.Protocol.V).Helpf("write `{port: %d, protocol: %s}`", p.Port.V, protocol)
			}
		}
	}
}
