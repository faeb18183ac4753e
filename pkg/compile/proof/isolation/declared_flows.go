package isolation

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/proof/labels"
	"lockstep.dev/lockstep/pkg/mpi"
)

// declaredFlows returns what the spec of a tenant opens, in both directions.
func declaredFlows(c *plan.Cluster, t *plan.Tenant) [2][]openFlow {
	return [2][]openFlow{
		egress: openFlows(slices.Concat(declaredEgress(t), flowsOfExternalRuntimes(t), flowsToTrainer(c),
			[]grant{{peer: dnsPods(&c.DNS), ports: dnsPorts(&c.DNS)}})),
		ingress: openFlows(append(declaredIngress(t), flowsOfExternalRuntimes(t)...)),
	}
}

// flowsOfExternalRuntimes is what runtimes of others open: the pods of their jobs reach each other. They are those of JobSets, without the label of
// compiled runtimes.
func flowsOfExternalRuntimes(t *plan.Tenant) []grant {
	if len(t.External) == 0 {
		return nil
	}
	pods := labels.Present(mpi.JobSetNameLabel).And(labels.Absent(mpi.ImplementationLabel)).Sorted()
	return []grant{{pods: pods, peer: &policyPeer{kind: own, pods: pods}, ports: &portSet{all: true}}}
}

// flowsToTrainer returns the way to the status server of Kubeflow Trainer if that runs the jobs.
func flowsToTrainer(c *plan.Cluster) []grant {
	if c.Bundled.V {
		return nil
	}
	var ports portSet
	ports.ranges[slices.Index(protocols[:], "TCP")] = []portRange{{mpi.TrainerStatusPort, mpi.TrainerStatusPort}}
	trainer := policyPeer{
		kind: selected, namespaces: labels.HasOneOf(nameLabel, mpi.TrainerNamespaces()...),
		pods: labels.HasOneOf("app.kubernetes.io/name", "kubeflow-trainer", "trainer"),
	}
	return []grant{{peer: &trainer, ports: &ports}}
}

func declaredEgress(t *plan.Tenant) []grant {
	var grants []grant
	for i := range t.Egress {
		e := &t.Egress[i]
		if block, ok := readPrefix(e.CIDR.V); ok {
			grants = append(grants, grant{peer: &policyPeer{kind: outside, addresses: addressSet{block}}, ports: declaredPorts(e.Ports)})
		} else if e.Namespace.V != "" {
			grants = append(grants, declaredPods(&e.Pods))
		}
	}
	return grants
}

func declaredPorts(list []plan.Port) *portSet {
	p := portSet{all: len(list) == 0}
	for i := range list {
		protocol := slices.Index(protocols[:], list[i].Protocol.V)
		number := int(list[i].Port.V)
		p.ranges[protocol] = append(p.ranges[protocol], portRange{number, number})
	}
	p = p.normalized()
	return &p
}

func declaredIngress(t *plan.Tenant) []grant {
	var grants []grant
	for i := range t.Ingress {
		grants = append(grants, declaredPods(&t.Ingress[i]))
	}
	return grants
}

// declaredPods are pods that a tenant names, or whose service it names.
func declaredPods(p *plan.Pods) grant {
	return grant{peer: podsWith(p.Namespace.V, p.PodLabels), ports: declaredPorts(p.Ports)}
}

// namespaceSelector selects one namespace.
func namespaceSelector(namespace string) labels.Selector {
	return labels.HasOneOf(nameLabel, namespace)
}

// dnsPods are the pods that answer DNS.
func dnsPods(dns *plan.DNS) *policyPeer {
	return podsWith(dns.Namespace.V, dns.PodLabels)
}

func podsWith(namespace string, own []plan.Named[string]) *policyPeer {
	p := &policyPeer{kind: selected, namespaces: namespaceSelector(namespace)}
	for i := range own {
		p.pods = p.pods.And(labels.HasOneOf(own[i].Name, own[i].V))
	}
	p.pods = p.pods.Sorted()
	return p
}

// dnsPorts is their port, over UDP, and over TCP for answers that are too long for it.
func dnsPorts(dns *plan.DNS) *portSet {
	var p portSet
	number := int(dns.Port.V)
	for i, protocol := range protocols {
		if protocol != "SCTP" {
			p.ranges[i] = []portRange{{number, number}}
		}
	}
	return &p
}
