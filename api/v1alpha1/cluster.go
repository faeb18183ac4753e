package v1alpha1

// Cluster is one Kubernetes cluster and the facts about it that change what is compiled.
type Cluster struct {
	TypeMeta
	Metadata Metadata    `json:"metadata" jsonschema:"required"`
	Spec     ClusterSpec `json:"spec" jsonschema:"required"`
}

// ClusterSpec is the body of a Cluster.
type ClusterSpec struct {
	// Platform decides who chooses the user of a pod and where DNS is.
	Platform Platform `json:"platform" jsonschema:"required,enum=Kubernetes,enum=OpenShift"`
	// Version is the Kubernetes minor version of the API server, for example "1.36", on OpenShift too.
	Version string `json:"version" jsonschema:"required,format=kubernetes-version"`
	// Executor says who turns TrainJobs into pods.
	Executor Executor `json:"executor,omitempty" jsonschema:"enum=Bundled,enum=KubeflowTrainer,default=Bundled"`
	// Agent is how mpi-agent gets into the pods.
	Agent Agent `json:"agent" jsonschema:"required"`
	// PodUser is the identity of the processes of a job. Missing means UID and FSGroup 1000650000 and GID 0 on Kubernetes.
	// OpenShift assigns users itself: the key must be missing there.
	PodUser *PodUser `json:"podUser,omitempty"`
	// RequireDigests makes an image without a digest an error.
	RequireDigests bool `json:"requireDigests,omitempty"`
	// Network is how the cluster's own services are reached.
	Network ClusterNetwork `json:"network,omitempty"`
	// Capacity is how many machines of each profile the cluster has. Only runtimes of these profiles are compiled for
	// it; empty means all runtimes.
	Capacity []Capacity `json:"capacity,omitempty"`
	// Controller is where mpi-controller lives.
	Controller Controller `json:"controller,omitempty"`
	// Components are Helm charts of the repository that are rendered into platform/.
	Components []Component `json:"components,omitempty"`
}

// Platform is a distribution of Kubernetes.
type Platform string

// The platforms.
const (
	Kubernetes Platform = "Kubernetes"
	OpenShift  Platform = "OpenShift"
)

// Executor is the controller of TrainJobs.
type Executor string

// The executors: our own controller, or Kubeflow Trainer with our controller as a companion.
const (
	Bundled         Executor = "Bundled"
	KubeflowTrainer Executor = "KubeflowTrainer"
)

// Agent is the source of mpi-agent.
type Agent struct {
	// Image holds the agent at /bin/mpi-agent.
	Image string `json:"image" jsonschema:"required,format=image"`
	// ImageVolumes mounts the image directly, which saves up to a second per pod. Missing means whether the version has
	// image volumes switched on, which is from 1.35.
	ImageVolumes *bool `json:"imageVolumes,omitempty"`
}

// PodUser is a user without passwd entry. The numbers are those of Linux, up to 2147483647 as in Kubernetes.
type PodUser struct {
	// UID is not 0: PodSecurity `restricted` refuses root.
	UID int64 `json:"uid" jsonschema:"required,minimum=1,maximum=2147483647"`
	// GID may be 0, as on OpenShift.
	GID int64 `json:"gid,omitempty" jsonschema:"minimum=0,maximum=2147483647"`
	// FSGroup owns volumes, so that the key of the job is readable. 0 is possible only with GID 0.
	FSGroup int64 `json:"fsGroup" jsonschema:"required,minimum=0,maximum=2147483647"`
}

// ClusterNetwork is how the cluster's own services are reached.
type ClusterNetwork struct {
	// DNS is where the pods of the cluster's DNS are. Missing means kube-system/k8s-app=kube-dns port 53 on Kubernetes
	// and openshift-dns/dns.operator.openshift.io/daemonset-dns=default port 5353 on OpenShift.
	DNS *DNS `json:"dns,omitempty"`
}

// DNS selects the pods that answer DNS.
type DNS struct {
	// Namespace of the pods. No tenant may claim it.
	Namespace string `json:"namespace" jsonschema:"required,format=dns-label"`
	// PodLabels that the pods have, at least one: without labels every pod of the namespace would be meant.
	PodLabels map[string]string `json:"podLabels" jsonschema:"required,minItems=1,format=label-value"`
	// Port is the port of the pods, not of the Service, 1 to 65535.
	Port int32 `json:"port,omitempty" jsonschema:"minimum=1,maximum=65535,default=53"`
}

// Capacity is a number of equal machines.
type Capacity struct {
	// Profile names a HardwareProfile.
	Profile string `json:"profile" jsonschema:"required,format=dns-label"`
	// Nodes is the number of machines, at least 1.
	Nodes int32 `json:"nodes" jsonschema:"required,minimum=1"`
}

// Controller is where mpi-controller lives.
type Controller struct {
	// Namespace is created by the compiler. It must not be one that Kubernetes or OpenShift keeps for itself.
	Namespace string `json:"namespace,omitempty" jsonschema:"format=dns-label,default=lockstep-system"`
}

// Component is one release of a Helm chart.
type Component struct {
	// Chart is the folder of the chart, relative to the root of the repository.
	Chart string `json:"chart" jsonschema:"required,format=path"`
	// Release is the release's name; missing means the last part of Chart. It names the output file.
	Release string `json:"release,omitempty" jsonschema:"format=dns-label"`
	// Namespace of the release, created by the compiler; missing means the namespace of the controller. It must not be one that
	// Kubernetes or OpenShift keeps for itself.
	Namespace string `json:"namespace,omitempty" jsonschema:"format=dns-label"`
	// Values override those of the chart.
	Values map[string]any `json:"values,omitempty"`
}
