package job

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// podSet is a number of equal pods of a job.
type podSet struct {
	name  string
	count int64
	spec  corev1.PodSpec
}

// podSets returns the pods of a JobSet, replicated job by replicated job.
func podSets(js *jobset.JobSet) []podSet {
	var sets []podSet
	for _, rj := range js.Spec.ReplicatedJobs {
		count := int64(rj.Replicas) * int64(ptr.Deref(rj.Template.Spec.Parallelism, 1))
		if count > 0 {
			sets = append(sets, podSet{rj.Name, count, rj.Template.Spec.Template.Spec})
		}
	}
	return sets
}

// Requests returns what all pods of the job request together, the launcher included.
func (j Job) Requests() corev1.ResourceList {
	total := corev1.ResourceList{}
	for _, set := range podSets(j.JobSet()) {
		addTimes(total, podTotal(set.spec, requestsOf), set.count)
	}
	return total
}

func requestsOf(r corev1.ResourceRequirements) corev1.ResourceList {
	// An API server takes a limit without a request for both.
	return overlay(r.Limits, r.Requests)
}

func limitsOf(r corev1.ResourceRequirements) corev1.ResourceList { return r.Limits }

// podTotal adds up a pod as the scheduler and quotas do (k8s.io/component-helpers/resource): all containers, the init
// containers that stay, and the largest moment of the init containers that end before.
func podTotal(pod corev1.PodSpec, part func(corev1.ResourceRequirements) corev1.ResourceList) corev1.ResourceList {
	total := corev1.ResourceList{}
	for _, c := range pod.Containers {
		addTimes(total, part(c.Resources), 1)
	}
	stay, peak := corev1.ResourceList{}, corev1.ResourceList{}
	for _, c := range pod.InitContainers {
		moment := part(c.Resources).DeepCopy()
		if ptr.Deref(c.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways {
			addTimes(stay, moment, 1)
			moment = stay
		} else {
			moment = sum(stay, moment)
		}
		largest(peak, moment)
	}
	total = sum(total, stay)
	largest(total, peak)
	return sum(total, pod.Overhead)
}

func sum(a, b corev1.ResourceList) corev1.ResourceList {
	result := corev1.ResourceList{}
	addTimes(result, a, 1)
	addTimes(result, b, 1)
	return result
}

func addTimes(total, list corev1.ResourceList, times int64) {
	for name, quantity := range list {
		more := quantity.DeepCopy()
		more.Mul(times)
		current := total[name]
		current.Add(more)
		total[name] = current
	}
}

func largest(total, list corev1.ResourceList) {
	for name, quantity := range list {
		if current, found := total[name]; !found || quantity.Cmp(current) > 0 {
			total[name] = quantity.DeepCopy()
		}
	}
}
