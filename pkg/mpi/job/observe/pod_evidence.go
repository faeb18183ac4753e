package observe

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// EvidenceOf is what the pod itself tells.
func EvidenceOf(pod *corev1.Pod) diagnose.Pod {
	result := diagnose.Pod{
		Name: pod.Name, Role: pod.Labels[mpi.ReplicatedJobLabel], Index: PodIndex(pod), Machine: pod.Spec.NodeName,
		Failed: hasPodFailed(pod), Reason: pod.Status.Reason, Message: pod.Status.Message,
		Started: pod.CreationTimestamp.Time, Deleted: DeletionAsked(pod),
	}
	if pod.Status.StartTime != nil {
		result.Started = pod.Status.StartTime.Time
	}
	for _, condition := range pod.Status.Conditions {
		switch {
		case condition.Type == corev1.DisruptionTarget && condition.Status == corev1.ConditionTrue:
			result.Disruption = &diagnose.Disruption{Reason: condition.Reason, Message: condition.Message, At: condition.LastTransitionTime.Time}
		case condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse && condition.Reason == corev1.PodReasonUnschedulable:
			result.Unschedulable = cmp.Or(condition.Message, "the scheduler gives no reason")
		}
	}
	for _, gate := range pod.Spec.SchedulingGates {
		result.Gates = append(result.Gates, gate.Name)
	}
	result.GPUs, result.GPUResource = gpuRequest(pod.Spec)
	result.Containers = append(containersOf(pod.Spec.InitContainers, pod.Status.InitContainerStatuses, true), containersOf(pod.Spec.Containers, pod.Status.ContainerStatuses, false)...)
	return result
}

// hasPodFailed reports whether a pod has failed, or will in a moment: kubelet shows the end of the container first.
func hasPodFailed(pod *corev1.Pod) bool {
	end := MainEnd(pod)
	return pod.Status.Phase == corev1.PodFailed || end != nil && end.ExitCode != 0
}

// DeletionAsked returns when somebody asked for the deletion of a pod: the timestamp is when its grace is over.
func DeletionAsked(pod *corev1.Pod) time.Time {
	if pod.DeletionTimestamp == nil {
		return time.Time{}
	}
	asked := pod.DeletionTimestamp.Time
	if grace := pod.DeletionGracePeriodSeconds; grace != nil {
		asked = asked.Add(-time.Duration(*grace) * time.Second)
	}
	return asked
}

// earliestDeletion returns from when on somebody may have asked for the deletion of a pod. Kubelet deletes a pod that has stopped once more,
// without grace, and where Job's finalizer is still there the API server then writes down the time of that.
func earliestDeletion(pod *corev1.Pod) time.Time {
	asked := DeletionAsked(pod)
	if grace := pod.Spec.TerminationGracePeriodSeconds; grace != nil && pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0 {
		return asked.Add(-time.Duration(*grace) * time.Second)
	}
	return asked
}

// IsAccelerator reports whether a resource is an extended one whose name means accelerators (nvidia.com/gpu,
// amd.com/gpu, gpu.intel.com/i915, MIG profiles).
func IsAccelerator(resource string) bool {
	domain, kind, extended := strings.Cut(resource, "/")
	return extended && (kind == "gpu" || strings.HasPrefix(kind, "mig-") || strings.HasPrefix(domain, "gpu."))
}

// gpuRequest returns how many accelerators a pod asks for, and their resource.
func gpuRequest(spec corev1.PodSpec) (count int64, name string) {
	for _, container := range spec.Containers {
		for resource, quantity := range container.Resources.Limits {
			if IsAccelerator(string(resource)) {
				count, name = count+quantity.Value(), string(resource)
			}
		}
	}
	return count, name
}

func containersOf(specs []corev1.Container, statuses []corev1.ContainerStatus, init bool) []diagnose.Container {
	result := make([]diagnose.Container, 0, len(statuses))
	for _, status := range statuses {
		c := diagnose.Container{
			Name: status.Name, Image: status.Image, Init: init, Restarts: int(status.RestartCount), Ready: status.Ready,
			End: containerEnd(status.State.Terminated), LastEnd: containerEnd(status.LastTerminationState.Terminated),
		}
		of := slices.IndexFunc(specs, func(s corev1.Container) bool { return s.Name == status.Name })
		if of >= 0 && !specs[of].Resources.Limits.Memory().IsZero() {
			c.MemoryLimit = specs[of].Resources.Limits.Memory().String()
		}
		if w := status.State.Waiting; w != nil {
			c.Waiting = &diagnose.ContainerWaiting{Reason: w.Reason, Message: w.Message}
		}
		result = append(result, c)
	}
	return result
}

// containerEnd is how a container ended, for package diagnose; nil if it has not.
func containerEnd(t *corev1.ContainerStateTerminated) *diagnose.ContainerEnd {
	if t == nil {
		return nil
	}
	return &diagnose.ContainerEnd{Code: int(t.ExitCode), Signal: int(t.Signal), Reason: t.Reason, Message: t.Message, At: t.FinishedAt.Time}
}

// MainEnd returns how the main container of a pod ended for good, or nil: kubelet may start it again in a moment.
func MainEnd(pod *corev1.Pod) *corev1.ContainerStateTerminated {
	i := slices.IndexFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == mpi.Container })
	if i < 0 {
		return nil
	}
	end := pod.Status.ContainerStatuses[i].State.Terminated
	restarts := pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure && !isDeleting(pod) && !IsTerminal(pod)
	if end != nil && end.ExitCode != 0 && restarts {
		return nil
	}
	return end
}
