package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// egressHasDestination asks that each egress names one destination, and that the cluster has its service.
func egressHasDestination(c *plan.Cluster, list *diag.List) {
	services := missingOfCluster{code: diag.UnknownService, kind: "service", key: "network.services"}
	for i := range c.Services {
		services.known = append(services.known, c.Services[i].Name.V)
	}
	for _, t := range c.Tenants {
		for i := range t.Egress {
			e := &t.Egress[i]
			if problem := destinationProblem(e); problem != "" {
				list.Errorf(diag.EgressUnclear, e.At, "an egress of `%s` %s", t.Name.V, problem).
					Helpf("write one of `cidr`, `namespace` and `service`; list more as items of their own")
			} else if e.Service.V != "" {
				services.report(c, e.Service, list)
			}
		}
	}
}

// destinationProblem returns the reason why an egress has no clear meaning, or "". The pods of a service are derived.
func destinationProblem(e *plan.Egress) string {
	ownPods := e.Namespace.V != "" && e.Namespace.Kind != origin.Derived
	switch {
	case e.CIDR.V == "" && e.Namespace.V == "" && e.Service.V == "":
		return "names no destination"
	case e.CIDR.V != "" && (ownPods || e.Service.V != ""), e.Service.V != "" && ownPods:
		return "names more than one destination"
	case len(e.PodLabels) > 0 && e.Namespace.V == "":
		return "has labels of pods without their namespace"
	case len(e.Ports) > 0 && e.Service.V != "" && e.Namespace.V == "":
		return "has ports beside a service, which has its own"
	}
	return ""
}

// servicesDiffer asks for names of services that differ.
func servicesDiffer(c *plan.Cluster, list *diag.List) {
	first := map[string]*plan.Service{}
	for i := range c.Services {
		s := &c.Services[i]
		if before := first[s.Name.V]; before != nil {
			list.Errorf(diag.ServiceTwice, s.Name.At, "the cluster `%s` has two services `%s`", c.Name.V, s.Name.V).
				Also(before.Name.At, "also here").Helpf("choose another name")
			continue
		}
		first[s.Name.V] = s
	}
}
