package job

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// seen is what package diagnose looks at in pods of this job. A Job takes its pods away when their containers were started again
// too often, as in runtimes of upstream's own kind: nobody deleted them then, and how a container ended the last time is why.
func (o Observed) seen(pods []*corev1.Pod) []diagnose.Pod {
	result := make([]diagnose.Pod, len(pods))
	givenUp := sync.OnceValue(o.givenUp)
	for i, pod := range pods {
		result[i] = seenPod(pod)
		o.ofLauncher(&result[i])
		last := lastEnd(pod)
		if pod.DeletionTimestamp == nil || last == nil || !slices.Contains(givenUp(), pod.Labels[mpi.ReplicatedJobLabel]) {
			continue
		}
		result[i].Failed, result[i].GivenUp = true, true
		for j, c := range result[i].Containers {
			if c.Name == last.Name {
				result[i].Containers[j].End = seenEnd(last.LastTerminationState.Terminated)
			}
		}
	}
	return result
}

// seenPod is what the pod itself tells.
func seenPod(pod *corev1.Pod) diagnose.Pod {
	result := diagnose.Pod{
		Name: pod.Name, Role: pod.Labels[mpi.ReplicatedJobLabel], Index: podIndex(pod), Machine: pod.Spec.NodeName,
		Failed: failed(pod), Reason: pod.Status.Reason, Message: pod.Status.Message,
		Started: pod.CreationTimestamp.Time, Deleted: deletionAsked(pod),
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
	result.GPUs, result.GPUResource = gpus(pod.Spec)
	result.Containers = append(seenContainers(pod.Status.InitContainerStatuses, true), seenContainers(pod.Status.ContainerStatuses, false)...)
	return result
}

// failed says whether a pod has failed, or will have in a moment: kubelet says first that the container has ended, and pods of
// jobs start no container again.
func failed(pod *corev1.Pod) bool {
	end := mainEnd(pod)
	return pod.Status.Phase == corev1.PodFailed || end != nil && end.ExitCode != 0
}

// deletionAsked returns when somebody asked for the deletion of a pod: the timestamp is when its grace is over.
func deletionAsked(pod *corev1.Pod) time.Time {
	if pod.DeletionTimestamp == nil {
		return time.Time{}
	}
	asked := pod.DeletionTimestamp.Time
	if grace := pod.DeletionGracePeriodSeconds; grace != nil {
		asked = asked.Add(-time.Duration(*grace) * time.Second)
	}
	return asked
}

// stoppedBefore says whether a pod was taken away by the suspension before a job was resumed, which is zero for one that was not. One
// that was made just before the resumption was told may be of either life: then it was taken if its deletion was asked for by then, or at once.
func stoppedBefore(pod *corev1.Pod, resumed time.Time) bool {
	if pod.DeletionTimestamp == nil || pod.CreationTimestamp.After(resumed) {
		return false
	}
	asked := deletionAsked(pod)
	return !asked.After(resumed.Add(resumeTold)) || pod.CreationTimestamp.Time.Before(resumed.Add(-resumeTold)) && asked.Before(resumed.Add(clocksApart))
}

// gpus returns how many accelerators a pod asks for: the extended resource whose name says so (nvidia.com/gpu,
// amd.com/gpu, gpu.intel.com/i915, MIG profiles).
func gpus(spec corev1.PodSpec) (count int64, name string) {
	for _, container := range spec.Containers {
		for resource, quantity := range container.Resources.Limits {
			domain, kind, extended := strings.Cut(string(resource), "/")
			if extended && (kind == "gpu" || strings.HasPrefix(kind, "mig-") || strings.HasPrefix(domain, "gpu.")) {
				count, name = count+quantity.Value(), string(resource)
			}
		}
	}
	return count, name
}

func seenContainers(statuses []corev1.ContainerStatus, init bool) []diagnose.Container {
	result := make([]diagnose.Container, 0, len(statuses))
	for _, status := range statuses {
		c := diagnose.Container{Name: status.Name, Image: status.Image, Init: init}
		if w := status.State.Waiting; w != nil {
			c.Waiting = &diagnose.Waiting{Reason: w.Reason, Message: w.Message}
		}
		if t := status.State.Terminated; t != nil {
			c.End = seenEnd(t)
		}
		result = append(result, c)
	}
	return result
}

func seenEnd(t *corev1.ContainerStateTerminated) *diagnose.End {
	return &diagnose.End{Code: int(t.ExitCode), Signal: int(t.Signal), Reason: t.Reason, Message: t.Message, At: t.FinishedAt.Time}
}

// mainEnd returns how the main container of a pod ended, or nil.
func mainEnd(pod *corev1.Pod) *corev1.ContainerStateTerminated {
	i := slices.IndexFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == mpi.Container })
	if i < 0 {
		return nil
	}
	return pod.Status.ContainerStatuses[i].State.Terminated
}

// ofLauncher adds whose resources a launcher has, and how much memory that allows.
func (o Observed) ofLauncher(seen *diagnose.Pod) {
	if seen.Role != mpi.LauncherJob {
		return
	}
	if o.Runtime != nil && o.Runtime.Spec.MLPolicy != nil && o.Runtime.Spec.MLPolicy.MPI != nil {
		seen.RunsRanks = ptr.Deref(o.Runtime.Spec.MLPolicy.MPI.RunLauncherAsNode, false)
	}
	if !o.Owns() {
		return
	}
	launcher := replicatedJob(o.JobSet.Spec, mpi.LauncherJob)
	if launcher == nil {
		return
	}
	if container := mainContainer(&launcher.Template.Spec.Template.Spec); container != nil {
		if limit, limited := container.Resources.Limits[corev1.ResourceMemory]; limited {
			seen.MemoryLimit = limit.String()
		}
	}
}
