package job

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"lockstep.dev/lockstep/pkg/mpi"
)

// cause is why a job failed, with its evidence.
type cause struct {
	reason  mpi.Reason
	message string
	// at is when it happened, to the second.
	at time.Time
}

// firstCause returns what went wrong first, or nil when no pod shows a fault. A node that failed before or in the same
// second as the launcher wins: the launcher fails because of it. JobSet deletes the nodes of a failed job, so the end of
// a pod that is being deleted is no cause, unless something else than JobSet wanted it gone.
func firstCause(pods []corev1.Pod) *cause {
	var causes []cause
	for _, pod := range pods {
		if c := causeOf(pod); c != nil {
			causes = append(causes, *c)
		}
	}
	if len(causes) == 0 {
		return nil
	}
	// Pods come launcher first; at the same second the others win.
	slices.Reverse(causes)
	first := slices.MinFunc(causes, func(a, b cause) int { return a.at.Compare(b.at) })
	return &first
}

func causeOf(pod corev1.Pod) *cause {
	if c := disruption(pod); c != nil {
		return c
	}
	if pod.DeletionTimestamp != nil && !isLauncher(pod) {
		return nil
	}
	if pod.Status.Phase != corev1.PodFailed {
		return nil
	}
	if pod.Status.Reason != "" && len(pod.Status.ContainerStatuses) == 0 || pod.Status.Reason == "Evicted" {
		return rejection(pod)
	}
	if c := initFailure(pod); c != nil {
		return c
	}
	return containerFailure(pod)
}

// disruption reads the condition that the control plane leaves on a pod that it takes away
// (https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-conditions).
func disruption(pod corev1.Pod) *cause {
	for _, condition := range pod.Status.Conditions {
		if condition.Type != corev1.DisruptionTarget || condition.Status != corev1.ConditionTrue {
			continue
		}
		reason := ReasonEvicted
		switch condition.Reason {
		case corev1.PodReasonPreemptionByScheduler:
			reason = ReasonPreempted
		case "DeletionByTaintManager", "DeletionByPodGC":
			reason = ReasonMachineLost
		}
		return &cause{reason, fmt.Sprintf("%s: %s", place(pod), condition.Message), condition.LastTransitionTime.Time}
	}
	return nil
}

// rejection is the end of a pod that kubelet did not admit or threw out.
func rejection(pod corev1.Pod) *cause {
	reason := ReasonPodRejected
	switch pod.Status.Reason {
	case "Evicted":
		reason = ReasonEvicted
	case "NodeLost", "NodeShutdown", "Terminated", "Shutdown":
		reason = ReasonMachineLost
	}
	return &cause{reason, fmt.Sprintf("%s: %s: %s", place(pod), pod.Status.Reason, pod.Status.Message), endOf(pod)}
}

func initFailure(pod corev1.Pod) *cause {
	for _, status := range pod.Status.InitContainerStatuses {
		end := status.State.Terminated
		if end == nil || end.ExitCode == 0 {
			continue
		}
		message := fmt.Sprintf("%s: init container `%s` %s", place(pod), status.Name, ending(*end))
		return &cause{ReasonInitFailed, message, end.FinishedAt.Time}
	}
	return nil
}

func containerFailure(pod corev1.Pod) *cause {
	end := mainEnd(pod)
	if end == nil {
		return &cause{fallback(pod), fmt.Sprintf("%s failed without a trace of its container", place(pod)), endOf(pod)}
	}
	if verdict, err := mpi.DecodeVerdict(end.Message); err == nil && !verdict.Succeeded() {
		return verdictCause(pod, verdict, end.FinishedAt.Time)
	}
	reason := fallback(pod)
	if end.Reason == "OOMKilled" {
		reason = ReasonOOMKilled
	}
	return &cause{reason, fmt.Sprintf("%s: container `%s` %s", place(pod), mpi.Container, ending(*end)), end.FinishedAt.Time}
}

// verdictCause passes on what the agent says. It knows of processes that the kernel killed on its nodes, which is the
// cause behind a command that failed.
func verdictCause(pod corev1.Pod, verdict mpi.Verdict, at time.Time) *cause {
	reason, message := verdict.Reason, verdict.Message
	if message == "" {
		message = fmt.Sprintf("the command exited with code %d", verdict.ExitCode)
	}
	message = fmt.Sprintf("launcher pod %s: %s", pod.Name, message)
	if verdict.OOMKills > 0 {
		reason = ReasonOOMKilled
	}
	return &cause{reason, message, at}
}

func fallback(pod corev1.Pod) mpi.Reason {
	if isLauncher(pod) {
		return ReasonLauncherFailed
	}
	return ReasonNodeFailed
}

// ending says how a container ended, for example `exited with code 1` or `was killed by signal 9 (OOMKilled)`.
func ending(end corev1.ContainerStateTerminated) string {
	const signalBase = 128
	text := fmt.Sprintf("exited with code %d", end.ExitCode)
	if signal := cmp.Or(end.Signal, end.ExitCode-signalBase); signal > 0 {
		text = fmt.Sprintf("was killed by signal %d", signal)
	}
	if end.Reason != "" && end.Reason != "Error" && end.Reason != "Completed" {
		text += " (" + end.Reason + ")"
	}
	return text
}

func mainEnd(pod corev1.Pod) *corev1.ContainerStateTerminated {
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name == mpi.Container {
			return status.State.Terminated
		}
	}
	return nil
}

// endOf is the best time for a pod without an ended container.
func endOf(pod corev1.Pod) time.Time {
	if end := mainEnd(pod); end != nil {
		return end.FinishedAt.Time
	}
	if pod.Status.StartTime != nil {
		return pod.Status.StartTime.Time
	}
	return pod.CreationTimestamp.Time
}

// place names a pod by its role and its machine, for example `node pod mnist-node-0-1-x7x2p on machine gpu-3`.
func place(pod corev1.Pod) string {
	text := fmt.Sprintf("%s pod %s", pod.Labels[mpi.ReplicatedJobLabel], pod.Name)
	if pod.Spec.NodeName != "" {
		text += " on machine " + pod.Spec.NodeName
	}
	return text
}
