package lower

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/mpi"
)

var (
	denyRule       = origin.Rule("default deny", "a namespace is closed in both directions; what a tenant needs is opened by policies of their own")
	keepClosedRule = origin.Rule("default deny", "a namespace with volumes outlives its tenant in git, and stays closed as long: neither Argo CD nor Flux prunes this")
	dnsRule        = origin.Rule("dns", "pods find each other and the world by name; only the pods of DNS are opened, over UDP and TCP")
	egressRule     = origin.Rule("egress", "the ranges, pods and services that the tenant names are opened, nothing else")
	externalRule   = origin.Rule("external jobs", "pods of jobs of runtimes that others installed reach each other; nobody opens the network for each of these jobs alone")
	ingressRule    = origin.Rule("ingress", "the pods that the tenant names may come in, no others")
)

// networkPolicies closes a namespace in both directions and then opens what the tenant needs. Policies add up, so each opening
// is one of its own. The traffic within a job is not opened here: the controller does that per job, so that two jobs of one
// namespace are as separate as two tenants. It does so for MPI jobs; those of other runtimes share an opening.
func (b *builder) networkPolicies(c *plan.Cluster, t *plan.Tenant, namespace *plan.Value[string]) {
	b.defaultDeny(t, namespace)
	b.networkPolicy(t, namespace, dnsRule, "lockstep-dns",
		object.List("egress", dnsEgress(&c.DNS)), object.Texts("policyTypes", nil, "Egress"))
	b.trainerStatusPolicy(c, t, namespace)
	if len(t.Egress) > 0 {
		b.networkPolicy(t, namespace, egressRule, "lockstep-egress",
			egressRules(t.Egress), object.Texts("policyTypes", nil, "Egress"))
	}
	if len(t.External) > 0 {
		pods := externalPodSelector(&t.External[0])
		b.networkPolicy(t, namespace, externalRule, "lockstep-external-jobs",
			object.List("egress", peerRule("to", pods)), object.List("ingress", peerRule("from", pods)), pods, object.Texts("policyTypes", nil, "Ingress", "Egress"))
	}
	if len(t.Ingress) > 0 {
		b.networkPolicy(t, namespace, ingressRule, "lockstep-ingress",
			ingressRules(t.Ingress), object.Texts("policyTypes", nil, "Ingress"))
	}
}

// defaultDeny closes a namespace. Where a namespace outlives its tenant, so does this: the pods that still run there must not be open to
// everybody once the tenant is gone from git.
func (b *builder) defaultDeny(t *plan.Tenant, namespace *plan.Value[string]) {
	metadata := tenantMeta(t, namespace, constantText("lockstep-default-deny"))
	if holdsClaims(t, namespace.V) {
		metadata.Put(object.Map("annotations", keepAnnotations(keepClosedRule)...))
	}
	b.trafficPolicy(denyRule, metadata, object.Texts("policyTypes", nil, "Ingress", "Egress"))
}

// networkPolicy adds a policy for all pods of a namespace, or those that it selects.
func (b *builder) networkPolicy(t *plan.Tenant, namespace *plan.Value[string], rule *origin.Origin, name string, spec ...object.Node) {
	b.trafficPolicy(rule, tenantMeta(t, namespace, constantText(name)), spec...)
}

func (b *builder) trafficPolicy(rule *origin.Origin, metadata object.Node, spec ...object.Node) {
	if !slices.ContainsFunc(spec, func(n object.Node) bool { return n.Key == "podSelector" }) {
		spec = append(spec, object.Map("podSelector"))
	}
	b.add(rule, "networking.k8s.io/v1", "NetworkPolicy", metadata, object.Map("spec", spec...))
}

// externalPodSelector selects the pods of JobSets but those of compiled runtimes, which have a label of ours (podLabels). No TrainJob can change
// either label: the admission policy refuses them in patches.
func externalPodSelector(name *plan.Value[string]) object.Node {
	from := &origin.Origin{At: name.At, Kind: origin.Derived, Why: "the tenant names runtimes of others"}
	requirement := func(key, operator string) object.Node {
		return object.Map("", object.Text("key", key, from), object.Text("operator", operator, from))
	}
	return object.Map("podSelector", object.List("matchExpressions",
		requirement(mpi.JobSetNameLabel, "Exists"), requirement(mpi.ImplementationLabel, "DoesNotExist")))
}

// peerRule is a rule that opens all ports to pods: which ones a framework uses nobody knows here.
func peerRule(direction string, pods object.Node) object.Node {
	return object.Map("", object.List(direction, object.Map("", pods)))
}

// dnsEgress admits the pods of DNS, not its Service: policies see addresses after the Service was resolved.
func dnsEgress(dns *plan.DNS) object.Node {
	number := object.Number("port", int64(dns.Port.V), &dns.Port.Origin)
	return object.Map("",
		object.List("ports",
			object.Map("", number, object.Text("protocol", "UDP", nil)),
			object.Map("", number, object.Text("protocol", "TCP", nil))),
		object.List("to", podPeer(&dns.Namespace, dns.PodLabels)))
}

func egressRules(allowed []plan.Egress) object.Node {
	rules := make([]object.Node, len(allowed))
	for i := range allowed {
		peer := object.Map("", object.Map("ipBlock", planText("cidr", &allowed[i].CIDR)))
		if allowed[i].CIDR.V == "" {
			peer = podPeer(&allowed[i].Namespace, allowed[i].PodLabels)
		}
		rules[i] = object.Map("", allowedPorts(allowed[i].Ports), object.List("to", peer))
	}
	return object.List("egress", rules...)
}

func allowedPorts(ports []plan.Port) object.Node {
	if len(ports) == 0 {
		return object.Node{}
	}
	items := make([]object.Node, len(ports))
	for i := range ports {
		p := &ports[i]
		items[i] = object.Map("", object.Number("port", int64(p.Port.V), &p.Port.Origin), planText("protocol", &p.Protocol))
	}
	return object.List("ports", items...)
}

func ingressRules(allowed []plan.Pods) object.Node {
	rules := make([]object.Node, len(allowed))
	for i := range allowed {
		p := &allowed[i]
		rules[i] = object.Map("", object.List("from", podPeer(&p.Namespace, p.PodLabels)), allowedPorts(p.Ports))
	}
	return object.List("ingress", rules...)
}

// podPeer selects pods of a namespace, all if there are no labels.
func podPeer(namespace *plan.Value[string], labels []plan.Named[string]) object.Node {
	if len(labels) == 0 {
		return object.Map("", namespaceByName(namespace))
	}
	match := make([]object.Node, len(labels))
	for i := range labels {
		match[i] = planText(labels[i].Name, &labels[i].Value)
	}
	return object.Map("", namespaceByName(namespace), object.Map("podSelector", object.Map("matchLabels", match...)))
}

// namespaceByName selects a namespace by the label that the API server itself sets and nobody can forge.
func namespaceByName(namespace *plan.Value[string]) object.Node {
	return object.Map("namespaceSelector", object.Map("matchLabels", planText(corev1.LabelMetadataName, namespace)))
}
