package main

// kinds are what a bundle may hold: what the compiler itself emits, and what the charts of a platform usually hold. A kind
// that is not here is unknown to the compiler, and objects of it are reported as such.
var kinds = []string{
	"v1/ConfigMap",
	"v1/LimitRange",
	"v1/Namespace",
	"v1/PersistentVolume",
	"v1/PersistentVolumeClaim",
	"v1/Pod",
	"v1/PodTemplate",
	"v1/ResourceQuota",
	"v1/Secret",
	"v1/Service",
	"v1/ServiceAccount",
	"admissionregistration.k8s.io/v1/MutatingAdmissionPolicy",
	"admissionregistration.k8s.io/v1/MutatingAdmissionPolicyBinding",
	"admissionregistration.k8s.io/v1/MutatingWebhookConfiguration",
	"admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy",
	"admissionregistration.k8s.io/v1/ValidatingAdmissionPolicyBinding",
	"admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration",
	"apiextensions.k8s.io/v1/CustomResourceDefinition",
	"apiregistration.k8s.io/v1/APIService",
	"apps/v1/DaemonSet",
	"apps/v1/Deployment",
	"apps/v1/StatefulSet",
	"autoscaling/v2/HorizontalPodAutoscaler",
	"batch/v1/CronJob",
	"batch/v1/Job",
	"networking.k8s.io/v1/Ingress",
	"networking.k8s.io/v1/IngressClass",
	"networking.k8s.io/v1/NetworkPolicy",
	"node.k8s.io/v1/RuntimeClass",
	"policy/v1/PodDisruptionBudget",
	"rbac.authorization.k8s.io/v1/ClusterRole",
	"rbac.authorization.k8s.io/v1/ClusterRoleBinding",
	"rbac.authorization.k8s.io/v1/Role",
	"rbac.authorization.k8s.io/v1/RoleBinding",
	"resource.k8s.io/v1/DeviceClass",
	"resource.k8s.io/v1/ResourceClaimTemplate",
	"scheduling.k8s.io/v1/PriorityClass",
	"storage.k8s.io/v1/CSIDriver",
	"storage.k8s.io/v1/StorageClass",

	"argoproj.io/v1alpha1/AppProject",
	"argoproj.io/v1alpha1/Application",
	"argoproj.io/v1alpha1/ApplicationSet",
	"external-secrets.io/v1/ExternalSecret",
	"helm.toolkit.fluxcd.io/v2/HelmRelease",
	"jobset.x-k8s.io/v1alpha2/JobSet",
	"k8s.cni.cncf.io/v1/NetworkAttachmentDefinition",
	"kueue.x-k8s.io/v1beta1/AdmissionCheck",
	"kueue.x-k8s.io/v1beta1/ClusterQueue",
	"kueue.x-k8s.io/v1beta1/Cohort",
	"kueue.x-k8s.io/v1beta1/LocalQueue",
	"kueue.x-k8s.io/v1beta1/ResourceFlavor",
	"kueue.x-k8s.io/v1beta1/Topology",
	"kueue.x-k8s.io/v1beta1/WorkloadPriorityClass",
	"kueue.x-k8s.io/v1beta2/AdmissionCheck",
	"kueue.x-k8s.io/v1beta2/ClusterQueue",
	"kueue.x-k8s.io/v1beta2/Cohort",
	"kueue.x-k8s.io/v1beta2/LocalQueue",
	"kueue.x-k8s.io/v1beta2/ResourceFlavor",
	"kueue.x-k8s.io/v1beta2/Topology",
	"kueue.x-k8s.io/v1beta2/WorkloadPriorityClass",
	"kustomize.toolkit.fluxcd.io/v1/Kustomization",
	"monitoring.coreos.com/v1/PodMonitor",
	"monitoring.coreos.com/v1/PrometheusRule",
	"monitoring.coreos.com/v1/ServiceMonitor",
	"monitoring.coreos.com/v1alpha1/AlertmanagerConfig",
	"scheduling.x-k8s.io/v1alpha1/PodGroup",
	"security.openshift.io/v1/SecurityContextConstraints",
	"source.toolkit.fluxcd.io/v1/Bucket",
	"source.toolkit.fluxcd.io/v1/GitRepository",
	"source.toolkit.fluxcd.io/v1/HelmRepository",
	"source.toolkit.fluxcd.io/v1/OCIRepository",
	"trainer.kubeflow.org/v1alpha1/ClusterTrainingRuntime",
	"trainer.kubeflow.org/v1alpha1/TrainJob",
	"trainer.kubeflow.org/v1alpha1/TrainingRuntime",
}

// youngKinds are the kinds that Kubernetes serves only from a minor version on.
var youngKinds = map[string]int{
	"admissionregistration.k8s.io/v1/MutatingAdmissionPolicy":        36,
	"admissionregistration.k8s.io/v1/MutatingAdmissionPolicyBinding": 36,
}

// wantedKinds says which kinds the archive shall hold.
func wantedKinds() map[string]bool {
	set := map[string]bool{}
	for _, kind := range kinds {
		set[kind] = true
	}
	return set
}
