package desired

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// NetworkPolicy returns the policy of the job: its pods may reach each other on every port, since MPI picks its own, and
// nobody else can reach them but the pods of mpi-controller in its namespace, which reach the port of the agent. Only the
// launcher's agent is ever asked; a second policy for the launcher alone would keep from the controller what it can open for
// itself, and cost every job a write and every policy engine a set of rules. Pods may ask the DNS of the cluster, which
// no other policy allows outside of tenants. Egress to data is the tenant's to allow.
func NetworkPolicy(j job.Job, controllerNamespace string) *networkingv1.NetworkPolicy {
	pods := metav1.LabelSelector{MatchLabels: map[string]string{mpi.JobSetNameLabel: j.Name}}
	peers := []networkingv1.NetworkPolicyPeer{{PodSelector: &pods}}
	return &networkingv1.NetworkPolicy{
		TypeMeta:   job.KindOfNetworkPolicy(),
		ObjectMeta: objectMeta(j, mpi.NetworkPolicyName(j.Name)),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: pods,
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: peers}, hostTableRule(controllerNamespace)},
			Egress:      []networkingv1.NetworkPolicyEgressRule{{To: peers}, dnsRule(mpi.KubernetesDNS), dnsRule(mpi.OpenShiftDNS)},
		},
	}
}

// hostTableRule admits the pods of mpi-controller to the agent, which tells the launcher the addresses of its nodes and
// reads how far it is.
func hostTableRule(controllerNamespace string) networkingv1.NetworkPolicyIngressRule {
	return networkingv1.NetworkPolicyIngressRule{
		From: []networkingv1.NetworkPolicyPeer{podsOf(controllerNamespace, mpi.ControllerLabel, mpi.ControllerName)},
		Ports: []networkingv1.NetworkPolicyPort{{
			Protocol: ptr.To(corev1.ProtocolTCP),
			Port:     ptr.To(intstr.FromInt32(mpi.AgentPort)),
		}},
	}
}

// dnsRule lets pods ask a DNS: its pods, not its Service, because policies see addresses after the Service was resolved.
func dnsRule(dns mpi.DNSPods) networkingv1.NetworkPolicyEgressRule {
	rule := networkingv1.NetworkPolicyEgressRule{
		To: []networkingv1.NetworkPolicyPeer{podsOf(dns.Namespace, dns.Label, dns.Value)},
	}
	for _, protocol := range []corev1.Protocol{corev1.ProtocolUDP, corev1.ProtocolTCP} {
		port := networkingv1.NetworkPolicyPort{Protocol: &protocol, Port: ptr.To(intstr.FromInt32(dns.Port))}
		rule.Ports = append(rule.Ports, port)
	}
	return rule
}

// podsOf selects the pods of a namespace that have a label.
func podsOf(namespace, label, value string) networkingv1.NetworkPolicyPeer {
	return networkingv1.NetworkPolicyPeer{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
		PodSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{label: value}},
	}
}
