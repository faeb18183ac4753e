package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

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
	// Queueing switches Kueue on.
	Queueing *Queueing `json:"queueing,omitempty"`
	// Schedulers are gang schedulers that run on the cluster.
	Schedulers []GangScheduler `json:"schedulers,omitempty" jsonschema:"uniqueItems,enum=Coscheduling,enum=Volcano"`
	// Priorities are classes of jobs, each with a PriorityClass and, with Kueue, a WorkloadPriorityClass.
	Priorities []Priority `json:"priorities,omitempty"`
	// StorageClasses are those that tenants may name; empty means that the compiler does not check them.
	StorageClasses []string `json:"storageClasses,omitempty" jsonschema:"uniqueItems,format=dns-name"`
	// SecretStores are ClusterSecretStores of External Secrets Operator, from which tenants may take Secrets.
	SecretStores []string `json:"secretStores,omitempty" jsonschema:"uniqueItems,format=dns-name"`
	// Images says where images really come from.
	Images ImageSources `json:"images,omitempty"`
	// Monitoring says who scrapes metrics; missing means nobody.
	Monitoring *Monitoring `json:"monitoring,omitempty"`
	// Logs is the URL by which people see the logs of a job that is over, in Grafana or the console of OpenShift. {namespace} and {job} stand for its
	// names, {from} and {to} for the milliseconds since 1970 between which it lived. Other braces and quotes are written as %7B, %7D and %22.
	Logs string `json:"logs,omitempty" jsonschema:"format=logs-url"`
	// History keeps jobs that are over, with the output of all their pods, on a claim beside mpi-controller. Without it
	// nothing stays of a job that is deleted.
	History *History `json:"history,omitempty"`
	// Dashboard is the page about jobs for people with a browser. The component with the chart mpi-dashboard installs it.
	Dashboard *Dashboard `json:"dashboard,omitempty"`
	// Docs is the address of the pages about reasons, alerts, diagnostics and changes: conditions, alerts and reviews link
	// to them there.
	Docs Docs `json:"docs,omitempty"`
	// GitOps says who applies the compiled tree; missing means that somebody runs kubectl.
	GitOps *GitOps `json:"gitops,omitempty"`
	// Components are Helm charts of the repository that are rendered into platform/.
	Components []Component `json:"components,omitempty"`
	// Certified are the runtimes that `kubectl mpi certify` has tested on this cluster, at most once each. The label lockstep.dev/certified of their
	// ClusterTrainingRuntimes has the day, or `stale` once their pods are others.
	Certified []Certification `json:"certified,omitempty"`
	// ReservedNamespaces are names of namespaces that no tenant may take, beside those of Kubernetes, OpenShift and the platform: those
	// of operators and of other users of the cluster. A name that ends with `*` stands for all that begin so, as gpu-* does.
	ReservedNamespaces []string `json:"reservedNamespaces,omitempty" jsonschema:"uniqueItems,format=namespace-pattern"`
	// Waivers accept findings about this cluster. Findings about isolation, access, capacity, enforcement and secrets can be accepted
	// here only, for at most 366 days.
	Waivers []Waiver `json:"waivers,omitempty"`
}

// Queueing is the part of Kueue that all tenants share. Kueue itself must be installed.
type Queueing struct {
	// Version is the minor version of the installed Kueue, for example "0.19". The version of its API follows from it.
	Version string `json:"version,omitempty" jsonschema:"format=minor-version"`
	// APIVersion of the queues. Kueue serves v1beta1 before version 0.20, v1beta2 from 0.15 on. Missing means v1beta2, and
	// v1beta1 if version is before 0.15.
	APIVersion string `json:"apiVersion,omitempty" jsonschema:"enum=v1beta1,enum=v1beta2"`
	// Cohorts are groups of tenants that lend each other idle machines.
	Cohorts []Cohort `json:"cohorts,omitempty"`
}

// Cohort is a group of queues. Its own machines come on top of those of its members: Kueue adds, it does not cap.
type Cohort struct {
	// Name that tenants refer to.
	Name string `json:"name" jsonschema:"required,format=dns-label"`
	// Parent names another cohort; missing means the top.
	Parent string `json:"parent,omitempty" jsonschema:"format=dns-label"`
	// Shares are machines that belong to no member, first come first served.
	Shares []Share `json:"shares,omitempty"`
}

// Priority is a class of jobs.
type Priority struct {
	// Name that runtimes and users refer to.
	Name string `json:"name" jsonschema:"required,format=dns-label"`
	// Value: higher goes first, -1000000000 to 1000000000.
	Value int32 `json:"value" jsonschema:"required,minimum=-1000000000,maximum=1000000000"`
	// Description is one sentence for users.
	Description string `json:"description,omitempty"`
	// Default is for jobs that name none; at most one.
	Default bool `json:"default,omitempty"`
}

