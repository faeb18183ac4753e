package job

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"lockstep.dev/lockstep/pkg/mpi"
)

// Verdict returns what the agent of the launcher says about the run, or nil.
func (o Observed) Verdict() *mpi.Verdict {
	if !o.Owns() {
		return nil
	}
	launcher := launcherOf(o.all())
	if launcher == nil {
		return nil
	}
	for _, status := range launcher.Status.ContainerStatuses {
		if end := status.State.Terminated; status.Name == mpi.Container && end != nil {
			if verdict, err := mpi.DecodeVerdict(end.Message); err == nil {
				return &verdict
			}
		}
	}
	return nil
}

// Launched says whether the launcher's agent tells that it started the command.
func (o Observed) Launched() bool {
	verdict := o.Verdict()
	return verdict != nil && verdict.Phases != nil && verdict.Phases.CommandSeconds != nil
}

// Waits are how long a job waited on the way to its first rank, as this process saw it.
type Waits struct {
	// Queued is from the creation of the TrainJob, to the second, until its JobSet was there and not suspended.
	Queued time.Duration
	// Gang is from then until all pods had machines, Start from then until all were ready.
	Gang, Start time.Duration
}

// Waits returns nil for a job that is not ready, or that this process did not see from the beginning.
func (o Observed) Waits() *Waits {
	if !o.Owns() {
		return nil
	}
	runs, begun := o.Seen[Fact{factRuns, o.JobSet.UID}]
	placed, all := o.Seen[Fact{factPlaced, o.JobSet.UID}]
	ready, up := o.Seen[Fact{factReady, o.JobSet.UID}]
	if !begun || !all || !up {
		return nil
	}
	return &Waits{Queued: runs.Sub(o.TrainJob.CreationTimestamp.Time), Gang: placed.Sub(runs), Start: ready.Sub(placed)}
}

// placed says whether all pods have machines, allReady whether they are ready or have been.
func placed(pods []*corev1.Pod) bool {
	return !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return pod.Spec.NodeName == "" })
}

func allReady(pods []*corev1.Pod) bool {
	return !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return !readyOnce(pod) })
}

// readyOnce says whether a pod is ready or was so before it ended: what its end means is the JobSet's to say. kubelet says that a
// container has ended before it says so of the pod.
func readyOnce(pod *corev1.Pod) bool { return podReady(pod) || terminal(pod) || mainEnd(pod) != nil }

// nodesReady says whether all pods but the launcher are ready.
func nodesReady(pods []*corev1.Pod) bool {
	return !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return !isLauncher(pod) && !podReady(pod) })
}

// PodCount is how many pods of a role are in a phase.
type PodCount struct {
	Role  string
	Phase corev1.PodPhase
}

// CountOf returns the role and the phase by which a pod is counted, and whether it is one of a job.
func CountOf(pod corev1.Pod) (PodCount, bool) {
	role := pod.Labels[mpi.ReplicatedJobLabel]
	if role != mpi.LauncherJob && role != mpi.NodeJob {
		return PodCount{}, false
	}
	phase := pod.Status.Phase
	if phase == "" {
		phase = corev1.PodPending
	}
	return PodCount{role, phase}, true
}
