package job

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// ImagePatience is how long an image may fail to be pulled before the job fails. Kubelet tries again after 10 and after 20
// more seconds, so a registry that is away for a moment is asked three times. A name that is no image, and an image that
// must be on the machine and is not, fail at once.
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
		failing, hopeless := pulling(pod)
		if !failing || !hopeless && o.age(factImage, pod.UID) < ImagePatience {
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

// pulling says whether an image of a pod fails to be pulled, and whether no second try gets it.
func pulling(pod *corev1.Pod) (failing, hopeless bool) {
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, status := range statuses {
			if status.State.Waiting == nil {
				continue
			}
			switch status.State.Waiting.Reason {
			case "InvalidImageName", "ErrImageNeverPull":
				return true, true
			case "ErrImagePull", "ImagePullBackOff":
				failing = true
			}
		}
	}
	return failing, false
}

// untilImage returns the time until an image that cannot be pulled ends the job.
func (o Observed) untilImage() time.Duration {
	until := never
	for fact := range o.Seen {
		if fact.Kind == factImage {
			until = min(until, ImagePatience-o.age(factImage, fact.UID))
		}
	}
	return until
}