// ImageSources change references to images on one cluster.
type ImageSources struct {
	// Mirrors replace the beginnings of references; the longest match wins.
	Mirrors []Mirror `json:"mirrors,omitempty"`
	// Digests pin references, before mirrors: `registry.example.com/mpi:5` to `sha256:…`.
	Digests map[string]string `json:"digests,omitempty" jsonschema:"format=sha256"`
}

// Mirror is a place with the same images.
type Mirror struct {
	// From is the beginning of a reference up to a `/`, for example registry.example.com/team.
	From string `json:"from" jsonschema:"required,format=image-prefix"`
	// To replaces it.
	To string `json:"to" jsonschema:"required,format=image-prefix"`
}

// Monitoring is the Prometheus Operator.
type Monitoring struct {
	// Namespace of the Prometheus that scrapes; it is admitted to the controller's metrics.
	Namespace string `json:"namespace" jsonschema:"required,format=dns-label"`
	// Labels select our monitors: those that the Prometheus object asks for.
	Labels map[string]string `json:"labels,omitempty" jsonschema:"format=label-value"`
	// Interval between scrapes.
	Interval string `json:"interval,omitempty" jsonschema:"format=duration,default=10s"`
	// Alerts compiles rules that tell of jobs that failed or do not get on, and of a controller that is down. Missing means true.
	Alerts *bool `json:"alerts,omitempty"`
	// Dashboards compiles dashboards of Grafana, as ConfigMaps with the label grafana_dashboard. Missing means false.
	Dashboards *bool `json:"dashboards,omitempty"`
	// Notify is by what the cluster's Alertmanager may tell tenants of alerts; missing means that they are not told. Email takes an SMTP server in
	// the settings of Alertmanager itself: without it Prometheus' operator takes no AlertmanagerConfig of anybody.
	Notify []string `json:"notify,omitempty" jsonschema:"uniqueItems,enum=Email,enum=Slack,enum=Webhook"`
}

// History bounds what is kept of jobs that are over.
type History struct {
	// Storage is the size of the claim.
	Storage resource.Quantity `json:"storage" jsonschema:"required,minimum=1Gi,maximum=64Ti"`
	// StorageClass of the claim; missing means the default class of the cluster.
	StorageClass string `json:"storageClass,omitempty" jsonschema:"format=dns-name"`
	// Days after its end for which a job is kept.
	Days int32 `json:"days,omitempty" jsonschema:"minimum=1,maximum=3650,default=7"`
	// PerJob bounds the compressed log of a job: its oldest lines go first.
	PerJob resource.Quantity `json:"perJob,omitempty" jsonschema:"minimum=1Mi,maximum=64Ti,default=256Mi"`
	// PerNamespace bounds the compressed logs of a namespace: its oldest jobs go first.
	PerNamespace resource.Quantity `json:"perNamespace,omitempty" jsonschema:"minimum=1Mi,maximum=64Ti,default=5Gi"`
}

// Dashboard is the address of the page about jobs, and its login. Each user sees there what RBAC allows to that user.
type Dashboard struct {
	// Host is the name of the page in browsers, which reach it by HTTPS, for example jobs.example.com.
	Host string `json:"host" jsonschema:"required,format=dns-name"`
	// Issuer is the URL of the OIDC provider whose ID tokens the API server takes. Users log in there. Missing on
	// OpenShift means that they log in to OpenShift.
	Issuer string `json:"issuer,omitempty" jsonschema:"format=https-url"`
	// Client is the name of the page at the provider; on OpenShift the name of a client of its OAuth server.
	Client string `json:"client,omitempty" jsonschema:"default=mpi-dashboard"`
	// Secret holds client-secret and cookie-secret, in the namespace of the component.
	Secret string `json:"secret,omitempty" jsonschema:"format=dns-name,default=mpi-dashboard-login"`
	// Groups of the provider have the members who may log in; missing means all users with an account. They need an
	// issuer: OpenShift's proxy does not look at groups.
	Groups []string `json:"groups,omitempty" jsonschema:"uniqueItems,format=group"`
	// Prometheus is the URL of the Prometheus that has kubelet's series: the page draws curves of a job from it, and asks
	// with the token of the user. On OpenShift it is https://thanos-querier.openshift-monitoring.svc:9092. Missing means
	// no curves.
	Prometheus string `json:"prometheus,omitempty" jsonschema:"format=https-url"`
}

