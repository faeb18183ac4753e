package lower

import (
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/mpi"
)

var (
	namespaceRule         = origin.Rule("namespace", "a tenant works in namespaces of its own, which the compiler makes")
	platformNamespaceRule = origin.Rule("platform namespace", "the pods of the platform have namespaces of their own, away from those of tenants")
	platformSecurity      = origin.Rule("platform namespace", "the pods of the platform need nothing that `restricted` refuses")
	kueueRule             = origin.Rule("managed by Kueue", "Red Hat's Kueue looks at jobs of namespaces with this label only: elsewhere they would pass its queues")
	aiProjectRule         = origin.Rule("project of OpenShift AI", "its dashboard lists namespaces with this label as projects; a dashboard that is not installed costs nothing")
	scrapedRule           = origin.Rule("scraped by the platform", "OpenShift's own Prometheus, in openshift-monitoring, scrapes namespaces with this label only")
	rdmaSecurity          = origin.Rule("pinned memory", "`restricted` has no exception for IPC_LOCK, so it only warns here; what enforces is an admission policy, which is `restricted` with that exception")
)

// displayNameAnnotation is how OpenShift's console calls a project.
const displayNameAnnotation = "openshift.io/display-name"

// projectLabel marks the projects of OpenShift AI, platformMonitoringLabel the namespaces that OpenShift's Prometheus scrapes.
const (
	projectLabel            = "opendatahub.io/dashboard"
	platformMonitoringLabel = "openshift.io/cluster-monitoring"
)

// securityLabel marks namespaces whose pods may pin memory: for them an admission policy asks for what the Pod Security Standard
// `restricted` asks for, with the exception of IPC_LOCK (docs/decisions/2026-11-21-pinned-memory.md).
const (
	securityLabel  = "lockstep.dev/pod-security"
	restrictedRDMA = "restricted-rdma"
)

// platformNamespace adds a namespace of the platform. Its pods need nothing that `restricted` forbids.
func (b *builder) platformNamespace(c *plan.Cluster, name plan.Value[string]) {
	level := plan.Value[string]{V: "restricted", Origin: *platformSecurity}
	labels := append(podSecurityLabels(&level), object.Text(managedByLabel, managedBy, managed))
	if c.OpenShift && name.V == c.ControllerNamespace.V && c.Monitoring != nil && c.Monitoring.Namespace.V == plan.PlatformMonitoring {
		labels = append(labels, object.Text(platformMonitoringLabel, "true", scrapedRule))
	}
	b.add(platformNamespaceRule, "v1", "Namespace",
		object.Map("metadata", object.Map("labels", labels...), planText("name", &name)))
}

func (b *builder) namespace(c *plan.Cluster, t *plan.Tenant, name *plan.Value[string]) {
	labels := append(tenantSecurityLabels(t),
		object.Text(managedByLabel, managedBy, managed), planText(mpi.TenantLabel, &t.Name))
	if c.OpenShift {
		labels = append(labels, object.Text(projectLabel, "true", aiProjectRule))
	}
	if c.OpenShift && c.Queueing != nil {
		labels = append(labels, object.Text(plan.ManagedByKueueLabel, "true", kueueRule))
	}
	b.add(namespaceRule, "v1", "Namespace",
		object.Map("metadata", namespaceAnnotations(c, t, name), object.Map("labels", labels...), planText("name", name)))
}

func namespaceAnnotations(c *plan.Cluster, t *plan.Tenant, name *plan.Value[string]) object.Node {
	annotations := tenantLimits(c, t)
	if t.DisplayName.V != "" {
		annotations = append(annotations, planText(displayNameAnnotation, &t.DisplayName))
	}
	if t.KeepFinished.V > 0 {
		annotations = append(annotations, object.Text(mpi.FinishedJobsAnnotation, shortDuration(t.KeepFinished.V), &t.KeepFinished.Origin))
	}
	if holdsClaims(t, name.V) {
		annotations = append(annotations, keepAnnotations(keepRule)...)
	}
	if len(annotations) == 0 {
		return object.Node{}
	}
	return object.Map("annotations", annotations...)
}

// tenantSecurityLabels are those of the tenant's level. Where jobs pin memory no level fits that enforces anything.
func tenantSecurityLabels(t *plan.Tenant) []object.Node {
	labels := podSecurityLabels(&t.PodSecurity)
	r := t.PinsMemory()
	if r == nil {
		return labels
	}
	unenforced := *rdmaSecurity
	enforce := object.Text("pod-security.kubernetes.io/enforce", "privileged", nil)
	for i := range labels {
		if labels[i].Key == enforce.Key {
			unenforced = unenforced.Overriding(labels[i].Text, &t.PodSecurity.Origin)
			labels[i] = enforce.With(&unenforced)
		}
	}
	return append(labels, object.Text(securityLabel, restrictedRDMA, pinnedMemoryOrigin(r)))
}

// pinnedMemoryOrigin is the origin of what a namespace gets because of a runtime that pins memory.
func pinnedMemoryOrigin(r *plan.Runtime) *origin.Origin {
	return &origin.Origin{At: r.ProfileName.At, Kind: origin.Derived, Why: "a runtime of the tenant pins memory for the adapters of its profile"}
}

// podSecurityLabels refuse pods above a level, and also warn and record them, so that whoever applies a TrainJob sees why
// its pods do not come (https://kubernetes.io/docs/concepts/security/pod-security-admission/). No version label is set: the
// level is meant as the running cluster understands it.
func podSecurityLabels(level *plan.Value[string]) []object.Node {
	return []object.Node{
		planText("pod-security.kubernetes.io/audit", level),
		planText("pod-security.kubernetes.io/enforce", level),
		planText("pod-security.kubernetes.io/warn", level),
	}
}
