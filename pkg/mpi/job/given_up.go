package job

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// jobBackoffLimit is the default of a Job's backoffLimit.
const jobBackoffLimit = 6

// seen is what package diagnose looks at in pods of this job. Kubernetes takes a pod away whose containers it has started again
// too often, as in runtimes of upstream's own kind: nobody deleted it then, and how its container ended the last time is why.
func (o Observed) seen(pods []*corev1.Pod) []diagnose.Pod {
	result := seen(pods)
	for i, pod := range pods {
		last := lastEnd(pod)
		if last == nil || !o.givesUp(pod) {
			continue
		}
		result[i].Failed, result[i].GivenUp = true, true
		for j, c := range result[i].Containers {
			if c.Name == mpi.Container {
				result[i].Containers[j].End = seenEnd(last)
			}
		}
	}
	return result
}

// givesUp says whether the Job of a pod deletes it for the restarts of its containers (pastBackoffLimitOnFailure in the Job
// controller of Kubernetes).
func (o Observed) givesUp(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp == nil || pod.Spec.RestartPolicy != corev1.RestartPolicyOnFailure || !o.Owns() {
		return false
	}
	part := replicatedJob(o.JobSet.Spec, pod.Labels[mpi.ReplicatedJobLabel])
	if part == nil {
		return false
	}
	var restarts int32
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		restarts += status.RestartCount
	}
	return restarts >= max(1, ptr.Deref(part.Template.Spec.BackoffLimit, jobBackoffLimit))
}

// lastEnd returns how the main container of a pod ended before it was started again, or nil.
func lastEnd(pod *corev1.Pod) *corev1.ContainerStateTerminated {
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name == mpi.Container {
			return status.LastTerminationState.Terminated
		}
	}
	return nil
}
