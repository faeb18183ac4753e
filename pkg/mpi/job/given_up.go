package job

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"lockstep.dev/lockstep/pkg/mpi"
)

// jobBackoffLimit is the default of a Job's backoffLimit.
const jobBackoffLimit = 6

// givenUp returns the replicated jobs whose Job deletes all its pods for the restarts of their containers. Kubernetes adds up
// those of all containers of all pods that have not ended (pastBackoffLimitOnFailure in the Job controller), and a pod that ends
// because it is being deleted still counts here.
func (o Observed) givenUp() []string {
	if !o.Owns() {
		return nil
	}
	restarts := map[string]int32{}
	for _, pod := range o.all() {
		if pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure && (pod.DeletionTimestamp != nil || !terminal(pod)) {
			restarts[pod.Labels[mpi.ReplicatedJobLabel]] += restartsOf(pod)
		}
	}
	var given []string
	for _, name := range []string{mpi.LauncherJob, mpi.NodeJob} {
		part := replicatedJob(o.JobSet.Spec, name)
		if part != nil && restarts[name] >= max(1, ptr.Deref(part.Template.Spec.BackoffLimit, jobBackoffLimit)) {
			given = append(given, name)
		}
	}
	return given
}

func restartsOf(pod *corev1.Pod) (restarts int32) {
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		restarts += status.RestartCount
	}
	return restarts
}

// lastEnd returns the container whose last end tells why it was started again, or nil: the main one, and where that never ended,
// the init container that failed.
func lastEnd(pod *corev1.Pod) *corev1.ContainerStatus {
	for i, status := range pod.Status.ContainerStatuses {
		if status.Name == mpi.Container && status.LastTerminationState.Terminated != nil {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	for i, status := range slices.Backward(pod.Status.InitContainerStatuses) {
		if last := status.LastTerminationState.Terminated; last != nil && (last.ExitCode != 0 || last.Signal != 0) {
			return &pod.Status.InitContainerStatuses[i]
		}
	}
	return nil
}