// Docs is the address of the pages in the folder docs of a release.
type Docs struct {
	// BaseURL stands before the path of a page without `.md`: BaseURL/failures/OOMKilled. Missing means that the page
	// about jobs serves them, if the cluster has a `dashboard`. Without both, messages name a command instead.
	BaseURL string `json:"baseURL,omitempty" jsonschema:"format=https-url"`
}

// The GitOps engines.
const (
	Flux   = "Flux"
	ArgoCD = "ArgoCD"
)

// GitOps is the engine that syncs the compiled tree, and where it reads it.
type GitOps struct {
	// Engine is the kind of objects that are compiled into gitops/.
	Engine string `json:"engine" jsonschema:"required,enum=Flux,enum=ArgoCD"`
	// Version is the minor version of the installed engine, for example "3.4". Missing means the oldest that is supported: Flux 2.7, Argo CD
	// 3.1. What is compiled has no field that this version does not know.
	Version string `json:"version,omitempty" jsonschema:"format=minor-version"`
	// Namespace of the engine's objects; missing means flux-system or argocd (openshift-gitops on OpenShift).
	Namespace string `json:"namespace,omitempty" jsonschema:"format=dns-label"`
	// Repository is the URL of the git repository with the compiled tree.
	Repository string `json:"repository" jsonschema:"required,format=git-url"`
	// Secret with the credentials of the repository, in the namespace of the engine. Flux needs it for ssh and for private
	// repositories; Argo CD finds credentials by the URL, so that the key must be missing there.
	Secret string `json:"secret,omitempty" jsonschema:"format=dns-name"`
	// Revision is the branch that is synced.
	Revision string `json:"revision,omitempty" jsonschema:"default=main"`
	// Path is the folder of the compiled tree, of which <Path>/<cluster> is synced.
	Path string `json:"path,omitempty" jsonschema:"format=path,default=dist"`
	// Interval between two looks at the repository.
	Interval string `json:"interval,omitempty" jsonschema:"format=duration,default=5m"`
	// Prune deletes from the cluster what is no longer compiled.
	Prune *bool `json:"prune,omitempty"`
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
	// Ranges are the addresses of pods and Services, for example 10.244.0.0/16. They are opened to no tenant as addresses. Missing
	// means 10.128.0.0/14 and 172.30.0.0/16 on OpenShift. On Kubernetes it means that they are not known: then any range that a tenant
	// may reach can hold some, and a tenant that may reach private addresses gives a warning.
	Ranges []string `json:"ranges,omitempty" jsonschema:"uniqueItems,format=cidr"`
	// Services have names by which tenants reach them in `network.egress`, such as an object store or a model registry.
	// Nothing is opened until a tenant names one.
	Services []Service `json:"services,omitempty"`
	// Encryption is what the network plugin does with traffic between machines. Only tenants that require it look at it.
	Encryption string `json:"encryption,omitempty" jsonschema:"enum=None,enum=IPsec,enum=WireGuard,default=None"`
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

// Service is a service of the cluster. Network policies hold for its pods, not for its Service.
type Service struct {
	// Name that tenants refer to.
	Name string `json:"name" jsonschema:"required,format=dns-label"`
	// Namespace of the pods.
	Namespace string `json:"namespace" jsonschema:"required,format=dns-label"`
	// PodLabels that the pods have, at least one: without labels every pod of the namespace would be meant.
	PodLabels map[string]string `json:"podLabels" jsonschema:"required,minItems=1,format=label-value"`
	// Ports on which the pods listen, which may differ from the ports of the Service.
	Ports []Port `json:"ports" jsonschema:"required,minItems=1"`
}

// Capacity is a number of equal machines.
type Capacity struct {
	// Profile names a HardwareProfile.
	Profile string `json:"profile" jsonschema:"required,format=dns-label"`
	// Nodes is the number of machines, 1 to 1000000; Kubernetes itself supports 5000.
	Nodes int32 `json:"nodes" jsonschema:"required,minimum=1,maximum=1000000"`
	// PricePerHour is what one machine costs in an hour, in the currency in which you count, for example 24.50: for `cost`, and for what users are told
	// before they submit.
	PricePerHour *resource.Quantity `json:"pricePerHour,omitempty" jsonschema:"minimum=0"`
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
	// Values override those of the chart. That of mpi-controller gets `mode` from `executor`, `metrics.scrapedFrom` from `monitoring`, and
	// on OpenShift no `podSecurity.user`: leave these out. The chart of mpi-dashboard gets `host`, `login` and
	// `openshift`.
	Values map[string]any `json:"values,omitempty"`
}
