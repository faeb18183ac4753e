package phase

import (
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
)

// Evidence returns what package diagnose looks at in all pods of the job.
func (s *seen) Evidence() []diagnose.Pod { return s.evidence() }

func (s *seen) currentEvidence() []diagnose.Pod {
	if len(s.Current) == len(s.All) {
		return s.evidence()
	}
	return s.evidenceOf(s.Current)
}

// evidenceOf is what package diagnose looks at in pods of this job. A Job takes its pods away when their containers were started again
// too often, as in runtimes of upstream's own kind: nobody deleted them then, and how a container ended the last time is why.
func (s *seen) evidenceOf(pods []*corev1.Pod) []diagnose.Pod {
	result := make([]diagnose.Pod, len(pods))
	givenUp := sync.OnceValue(s.jobsGivenUp)
	for i, pod := range pods {
		result[i] = observe.EvidenceOf(pod)
		s.addLauncherResources(&result[i])
		last := lastEndedContainer(result[i].Containers)
		if pod.DeletionTimestamp == nil || last == nil || !slices.Contains(givenUp(), pod.Labels[mpi.ReplicatedJobLabel]) {
			continue
		}
		result[i].Failed, result[i].GivenUp, last.End = true, true, last.LastEnd
	}
	return result
}

// addLauncherResources adds whose resources a launcher has, and how much memory that allows.
func (s *seen) addLauncherResources(seen *diagnose.Pod) {
	if seen.Role != mpi.LauncherJob {
		return
	}
	if s.Runtime != nil && s.Runtime.Spec.MLPolicy != nil && s.Runtime.Spec.MLPolicy.MPI != nil {
		seen.RunsRanks = ptr.Deref(s.Runtime.Spec.MLPolicy.MPI.RunLauncherAsNode, false)
	}
	if !s.OwnsJobSet() {
		return
	}
	launcher := job.ReplicatedJob(s.JobSet.Spec, mpi.LauncherJob)
	if launcher == nil {
		return
	}
	if container := job.MainContainer(&launcher.Template.Spec.Template.Spec); container != nil {
		if limit, limited := container.Resources.Limits[corev1.ResourceMemory]; limited {
			seen.MemoryLimit = limit.String()
		}
	}
}

// jobBackoffLimit is the default of a Job's backoffLimit.
const jobBackoffLimit = 6

// jobsGivenUp returns the replicated jobs whose Job deletes all its pods for the restarts of their containers. Kubernetes adds up
// those of all containers of all pods that have not ended (k8s.io/kubernetes pkg/controller/job pastBackoffLimitOnFailure), and a pod that ends
// because it is being deleted still counts here.
func (s *seen) jobsGivenUp() []string {
	if !s.OwnsJobSet() {
		return nil
	}
	restarts := map[string]int32{}
	for _, pod := range s.All {
		if pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure && (pod.DeletionTimestamp != nil || !observe.IsTerminal(pod)) {
			restarts[pod.Labels[mpi.ReplicatedJobLabel]] += restartsOf(pod)
		}
	}
	var given []string
	for _, name := range []string{mpi.LauncherJob, mpi.NodeJob} {
		part := job.ReplicatedJob(s.JobSet.Spec, name)
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

// lastEndedContainer returns the container whose last end tells why it was started again, or nil: the main one, and where that never ended,
// the init container that failed.
func lastEndedContainer(containers []diagnose.Container) *diagnose.Container {
	for i, c := range slices.Backward(containers) {
		last := c.LastEnd
		if last != nil && (c.Init && (last.Code != 0 || last.Signal != 0) || !c.Init && c.Name == mpi.Container) {
			return &containers[i]
		}
	}
	return nil
}
