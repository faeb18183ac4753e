package diagnose

import (
	"fmt"
	"strings"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
)

// disruptions are the reasons of the condition DisruptionTarget
// (https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-conditions). All others are evictions.
var disruptions = map[string]mpi.Reason{
	"PreemptionByScheduler":  Preempted,
	"DeletionByTaintManager": MachineLost,
	"DeletionByPodGC":        MachineLost,
}

// disruptionCause reads the condition that the control plane leaves on a pod that it takes away.
func disruptionCause(pod Pod, _ []Pod) *Cause {
	if pod.Disruption == nil {
		return nil
	}
	reason, words := Evicted, "was evicted"
	switch disruptions[pod.Disruption.Reason] {
	case Preempted:
		reason, words = Preempted, "was preempted"
	case MachineLost:
		reason, words = MachineLost, "lost its machine"
	}
	return causeWithRemedy(reason, fmt.Sprintf("%s %s: %s", pod.fullName(), words, pod.Disruption.Message)).
		withPod(pod).withTime(pod.Disruption.At, takenByControlPlane).withEvidence(pod.Disruption.Message)
}

// evictionCause reads the status that kubelet leaves on a pod that it throws out. Its message names what the machine lacks, and
// what the container used.
func evictionCause(pod Pod, _ []Pod) *Cause {
	if pod.Reason != "Evicted" {
		return nil
	}
	return causeWithRemedy(Evicted, fmt.Sprintf("%s was evicted: %s", pod.fullName(), pod.Message)).
		withPod(pod).withTime(pod.endAt(), evictedByKubelet).withEvidence(pod.Message)
}

// EvictedByEvent is an eviction of which only kubelet's event tells: that of a pod whose volume outgrew its limit, which may have
// ended as if it had succeeded.
func EvictedByEvent(pod, message string, at time.Time) Cause {
	host, _, _ := cutAtLast(pod, "-")
	c := causeWithRemedy(Evicted, fmt.Sprintf("%s (pod %s) was evicted: %s", WorkerName(host), pod, strings.TrimSpace(message)))
	c.Pod = pod
	return *c.withTime(at, evictedByKubelet).withEvidence(message)
}

// shutdowns are the reasons that kubelet and the control plane leave on pods of a machine that goes
// (https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/).
var shutdowns = map[string]bool{"NodeLost": true, "NodeShutdown": true, "Terminated": true, "Shutdown": true}

// kubeletRejectionCause is the end of a pod that kubelet did not admit, or that went with its machine.
func kubeletRejectionCause(pod Pod, _ []Pod) *Cause {
	reason, words := PodRejected, "was not admitted by kubelet"
	switch {
	case pod.Reason == "":
		return nil
	case shutdowns[pod.Reason]:
		reason, words = MachineLost, "lost its machine"
	case pod.mainEnd() != nil:
		return nil
	}
	return causeWithRemedy(reason, fmt.Sprintf("%s %s: %s: %s", pod.fullName(), words, pod.Reason, pod.Message)).
		withPod(pod).withTime(pod.endAt(), evictedByKubelet).withEvidence(pod.Message)
}
