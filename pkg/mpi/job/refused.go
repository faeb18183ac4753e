package job

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// ImagePatience is how long an image that does not exist, or that may not be pulled, may fail to be pulled before the job fails. Kubelet
// tries again after 10 and after 20 more seconds, so an image that comes in a moment is asked for three times. A name that is no image, and
// an image that must be on the machine and is not, fail at once. A registry that is busy, broken or away is waited for as long as for
// anything else that the gang lacks.
const ImagePatience = 45 * time.Second

// Refused returns the decision that ends the job, if what the API server said to the objects of this one is final, or nil.
// Errors that pass, a quota and what a policy forbids are tried again: somebody may change those.
func (d Decision) Refused(applied error) *Decision {
	if !apierrors.IsInvalid(applied) && !apierrors.IsBadRequest(applied) && !apierrors.IsRequestEntityTooLargeError(applied) {
		return nil
	}
	message := "the API server does not take an object of the job: " + applied.Error()
	final := Decision{Ours: true, Delete: slices.Clone(d.keys), end: &end{reason: diagnose.InvalidObject, message: message}}
	for _, object := range d.Create {
		if key, ok := object.(*corev1.Secret); ok && key.UID != "" {
			final.Delete = append(final.Delete, Deletion{TypeMeta: secretType(), Name: key.Name, UID: key.UID})
		}
	}
	return &final
}

// final says whether no waiting changes why the API server refuses pods: they are invalid, or Pod Security, a LimitRange or
// OpenShift's security constraints do not allow them. A quota and a policy may allow them later.
func final(reason mpi.Reason) bool {
	switch reason {
	case diagnose.PodInvalid, diagnose.PodSecurityDenied, diagnose.SecurityContextDenied, diagnose.LimitRangeViolated:
		return true
	}
	return false
}

// stuck returns the end of a job that cannot get its pods to run although nothing has failed, or nil: pods that the API
// server refuses for good, images that cannot be pulled, a gang that did not come together in time.
func (o Observed) stuck() *end {
	pods := o.current()
	if len(pods) < podCount(o.JobSet) {
		if p := refusal(o.Warnings, o.JobSet, o.Jobs); p != nil && final(p.reason) {
			return &end{reason: p.reason, message: p.message, stop: true}
		}
	}
	for _, pod := range pods {
		switch failing, hopeless := pulling(pod); {
		case hopeless:
		case !failing, o.age(factImage, pod.UID) < ImagePatience, !o.pullIsFinal(pod):
			continue
		}
		if p := o.problemOf(pod); p != nil {
			return &end{reason: p.reason, message: p.message, stop: true}
		}
	}
	if o.untilGang() > 0 {
		return nil
	}
	return o.gangOver(asProblem(o.problem()))
}

// unpulled are the containers of a pod whose images cannot be pulled.
func unpulled(pod *corev1.Pod) []corev1.ContainerStatus {
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

// pulling says whether an image of a pod fails to be pulled, and whether no second try gets it.
func pulling(pod *corev1.Pod) (failing, hopeless bool) {
	statuses := unpulled(pod)
	return len(statuses) > 0, slices.ContainsFunc(statuses, func(s corev1.ContainerStatus) bool {
		return slices.Contains(hopelessReasons, s.State.Waiting.Reason)
	})
}

// pullIsFinal says whether the registry's answer for an image of a pod stays the same. Before Kubernetes 1.32 kubelet does not repeat it
// while it backs off; the condition does.
func (o Observed) pullIsFinal(pod *corev1.Pod) bool {
	shown := ""
	if c := apimeta.FindStatusCondition(o.TrainJob.Status.Conditions, PodsReady); c != nil && c.Reason == string(diagnose.ImagePull) {
		shown = c.Message
	}
	return slices.ContainsFunc(unpulled(pod), func(s corev1.ContainerStatus) bool {
		return diagnose.PullIsFinal(s.Image, s.State.Waiting.Message) ||
			strings.Contains(shown, "'"+s.Image+"'") && diagnose.PullIsFinal(s.Image, shown)
	})
}

// untilImage returns the time until an image that cannot be pulled ends the job.
func (o Observed) untilImage() time.Duration {
	until := never
	for _, pod := range o.current() {
		if _, seen := o.Seen[Fact{factImage, pod.UID}]; seen && o.pullIsFinal(pod) {
			until = min(until, ImagePatience-o.age(factImage, pod.UID))
		}
	}
	return until
}
