package desired

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi/job"
)

// OverlayResources returns all lists in one; a later one wins.
func OverlayResources(lists ...corev1.ResourceList) corev1.ResourceList {
	result := corev1.ResourceList{}
	for _, list := range lists {
		maps.Copy(result, list)
	}
	return result
}

// PodSet is a number of equal pods of a job.
type PodSet struct {
	Name  string
	Count int64
	Spec  corev1.PodSpec
}

// PodSets returns the pods of a JobSet, replicated job by replicated job.
func PodSets(js *jobset.JobSet) []PodSet {
	var sets []PodSet
	for _, rj := range js.Spec.ReplicatedJobs {
		count := int64(rj.Replicas) * int64(ptr.Deref(rj.Template.Spec.Parallelism, 1))
		if count > 0 {
			sets = append(sets, PodSet{rj.Name, count, rj.Template.Spec.Template.Spec})
		}
	}
	return sets
}

// TotalRequests returns what all pods of the job request together, the launcher included.
func TotalRequests(j job.Job) corev1.ResourceList {
	total := corev1.ResourceList{}
	for _, set := range PodSets(JobSet(j)) {
		AddTimes(total, PodTotal(set.Spec, RequestsOf), set.Count)
	}
	return total
}

// RequestsOf returns what a container requests.
func RequestsOf(r corev1.ResourceRequirements) corev1.ResourceList {
	// An API server takes a limit without a request for both.
	return OverlayResources(r.Limits, r.Requests)
}

// PodRequests returns what a pod takes of a machine: the requests of its containers, and its place among the pods.
func PodRequests(pod corev1.PodSpec) corev1.ResourceList {
	wanted := PodTotal(pod, RequestsOf)
	wanted[corev1.ResourcePods] = *resource.NewQuantity(1, resource.DecimalSI)
	return wanted
}

// LimitsOf returns what a container may use.
func LimitsOf(r corev1.ResourceRequirements) corev1.ResourceList { return r.Limits }

// PodTotal adds up a pod as the scheduler and quotas do (k8s.io/component-helpers/resource): all containers, the init
// containers that stay, and the largest moment of the init containers that end before.
func PodTotal(pod corev1.PodSpec, part func(corev1.ResourceRequirements) corev1.ResourceList) corev1.ResourceList {
	total := corev1.ResourceList{}
	for _, c := range pod.Containers {
		AddTimes(total, part(c.Resources), 1)
	}
	stay, peak := corev1.ResourceList{}, corev1.ResourceList{}
	for _, c := range pod.InitContainers {
		moment := part(c.Resources).DeepCopy()
		if ptr.Deref(c.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways {
			AddTimes(stay, moment, 1)
			moment = stay
		} else {
			moment = sumResources(stay, moment)
		}
		raiseToLargest(peak, moment)
	}
	total = sumResources(total, stay)
	raiseToLargest(total, peak)
	return sumResources(total, pod.Overhead)
}

func sumResources(a, b corev1.ResourceList) corev1.ResourceList {
	result := corev1.ResourceList{}
	AddTimes(result, a, 1)
	AddTimes(result, b, 1)
	return result
}

// AddTimes adds a list to a total as often as said.
func AddTimes(total, list corev1.ResourceList, times int64) {
	for name, quantity := range list {
		more := quantity.DeepCopy()
		more.Mul(times)
		current := total[name]
		current.Add(more)
		total[name] = current
	}
}

func raiseToLargest(total, list corev1.ResourceList) {
	for name, quantity := range list {
		if current, found := total[name]; !found || quantity.Cmp(current) > 0 {
			total[name] = quantity.DeepCopy()
		}
	}
}
