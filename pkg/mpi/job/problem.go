package job

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep.dev/lockstep/pkg/mpi"
)

// problem is what keeps a job from starting, as far as it shows.
type problem struct {
	reason  mpi.Reason
	message string
}

// firstProblem returns the problem of the first pod that has one, launcher first, so that the message does not change
// from pass to pass.
func firstProblem(pods []corev1.Pod) *problem {
	for _, pod := range pods {
		if p := problemOf(pod); p != nil {
			return p
		}
	}
	return nil
}

func problemOf(pod corev1.Pod) *problem {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse && condition.Reason == corev1.PodReasonUnschedulable {
			return &problem{ReasonUnschedulable, fmt.Sprintf("%s cannot be scheduled: %s", place(pod), condition.Message)}
		}
	}
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if status.State.Waiting == nil {
			continue
		}
		if p := waiting(pod, status); p != nil {
			return p
		}
	}
	return nil
}

// waiting leaves out kubelet's message about an image: it alternates between the error and the back-off.
func waiting(pod corev1.Pod, status corev1.ContainerStatus) *problem {
	switch status.State.Waiting.Reason {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull":
		return &problem{ReasonImagePull, fmt.Sprintf("%s: image `%s` of container `%s` cannot be pulled", place(pod), status.Image, status.Name)}
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		return &problem{ReasonContainerConfig, fmt.Sprintf("%s: container `%s` cannot be made: %s", place(pod), status.Name, status.State.Waiting.Message)}
	}
	return nil
}

// generatedSuffix is the end of a generated name (k8s.io/apiserver pkg/storage/names), which differs in every attempt.
var generatedSuffix = regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5}"`)

// combined is what the recorder of events puts before a message that it has seen many times in other words
// (k8s.io/client-go tools/record).
const combined = "(combined from similar events): "

// refusal returns why the API server refuses pods or Jobs of this JobSet, taken from the events of the Job and JobSet
// controllers; nothing else records it.
func refusal(warnings []corev1.Event, jobSet metav1.Object, jobs []metav1.PartialObjectMetadata) *problem {
	about := map[string]bool{string(jobSet.GetUID()): true}
	for _, job := range jobs {
		about[string(job.UID)] = true
	}
	var messages []string
	for _, event := range warnings {
		if about[string(event.InvolvedObject.UID)] && (event.Reason == "FailedCreate" || event.Reason == "JobCreationFailed") {
			message := strings.TrimPrefix(event.Message, combined)
			messages = append(messages, generatedSuffix.ReplaceAllString(message, `"`))
		}
	}
	if len(messages) == 0 {
		return nil
	}
	return &problem{ReasonPodsRefused, "the API server refuses pods of the job: " + slices.Min(messages)}
}
