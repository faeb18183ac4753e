package observe

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep.dev/lockstep/pkg/mpi"
)

// CurrentPods returns those of all that are there to stay.
func CurrentPods(all []*corev1.Pod) []*corev1.Pod {
	if !slices.ContainsFunc(all, isDeleting) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), isDeleting)
}

func isDeleting(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil }

// AllPods returns the launcher and the nodes of this JobSet, launcher first, then nodes by index. They are those of Pods, and not to be changed.
// Pods of an earlier JobSet of this name are not among them, and not those that a suspension took away.
func (o Observed) AllPods() []*corev1.Pod {
	if o.JobSet == nil {
		return nil
	}
	resumed := o.resumedAt()
	places := make([]rankedPod, 0, len(o.Pods))
	for i := range o.Pods {
		pod := &o.Pods[i]
		role := pod.Labels[mpi.ReplicatedJobLabel]
		if pod.Labels[mpi.JobSetUIDLabel] == string(o.JobSet.UID) && (role == mpi.LauncherJob || role == mpi.NodeJob) && !wasTakenBeforeResume(pod, resumed) {
			places = append(places, rankPod(pod))
		}
	}
	slices.SortFunc(places, rankedPod.compare)
	pods := make([]*corev1.Pod, len(places))
	for i, p := range places {
		pods[i] = p.pod
	}
	return pods
}

// rankedPod is a pod with what it is sorted by, so that labels are not looked up at each comparison.
type rankedPod struct {
	pod *corev1.Pod
	// rank is the index of a node, and less for a launcher.
	rank int
}

func rankPod(pod *corev1.Pod) rankedPod {
	if isLauncher(pod) {
		return rankedPod{pod, -1}
	}
	return rankedPod{pod, PodIndex(pod)}
}

func (p rankedPod) compare(other rankedPod) int {
	if p.rank != other.rank {
		return cmp.Compare(p.rank, other.rank)
	}
	return cmp.Compare(p.pod.Name, other.pod.Name)
}

// PodIndex returns the index of a node.
func PodIndex(pod *corev1.Pod) int {
	index, err := strconv.Atoi(pod.Labels[mpi.CompletionIndexLabel])
	if err != nil {
		return 0
	}
	return index
}

func isLauncher(pod *corev1.Pod) bool { return pod.Labels[mpi.ReplicatedJobLabel] == mpi.LauncherJob }

// LauncherOf returns the launcher of pods that are in order, or nil.
func LauncherOf(pods []*corev1.Pod) *corev1.Pod {
	if len(pods) > 0 && isLauncher(pods[0]) {
		return pods[0]
	}
	return nil
}

// MainContainerStart is when the main container of a pod started, zero if it has not.
func MainContainerStart(pod *corev1.Pod) metav1.Time {
	if pod == nil {
		return metav1.Time{}
	}
	for _, status := range pod.Status.ContainerStatuses {
		switch {
		case status.Name != mpi.Container:
		case status.State.Running != nil:
			return status.State.Running.StartedAt
		case status.State.Terminated != nil:
			return status.State.Terminated.StartedAt
		}
	}
	return metav1.Time{}
}

// IsTerminal reports whether a pod has ended.
func IsTerminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// ArePlaced reports whether all pods have machines.
func ArePlaced(pods []*corev1.Pod) bool {
	return !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return pod.Spec.NodeName == "" })
}

// WereReadyOnce reports whether pods are ready, or have been.
func WereReadyOnce(pods []*corev1.Pod) bool {
	return !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return !wasReadyOnce(pod) })
}

// CountReadyOnce returns how many pods are ready, or have been. There may be more than wanted: a Job has made another one in place of one.
func CountReadyOnce(pods []*corev1.Pod) (count int) {
	for _, pod := range pods {
		if wasReadyOnce(pod) {
			count++
		}
	}
	return count
}

// wasReadyOnce reports whether a pod is ready or was so before it ended: what its end means is the JobSet's to say. kubelet says that a
// container has ended before it says so of the pod.
func wasReadyOnce(pod *corev1.Pod) bool {
	return isPodReady(pod) || IsTerminal(pod) || MainEnd(pod) != nil
}

// areNodesReady reports whether all pods but the launcher are ready.
func areNodesReady(pods []*corev1.Pod) bool {
	return !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return !isLauncher(pod) && !isPodReady(pod) })
}

// PodCount is how many pods of a role are in a phase.
type PodCount struct {
	Role  string
	Phase corev1.PodPhase
}

// PodCountOf returns the role and the phase by which a pod is counted, and whether it is one of a job.
func PodCountOf(pod corev1.Pod) (PodCount, bool) {
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

func isPodReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// wasTakenBeforeResume reports whether a pod was taken away by the suspension before a job was resumed, which is zero for one that was not. One
// that was made just before the resumption was told may be of either life: then it was taken if its deletion was asked for by then, or at once.
func wasTakenBeforeResume(pod *corev1.Pod, resumed time.Time) bool {
	if pod.DeletionTimestamp == nil || pod.CreationTimestamp.After(resumed) {
		return false
	}
	asked := DeletionAsked(pod)
	return !earliestDeletion(pod).After(resumed.Add(resumeTold)) || pod.CreationTimestamp.Time.Before(resumed.Add(-resumeTold)) && asked.Before(resumed.Add(ClocksApart))
}

// ContainersFailingToPull are the containers of a pod whose images cannot be pulled.
func ContainersFailingToPull(pod *corev1.Pod) []corev1.ContainerStatus {
	var failing []corev1.ContainerStatus
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if waiting := status.State.Waiting; waiting != nil && slices.Contains(pullReasons, waiting.Reason) {
			failing = append(failing, status)
		}
	}
	return failing
}

// Kubelet's reasons for an image that is not there (k8s.io/kubernetes pkg/kubelet/images), and those among them that no second try passes.
var (
	pullReasons     = []string{"InvalidImageName", "ErrImageNeverPull", "ErrImagePull", "ImagePullBackOff"}
	hopelessReasons = []string{"InvalidImageName", "ErrImageNeverPull"}
)

// IsPullFailing reports whether an image of a pod fails to be pulled, and whether no second try gets it.
func IsPullFailing(pod *corev1.Pod) (failing, hopeless bool) {
	statuses := ContainersFailingToPull(pod)
	return len(statuses) > 0, slices.ContainsFunc(statuses, func(s corev1.ContainerStatus) bool {
		return slices.Contains(hopelessReasons, s.State.Waiting.Reason)
	})
}
