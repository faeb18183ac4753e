package lower

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"lockstep.dev/lockstep/pkg/compile/plan"
)

// networkPolicies closes a namespace in both directions and then opens what the tenant needs. Policies add up, so each opening
// is one of its own. The traffic within a job is not opened here: the controller does that per job, so that two jobs of one
// namespace are as separate as two tenants.
func (b *builder) networkPolicies(c *plan.Cluster, t *plan.Tenant, namespace string) {
	b.networkPolicy(t, namespace, "lockstep-default-deny", networkingv1.NetworkPolicySpec{
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
	})
	b.networkPolicy(t, namespace, "lockstep-dns", networkingv1.NetworkPolicySpec{
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
		Egress:      []networkingv1.NetworkPolicyEgressRule{dnsEgress(c.DNS)},
	})
	if len(t.Egress) > 0 {
		b.networkPolicy(t, namespace, "lockstep-egress", networkingv1.NetworkPolicySpec{
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
			Egress:      egressRules(t.Egress),
		})
	}
	if len(t.IngressFrom) > 0 {
		b.networkPolicy(t, namespace, "lockstep-ingress", networkingv1.NetworkPolicySpec{
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{ingressRule(t.IngressFrom)},
		})
	}
}

func (b *builder) networkPolicy(t *plan.Tenant, namespace, name string, spec networkingv1.NetworkPolicySpec) {
	b.add(networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: tenantMeta(t, namespace, name),
		Spec:       spec,
	})
}

// dnsEgress admits the pods of DNS, not its Service: policies see addresses after the Service was resolved.
func dnsEgress(dns plan.DNS) networkingv1.NetworkPolicyEgressRule {
	return networkingv1.NetworkPolicyEgressRule{
		To: []networkingv1.NetworkPolicyPeer{{
			NamespaceSelector: byName(dns.Namespace.V),
			PodSelector:       &metav1.LabelSelector{MatchLabels: dns.PodLabels},
		}},
		Ports: []networkingv1.NetworkPolicyPort{port(corev1.ProtocolUDP, dns.Port), port(corev1.ProtocolTCP, dns.Port)},
	}
}

func egressRules(allowed []plan.Egress) []networkingv1.NetworkPolicyEgressRule {
	var rules []networkingv1.NetworkPolicyEgressRule
	for _, e := range allowed {
		rule := networkingv1.NetworkPolicyEgressRule{
			To: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: e.CIDR.V}}},
		}
		for _, p := range e.Ports {
			rule.Ports = append(rule.Ports, port(p.Protocol, p.Port))
		}
		rules = append(rules, rule)
	}
	return rules
}

func ingressRule(namespaces []plan.Value[string]) networkingv1.NetworkPolicyIngressRule {
	var rule networkingv1.NetworkPolicyIngressRule
	for _, namespace := range namespaces {
		rule.From = append(rule.From, networkingv1.NetworkPolicyPeer{NamespaceSelector: byName(namespace.V)})
	}
	return rule
}

// byName selects a namespace by the label that the API server itself sets and nobody can forge.
func byName(namespace string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}
}

func port(protocol corev1.Protocol, number int32) networkingv1.NetworkPolicyPort {
	return networkingv1.NetworkPolicyPort{Protocol: &protocol, Port: ptr.To(intstr.FromInt32(number))}
}
