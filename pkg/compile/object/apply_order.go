package object

// order is the order of kinds in which one pass of `kubectl apply` succeeds: what others need comes first. Quotas, limits and
// network policies come before anything that could start a pod. Service accounts come late, because Kubernetes makes the `default` one of a new namespace itself, and a
// client that looks first and creates then would meet it half-way. A kind that is not listed comes after the listed ones.
var order = []string{
	"Namespace",
	"CustomResourceDefinition",
	"ValidatingAdmissionPolicy",
	"ValidatingAdmissionPolicyBinding",
	"MutatingAdmissionPolicy",
	"MutatingAdmissionPolicyBinding",
	"PriorityClass",
	"SecurityContextConstraints",
	"Topology",
	"ResourceFlavor",
	"Cohort",
	"WorkloadPriorityClass",
	"ClusterQueue",
	"ResourceQuota",
	"LimitRange",
	"NetworkPolicy",
	"LocalQueue",
	"PersistentVolumeClaim",
	"Secret",
	"ConfigMap",
	"ClusterRole",
	"ClusterRoleBinding",
	"Role",
	"RoleBinding",
	"ServiceAccount",
	"Service",
	"Deployment",
}

// Rank says how early the object is applied: objects of a lower rank come first.
func (o *Object) Rank() int { return rankOfKind(o.ID.Kind) }

func rankOfKind(kind string) int {
	for i, known := range order {
		if known == kind {
			return i
		}
	}
	return len(order)
}

// clusterScoped are the kinds of Kubernetes and of common add-ons that have no namespace.
var clusterScoped = map[string]bool{
	"APIService": true, "CSIDriver": true, "ClusterRole": true, "ClusterRoleBinding": true, "ClusterTrainingRuntime": true,
	"CustomResourceDefinition": true, "DeviceClass": true, "FlowSchema": true, "IngressClass": true,
	"MutatingAdmissionPolicy": true, "MutatingAdmissionPolicyBinding": true, "MutatingWebhookConfiguration": true,
	"ClusterQueue": true, "Cohort": true, "ResourceFlavor": true, "Topology": true, "WorkloadPriorityClass": true,
	"Namespace": true, "PersistentVolume": true, "PriorityClass": true, "PriorityLevelConfiguration": true,
	"RuntimeClass": true, "SecurityContextConstraints": true, "StorageClass": true,
	"ValidatingAdmissionPolicy": true, "ValidatingAdmissionPolicyBinding": true, "ValidatingWebhookConfiguration": true,
}

// IsClusterScoped reports whether objects of a kind have no namespace. The compiler cannot ask an API server, so it knows the
// kinds of Kubernetes by name.
func IsClusterScoped(kind string) bool { return clusterScoped[kind] }
