package convert

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"lockstep.dev/lockstep/pkg/mpi"
)

// Keys by which a job speaks to Kueue. Users may set these three (docs/admission.md).
const (
	kueueDomain      = "kueue.x-k8s.io/"
	queueLabel       = kueueDomain + "queue-name"
	priorityLabel    = kueueDomain + "priority-class"
	maxExecLabel     = kueueDomain + "max-exec-time-seconds"
	lastApplied      = "kubectl.kubernetes.io/last-applied-configuration"
	tenantQueue      = "lockstep" // the queue of every tenant (plan.LocalQueue)
	longestName      = 63 - len("-launcher-0-0") - len("-xxxxx")
	istioInjection   = "sidecar.istio.io/inject"
	harmfulToPatches = "only names without domain and dot, and few others, may be set on pods of a TrainJob; something in the cluster may obey this one"
)

// What may be set on the pods of a job (docs/admission.md, Patches).
var (
	harmlessLabel      = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9_-]*|app\.kubernetes\.io/(name|instance|version|component|part-of))$`)
	harmlessAnnotation = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9_-]*|prometheus\.io/.*|kubectl\.kubernetes\.io/default-container|cluster-autoscaler\.kubernetes\.io/safe-to-evict|kueue\.x-k8s\.io/podset-(required|preferred|unconstrained)-topology)$`)
)

func (c *converter) convertMetadata() {
	meta := &c.job.spec.ObjectMeta
	c.out.Name, c.out.GenerateName, c.out.Namespace = meta.Name, meta.GenerateName, meta.Namespace
	c.convertName()
	c.add(Carried, "metadata.generateName", "metadata.generateName", "")
	c.add(Carried, "metadata.namespace", "metadata.namespace", "")
	for _, key := range slices.Sorted(maps.Keys(meta.Labels)) {
		c.convertLabel(key, meta.Labels[key])
	}
	c.convertQueue()
	for _, key := range slices.Sorted(maps.Keys(meta.Annotations)) {
		path := childPath("metadata.annotations", key)
		switch {
		case key == lastApplied:
			c.add(LeftOut, path, "", "kubectl writes it")
		case strings.Contains(key, kueueDomain):
			c.add(NotPossible, path, "", "users set no annotation of Kueue on a TrainJob: a topology is asked for by `gang.within` of the runtime")
		default:
			setMapEntry(&c.out.Annotations, key, meta.Annotations[key])
			c.add(Carried, path, path, "")
		}
	}
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "managedFields"} {
		c.add(LeftOut, "metadata."+field, "", "")
	}
	c.add(LeftOut, "status", "", "")
	c.add(NotPossible, "metadata.ownerReferences", "", "its owner, such as a workflow, made the MPIJob: it has to make the TrainJob instead")
	c.add(NotPossible, "metadata.finalizers", "", "whoever set them waits for MPIJobs: it has to know TrainJobs")
}

func (c *converter) convertName() {
	name := c.job.Name()
	switch invalid := validation.IsDNS1035Label(name); {
	case name == "":
	case len(invalid) > 0:
		c.add(NotPossible, "metadata.name", "metadata.name", "no name of a TrainJob: %s", strings.Join(invalid, ", "))
	case len(name) > longestName:
		c.add(NotPossible, "metadata.name", "metadata.name", "%d characters; a TrainJob has at most %d, because its pods are longer by `-launcher-0-0-xxxxx`: shorten it", len(name), longestName)
	default:
		c.add(Carried, "metadata.name", "metadata.name", "")
	}
}

func (c *converter) convertLabel(key, value string) {
	path := childPath("metadata.labels", key)
	switch {
	case key == queueLabel: // queue decides
	case key == priorityLabel:
		setMapEntry(&c.out.Labels, key, value)
		c.add(Carried, path, path, "the cluster needs a priority of this name (`priorities` of its spec)")
	case key == mpi.TenantLabel:
		c.add(NotPossible, path, "", "the platform sets it")
	case strings.Contains(key, kueueDomain) && key != maxExecLabel:
		c.add(NotPossible, path, "", "of Kueue's labels users set `queue-name`, `priority-class` and `max-exec-time-seconds` on a TrainJob")
	default:
		setMapEntry(&c.out.Labels, key, value)
		c.add(Carried, path, path, "")
	}
}

// convertQueue: a tenant has one queue, or none.
func (c *converter) convertQueue() {
	path := childPath("metadata.labels", queueLabel)
	written, tenant := c.hasPath(path), c.catalog.tenantOf(c.job.Namespace())
	switch {
	case tenant != nil && tenant.Spec.Queue == nil:
		c.add(Differs, path, "", "tenant `%s` has no queue: jobs start when there is room in its quota", tenant.Metadata.Name)
		return
	case tenant == nil && !written:
		return
	case c.job.Labels()[queueLabel] == tenantQueue:
		c.add(Carried, path, path, "")
	default:
		c.addDefault(Differs, path, path, "jobs of a tenant wait in its queue, `%s`", tenantQueue)
	}
	setMapEntry(&c.out.Labels, queueLabel, tenantQueue)
}

// Labels are those of the MPIJob.
func (j *MPIJob) Labels() map[string]string { return j.spec.Labels }

func setMapEntry(to *map[string]string, key, value string) {
	if *to == nil {
		*to = map[string]string{}
	}
	(*to)[key] = value
}

// convertPodMetadata are labels and annotations of the pods of one role.
func (c *converter) convertPodMetadata(path, to string, template map[string]map[string]string, patch *podPatch) {
	for _, kind := range []struct {
		name     string
		harmless *regexp.Regexp
		into     *map[string]string
	}{{"labels", harmlessLabel, &patch.labels}, {"annotations", harmlessAnnotation, &patch.annotations}} {
		entries := template[kind.name]
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			at := childPath(path+"."+kind.name, key)
			switch {
			case key == istioInjection && entries[key] == "false":
				c.add(ByRuntime, at, "", "no pod of a job gets a sidecar")
			case kind.harmless.MatchString(key):
				setMapEntry(kind.into, key, entries[key])
				c.add(Carried, at, to+".metadata."+kind.name, "")
			default:
				c.add(NotPossible, at, "", harmfulToPatches)
			}
		}
	}
	for _, field := range []string{"name", "namespace", "creationTimestamp"} {
		c.add(LeftOut, path+"."+field, "", "pods are named by their controller")
	}
}
