package desired

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

const (
	// coschedulingLabel is how pods name their PodGroup to scheduler-plugins (sigs.k8s.io/scheduler-plugins
	// apis/scheduling/v1alpha1), volcanoAnnotation how they name it to Volcano (volcano.sh/apis scheduling/v1beta1).
	coschedulingLabel = "scheduling.x-k8s.io/pod-group"
	volcanoAnnotation = "scheduling.k8s.io/group-name"
	// volcanoQueue is the annotation of a runtime's template, or of a patch, that names a Volcano queue.
	volcanoQueue = "scheduling.volcano.sh/queue-name"
	// defaultScheduleTimeout is upstream's default of coscheduling.scheduleTimeoutSeconds, in seconds.
	defaultScheduleTimeout int32 = 60
)

// PodGroup returns what tells a gang scheduler to start all pods of the job or none, in upstream's shape, or nil. It counts
// the launcher, and nothing makes the launcher wait for nodes before its pod exists, so that no gang waits for itself.
//
// Unlike upstream's, that of coscheduling has no minResources: pods that it refuses for them are looked at again when some
// pod is created, but not when one ends (scheduler-plugins v0.35 pkg/coscheduling, EventsToRegister). On a quiet cluster a
// gang would wait five more minutes for machines that are free. Without them pods wait for what they lack.
func PodGroup(j job.Job) *unstructured.Unstructured {
	kind, wanted := job.PodGroupType(j.Gang)
	if !wanted {
		return nil
	}
	spec := map[string]any{"minMember": int64(j.World.Pods())}
	if j.Gang.Coscheduling != nil {
		spec["scheduleTimeoutSeconds"] = int64(ptr.Deref(j.Gang.Coscheduling.ScheduleTimeoutSeconds, defaultScheduleTimeout))
	}
	if j.Gang.Volcano != nil {
		addVolcanoFields(j, spec)
	}
	group := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	group.SetAPIVersion(kind.APIVersion)
	group.SetKind(kind.Kind)
	meta := objectMeta(j, j.Name)
	group.SetName(meta.Name)
	group.SetNamespace(meta.Namespace)
	group.SetLabels(meta.Labels)
	group.SetOwnerReferences(meta.OwnerReferences)
	return group
}

// addVolcanoFields adds the resources that a queue counts, and what Volcano reads from elsewhere: queue, priority, topology.
func addVolcanoFields(j job.Job, spec map[string]any) {
	spec["minResources"] = resourceStrings(TotalRequests(j))
	if queue := j.Template.Annotations[volcanoQueue]; queue != "" {
		spec["queue"] = queue
	}
	for _, rj := range j.Template.Spec.ReplicatedJobs {
		if class := rj.Template.Spec.Template.Spec.PriorityClassName; class != "" {
			spec["priorityClassName"] = class
		}
	}
	if topology := j.Gang.Volcano.NetworkTopology; topology != nil {
		wanted := map[string]any{"mode": string(topology.Mode)}
		if topology.HighestTierAllowed != nil {
			wanted["highestTierAllowed"] = int64(*topology.HighestTierAllowed)
		}
		spec["networkTopology"] = wanted
	}
}

// joinPodGroup tells the launcher and the nodes which PodGroup they belong to. They do not wait for each other any more: a gang that
// counts a pod which waits for the others to be ready waits for itself. What else a runtime brings, such as a Job that prepares
// data, is not in the gang, and may be waited for.
func joinPodGroup(j job.Job, rj *jobset.ReplicatedJob) {
	member := func(name string) bool { return name == mpi.LauncherJob || name == mpi.NodeJob }
	if j.Gang == nil || !member(rj.Name) {
		return
	}
	rj.DependsOn = slices.DeleteFunc(rj.DependsOn, func(d jobset.DependsOn) bool { return member(d.Name) })
	pod := &rj.Template.Spec.Template
	switch kind, _ := job.PodGroupType(j.Gang); kind {
	case job.CoschedulingType:
		pod.Labels = job.MergeMaps(pod.Labels, map[string]string{coschedulingLabel: j.Name})
	case job.VolcanoType:
		pod.Annotations = job.MergeMaps(pod.Annotations, map[string]string{volcanoAnnotation: j.Name})
	}
}

func resourceStrings(list corev1.ResourceList) map[string]any {
	result := map[string]any{}
	for name, quantity := range list {
		result[string(name)] = quantity.String()
	}
	return result
}
