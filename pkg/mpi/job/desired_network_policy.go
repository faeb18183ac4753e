package job

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"lockstep.dev/lockstep/pkg/mpi"
)

// RendezvousPolicyName returns the name of the policy that lets the controller reach the launcher. It is a policy of its
// own, because a policy's pod selector holds for all its rules, and the nodes must not admit the controller.
func RendezvousPolicyName(trainJob string) string {
	return mpi.NetworkPolicyName(trainJob) + "-rendezvous"
}

// NetworkPolicy returns the policy of the job: its pods may reach each other on every port, since MPI picks its own, and
// nobody else can reach them. Egress to the cluster's DNS and to data is the tenant's to allow.
func (j Job) NetworkPolicy() *networkingv1.NetworkPolicy {
	pods := metav1.LabelSelector{MatchLabels: map[string]string{mpi.JobSetNameLabel: j.Name}}
	peers := []networkingv1.NetworkPolicyPeer{{PodSelector: &pods}}
	return &networkingv1.NetworkPolicy{
		TypeMeta:   networkPolicyType(),
		ObjectMeta: j.objectMeta(mpi.NetworkPolicyName(j.Name)),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: pods,
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{From: peers}},
			Egress:      []networkingv1.NetworkPolicyEgressRule{{To: peers}},
		},
	}
}

// RendezvousPolicy admits the pods of mpi-controller in its namespace to the agent of the launcher, and to nothing else.
func (j Job) RendezvousPolicy(controllerNamespace string) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		TypeMeta:   networkPolicyType(),
		ObjectMeta: j.objectMeta(RendezvousPolicyName(j.Name)),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{
				mpi.JobSetNameLabel:    j.Name,
				mpi.ReplicatedJobLabel: mpi.LauncherJob,
			}},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{
				From: []networkingv1.NetworkPolicyPeer{{
					NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: controllerNamespace}},
					PodSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{mpi.ControllerLabel: mpi.ControllerName}},
				}},
				Ports: []networkingv1.NetworkPolicyPort{{
					Protocol: ptr.To(corev1.ProtocolTCP),
					Port:     ptr.To(intstr.FromInt32(mpi.AgentPort)),
				}},
			}},
		},
	}
}

func networkPolicyType() metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "NetworkPolicy"}
}
