package v1alpha1

import (
	"bytes"
	"encoding/json"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Tenant is a team: its people, its namespaces and what it may use.
type Tenant struct {
	TypeMeta
	Metadata Metadata   `json:"metadata" jsonschema:"required"`
	Spec     TenantSpec `json:"spec" jsonschema:"required"`
}

// TenantSpec is the body of a Tenant.
type TenantSpec struct {
	// DisplayName is how people call the team.
	DisplayName string `json:"displayName,omitempty"`
	// People are groups and users of the identity provider, and accounts of programs.
	People People `json:"people" jsonschema:"required"`
	// Namespaces are created on every cluster of the tenant. A namespace belongs to one tenant.
	Namespaces []string `json:"namespaces" jsonschema:"required,minItems=1,uniqueItems,format=dns-label"`
	// Clusters name the clusters where the tenant works.
	Clusters []string `json:"clusters" jsonschema:"required,minItems=1,uniqueItems,format=dns-label"`
	// Runtimes name the runtimes that the tenant uses; empty means every runtime that admits the tenant.
	Runtimes []string `json:"runtimes,omitempty" jsonschema:"uniqueItems,format=dns-label"`
	// ExternalRuntimes name ClusterTrainingRuntimes that others installed in the cluster, such as torch-distributed of Kubeflow Trainer,
	// which runs their jobs. They have no bounds here: quota, queue, network and the rules for pods hold for their jobs as for all.
	ExternalRuntimes []string `json:"externalRuntimes,omitempty" jsonschema:"uniqueItems,format=dns-name"`
	// Quota is what each namespace of the tenant may hold at one time.
	Quota Quota `json:"quota" jsonschema:"required"`
	// Limits bound a single container.
	Limits Limits `json:"limits,omitempty"`
	// Network opens what is closed: without it pods reach the cluster's DNS and the pods of their own job only.
	Network TenantNetwork `json:"network,omitempty"`
	// Queue is the tenant's share of machines on clusters that queue jobs with Kueue.
	Queue *Queue `json:"queue,omitempty"`
	// Storage are volumes that every namespace of the tenant gets. They outlive jobs.
	Storage []Claim `json:"storage,omitempty"`
	// PullSecrets name Secrets of the tenant's namespaces that hold registry credentials. Their content never is in a spec.
	PullSecrets []string `json:"pullSecrets,omitempty" jsonschema:"uniqueItems,format=dns-name"`
	// Secrets come into every namespace of the tenant from stores outside of the cluster, such as Vault. External Secrets
	// Operator (https://external-secrets.io) reads them again each hour.
	Secrets []StoredSecret `json:"secrets,omitempty"`
	// ObjectStore is where jobs keep data and checkpoints.
	ObjectStore *ObjectStore `json:"objectStore,omitempty"`
	// GitOps lets the engine of a cluster that has one apply TrainJobs from a repository of the tenant.
	GitOps *TenantGitOps `json:"gitops,omitempty"`
	// Alerts says who is told of the tenant's jobs that failed or do not get on, on clusters that have `monitoring.notify`.
	Alerts []Receiver `json:"alerts,omitempty"`
	// Variants are runtimes of this tenant alone: a catalog runtime with some values changed.
	Variants []Variant `json:"variants,omitempty"`
	// PodSecurity is the Pod Security Standard of the namespaces. `baseline` admits root.
	PodSecurity string `json:"podSecurity,omitempty" jsonschema:"enum=restricted,enum=baseline,default=restricted"`
	// Retention says how long finished jobs stay.
	Retention Retention `json:"retention,omitempty"`
	// Waivers accept findings about this tenant.
	Waivers []Waiver `json:"waivers,omitempty"`
}

// People are groups, accounts of programs and users per role. One may be in several. A text alone is the name of a group, as the identity
// provider spells it. Names that begin with `system:` are refused: they are Kubernetes' own, such as the group of everybody.
type People struct {
	// Admins may do what editors do, and exec into pods.
	Admins []Subject `json:"admins,omitempty" jsonschema:"uniqueItems"`
	// Editors create, change and delete TrainJobs, and read what these make.
	Editors []Subject `json:"editors" jsonschema:"required,minItems=1,uniqueItems"`
	// Viewers read.
	Viewers []Subject `json:"viewers,omitempty" jsonschema:"uniqueItems"`
	// Shell may open a shell in pods and forward their ports, as admins may. A shell in a launcher can read the key of its job.
	Shell []Subject `json:"shell,omitempty" jsonschema:"uniqueItems"`
	// Secrets may create, replace and delete Secrets, and read none: credentials of registries and stores, for jobs that
	// name them. Keys of jobs and tokens of accounts are not among these. It takes Kubernetes 1.30 or later.
	Secrets []Subject `json:"secrets,omitempty" jsonschema:"uniqueItems"`
}

// Subject is who has a role, by one of its keys. In place of the mapping a text names a group.
type Subject struct {
	// Group is the name of a group, as the identity provider spells it.
	Group string `json:"group,omitempty" jsonschema:"shorthand,format=group"`
	// ServiceAccount is an account of a program, such as a CI robot, a notebook or a step of a pipeline, as NAMESPACE/NAME. Everybody who may start
	// pods in its namespace, or request its token, has its role.
	ServiceAccount string `json:"serviceAccount,omitempty" jsonschema:"format=service-account"`
	// User is one person, where the identity provider has no groups, with the name that the API server knows.
	User string `json:"user,omitempty" jsonschema:"format=user"`
}

// UnmarshalJSON also takes a text, which names a group.
func (s *Subject) UnmarshalJSON(data []byte) error {
	*s = Subject{}
	if bytes.HasPrefix(data, []byte(`"`)) {
		return json.Unmarshal(data, &s.Group)
	}
	type keys Subject // without this method
	return json.Unmarshal(data, (*keys)(s))
}

// Quota is a ResourceQuota in the words of MPI jobs. Launchers count.
type Quota struct {
	// CPU is the sum of requests, in cores, up to 100M. The shares of the Queue count instead, if there is one.
	CPU resource.Quantity `json:"cpu" jsonschema:"required,minimum=1m,maximum=100M"`
	// Memory is the sum of requests and the sum of limits, in bytes, up to 512Pi. The shares of the
	// Queue count instead, if there is one.
	Memory resource.Quantity `json:"memory" jsonschema:"required,minimum=1Mi,maximum=512Pi"`
	// Pods is the number of pods that have not finished, 1 to 1000000.
	Pods int64 `json:"pods" jsonschema:"required,minimum=1,maximum=1000000"`
	// Jobs is the number of TrainJobs, finished ones included, 1 to 1000000.
	Jobs int64 `json:"jobs" jsonschema:"required,minimum=1,maximum=1000000"`
	// Accelerators is the number of devices per extended resource, for example nvidia.com/gpu: 16. What is left
	// out is 0: the tenant gets none. At most 1M of each.
	Accelerators map[string]resource.Quantity `json:"accelerators,omitempty" jsonschema:"minimum=0,maximum=1M,format=resource-name"`
	// Storage is the sum of the sizes of all PersistentVolumeClaims, in bytes; missing means the sum of the tenant's own Storage. At most
	// 512Pi.
	Storage *resource.Quantity `json:"storage,omitempty" jsonschema:"minimum=0,maximum=512Pi"`
}

// Queue is a ClusterQueue and the LocalQueues that lead to it. Where it exists, Kueue counts CPU, memory and devices, and the
// ResourceQuota of the namespaces counts objects and storage only: two systems that count the same resource disagree one day.
type Queue struct {
	// Cohort names one of the cluster's cohorts, whose members lend each other what they do not use; missing means that the tenant is
	// alone.
	Cohort string `json:"cohort,omitempty" jsonschema:"format=dns-label"`
	// Shares are machines per profile.
	Shares []Share `json:"shares" jsonschema:"required,minItems=1"`
	// Preempts says whom a waiting job of this tenant may stop to get its own share back: nobody, jobs that borrowed (Borrowed), or also
	// jobs of this tenant with a lower priority (Lower).
	Preempts string `json:"preempts,omitempty" jsonschema:"enum=Nobody,enum=Borrowed,enum=Lower,default=Borrowed"`
}

// Share is a number of whole machines of a profile: of all that one offers, CPU, memory, accelerators and fabric devices.
type Share struct {
	// Profile names a HardwareProfile.
	Profile string `json:"profile" jsonschema:"required,format=dns-label"`
	// Nodes is the guaranteed number, 0 to 1000000. 0 with Borrow means: only what others leave.
	Nodes int32 `json:"nodes" jsonschema:"required,minimum=0,maximum=1000000"`
	// Borrow is how many more machines the tenant may take from its cohort while they are idle; missing means as many as there are.
	Borrow *int32 `json:"borrow,omitempty" jsonschema:"minimum=0,maximum=1000000"`
	// Lend is how many of Nodes others may take while they are idle; missing means all.
	Lend *int32 `json:"lend,omitempty" jsonschema:"minimum=0,maximum=1000000"`
}

// Claim is a PersistentVolumeClaim.
type Claim struct {
	// Name of the claim in each namespace.
	Name string `json:"name" jsonschema:"required,format=dns-label"`
	// Size in bytes, up to 512Pi. It can grow later, never shrink.
	Size resource.Quantity `json:"size" jsonschema:"required,minimum=1Mi,maximum=512Pi"`
	// Access is who may mount it: ReadWriteMany for all nodes of a job, ReadWriteOnce for one machine, ReadOnlyMany.
	Access string `json:"access,omitempty" jsonschema:"enum=ReadWriteMany,enum=ReadWriteOnce,enum=ReadOnlyMany,default=ReadWriteMany"`
	// StorageClass names one of the cluster's; missing means the default one.
	StorageClass string `json:"storageClass,omitempty" jsonschema:"format=dns-name"`
	// Namespaces get the claim; missing means all of the tenant.
	Namespaces []string `json:"namespaces,omitempty" jsonschema:"uniqueItems,format=dns-label"`
}

// StoredSecret is a Secret whose content a store holds. It is never in a spec.
type StoredSecret struct {
	// Name of the Secret, by which jobs, `pullSecrets` and `objectStore` refer to it.
	Name string `json:"name" jsonschema:"required,format=dns-name"`
	// Store names one of `secretStores` of the cluster.
	Store string `json:"store" jsonschema:"required,format=dns-name"`
	// Key of the store, for example teams/vision/bucket. Its properties become the keys of the Secret.
	Key string `json:"key" jsonschema:"required"`
	// Type of the Secret. Credentials of a registry are in the property .dockerconfigjson of their key.
	Type string `json:"type,omitempty" jsonschema:"enum=Opaque,enum=kubernetes.io/dockerconfigjson,default=Opaque"`
}

// ObjectStore is a reference to a bucket.
type ObjectStore struct {
	// Secret names a Secret of the namespaces whose keys become environment variables of the jobs of the tenant's variants:
	// AWS_ACCESS_KEY_ID and the like. Catalog runtimes are shared and know no tenant's secret.
	Secret string `json:"secret" jsonschema:"required,format=dns-name"`
	// Endpoint is the URL of the store, without credentials; missing means that the secret says it.
	Endpoint string `json:"endpoint,omitempty" jsonschema:"format=https-url"`
}

// TenantGitOps is a repository of the tenant from which Flux or Argo CD applies TrainJobs, and nothing else, into the
// tenant's namespaces. People with the right to push there start jobs as editors do. A job runs once: an ended one stays until
// its file goes, and another run is another name.
type TenantGitOps struct {
	// Jobs must be true for anything to be applied.
	Jobs bool `json:"jobs" jsonschema:"required"`
	// Repository is the URL of the tenant's git repository.
	Repository string `json:"repository" jsonschema:"required,format=git-url"`
	// Secret with the credentials of the repository, in the namespace of Flux. Argo CD finds credentials by the URL.
	Secret string `json:"secret,omitempty" jsonschema:"format=dns-name"`
	// Revision is the branch that is applied.
	Revision string `json:"revision,omitempty" jsonschema:"default=main"`
	// Path is the folder of the TrainJobs; missing means the whole repository.
	Path string `json:"path,omitempty" jsonschema:"format=path"`
}

// Receiver is who is told of alerts, in at least one of the three ways.
type Receiver struct {
	// Name tells the receiver from others of the tenant.
	Name string `json:"name" jsonschema:"required,format=dns-label"`
	// Severities are those of the alerts; missing means critical and warning.
	Severities []string `json:"severities,omitempty" jsonschema:"uniqueItems,enum=critical,enum=warning,enum=info"`
	// Email lists addresses.
	Email []string `json:"email,omitempty" jsonschema:"uniqueItems,format=email"`
	// Slack is a channel of Slack, or of what has incoming webhooks like Slack.
	Slack *SlackReceiver `json:"slack,omitempty"`
	// Webhook gets alerts as JSON, in the form of Alertmanager.
	Webhook *WebhookReceiver `json:"webhook,omitempty"`
}

// SlackReceiver is an incoming webhook of Slack. Its URL is a credential, so that it never is in a spec.
type SlackReceiver struct {
	// Secret of the tenant's namespaces that holds the URL.
	Secret string `json:"secret" jsonschema:"required,format=dns-name"`
	// Key of the Secret.
	Key string `json:"key,omitempty" jsonschema:"format=secret-key,default=url"`
}

// WebhookReceiver is a URL, in the open or in a Secret.
type WebhookReceiver struct {
	// URL is for receivers that need no credentials, such as one of your own; it should begin with https.
	URL string `json:"url,omitempty" jsonschema:"format=https-url"`
	// Secret of the tenant's namespaces that holds the URL, in place of URL.
	Secret string `json:"secret,omitempty" jsonschema:"format=dns-name"`
	// Key of the Secret.
	Key string `json:"key,omitempty" jsonschema:"format=secret-key,default=url"`
}

// Variant is a runtime of one tenant: it compiles to a TrainingRuntime in each namespace.
type Variant struct {
	// Name of the runtime, different from all catalog runtimes.
	Name string `json:"name" jsonschema:"required,format=dns-label"`
	// Runtime names the catalog runtime that is changed.
	Runtime string `json:"runtime" jsonschema:"required,format=dns-label"`
	// Image replaces that of the runtime.
	Image string `json:"image,omitempty" jsonschema:"format=image"`
	// Nodes replaces the bounds of the runtime; they may only become narrower.
	Nodes *Nodes `json:"nodes,omitempty"`
	// Env is added, and wins.
	Env []Variable `json:"env,omitempty"`
	// Volumes are added.
	Volumes []Volume `json:"volumes,omitempty"`
}

// Retention is how long things stay after their use.
type Retention struct {
	// FinishedJobs are deleted after this time, for example 168h; missing means never. Their logs go with them.
	FinishedJobs string `json:"finishedJobs,omitempty" jsonschema:"format=duration"`
}

// Limits bound single objects of a namespace.
type Limits struct {
	// Container is what one container may take, and takes when it says nothing.
	Container ContainerLimits `json:"container,omitempty"`
}

// ContainerLimits becomes a LimitRange.
type ContainerLimits struct {
	// Max is the most that one container may take; missing means no bound but the quota.
	Max Amounts `json:"max,omitempty"`
	// Default is what a container gets that says nothing. CPU is requested but not limited: a limit throttles ranks.
	Default DefaultAmounts `json:"default,omitempty"`
}

// Amounts is CPU and memory, each optional.
type Amounts struct {
	// CPU is in cores, up to 10k. It bounds what a TrainJob asks for; the LimitRange allows the CPU limits of the tenant's runtimes too, which
	// are more than anybody uses.
	CPU *resource.Quantity `json:"cpu,omitempty" jsonschema:"minimum=1m,maximum=10k"`
	// Memory is in bytes, up to 64Ti.
	Memory *resource.Quantity `json:"memory,omitempty" jsonschema:"minimum=1Mi,maximum=64Ti"`
}

// DefaultAmounts is CPU and memory of a container that says nothing.
type DefaultAmounts struct {
	// CPU is in cores, up to 10k.
	CPU resource.Quantity `json:"cpu,omitempty" jsonschema:"minimum=1m,maximum=10k,default=100m"`
	// Memory is in bytes, up to 64Ti.
	Memory resource.Quantity `json:"memory,omitempty" jsonschema:"minimum=1Mi,maximum=64Ti,default=128Mi"`
}

// TenantNetwork lists the flows that are allowed besides those within a job.
type TenantNetwork struct {
	// Egress allows connections to addresses outside the cluster, for example a file server, and to pods of the platform,
	// for example an object store.
	Egress []Egress `json:"egress,omitempty"`
	// Ingress admits pods of other namespaces, for example a monitoring stack.
	Ingress []Ingress `json:"ingress,omitempty"`
	// IngressFromNamespaces admits all pods of these namespaces: it is short for Ingress without labels and ports.
	IngressFromNamespaces []string `json:"ingressFromNamespaces,omitempty" jsonschema:"uniqueItems,format=dns-label"`
	// RequireEncryption refuses clusters whose network does not encrypt: MPI traffic itself is clear.
	RequireEncryption bool `json:"requireEncryption,omitempty"`
}

// Egress is one destination, a range of addresses, pods of a namespace or a service of the cluster, and its ports.
type Egress struct {
	// CIDR is the range, for example 10.20.0.0/16. A range with 169.254.169.254, such as 0.0.0.0/0, gives a warning: the
	// metadata service of clouds hands out the credentials of the machine there.
	CIDR string `json:"cidr,omitempty" jsonschema:"format=cidr"`
	// Namespace of the pods, in place of CIDR. It must not belong to another tenant.
	Namespace string `json:"namespace,omitempty" jsonschema:"format=dns-label"`
	// PodLabels select pods of Namespace; empty means all.
	PodLabels map[string]string `json:"podLabels,omitempty" jsonschema:"format=label-value"`
	// Service names one of `network.services` of the cluster, which has its pods and ports.
	Service string `json:"service,omitempty" jsonschema:"format=dns-label"`
	// Ports are the allowed ports, for pods those on which they listen; empty means all.
	Ports []Port `json:"ports,omitempty"`
}

// Ingress is pods of a namespace, and the ports at which they may connect.
type Ingress struct {
	// Namespace of the pods. It must not belong to another tenant.
	Namespace string `json:"namespace" jsonschema:"required,format=dns-label"`
	// PodLabels select pods of Namespace; empty means all.
	PodLabels map[string]string `json:"podLabels,omitempty" jsonschema:"format=label-value"`
	// Ports are the allowed ports of the tenant's pods; empty means all.
	Ports []Port `json:"ports,omitempty"`
}

// Port is a port of a protocol.
type Port struct {
	// Protocol is TCP or UDP.
	Protocol string `json:"protocol,omitempty" jsonschema:"enum=TCP,enum=UDP,default=TCP"`
	// Port is 1 to 65535.
	Port int32 `json:"port" jsonschema:"required,minimum=1,maximum=65535"`
}
