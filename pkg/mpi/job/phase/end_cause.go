package phase

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// Cause returns what went wrong first, or nil when nothing shows why the job failed.
func (e *End) Cause() *diagnose.Cause { return e.cause() }

func (e *End) findCause() *diagnose.Cause {
	cause := e.run.causeOrOvertime(diagnose.FirstCause(e.Evidence(), append(e.PublishedPodLoss(), e.evictionCauses()...)))
	why := e.PublishedCondition(job.PodsReady)
	if cause == nil || why == nil || why.Status != metav1.ConditionFalse {
		return cause
	}
	return cause.WithStartProblem(mpi.Reason(why.Reason), why.Message)
}

// evictionCauses returns what kubelet's events say about pods of this JobSet that it threw out. The pods may be gone.
func (e *End) evictionCauses() []diagnose.Cause {
	var causes []diagnose.Cause
	for _, event := range e.Warnings {
		pod, at := event.InvolvedObject, event.LastTimestamp
		if at.IsZero() {
			at = event.FirstTimestamp
		}
		if event.Reason == "Evicted" && pod.Kind == "Pod" && e.hasPod(pod.Name) && !at.Time.Before(e.JobSet.CreationTimestamp.Time) {
			causes = append(causes, diagnose.EvictedByEvent(pod.Name, event.Message, at.Time))
		}
	}
	return causes
}

// hasPod reports whether a pod of this name can be one of the job.
func (e *End) hasPod(pod string) bool {
	rest, found := strings.CutPrefix(pod, e.TrainJob.Name+"-")
	return found && (strings.HasPrefix(rest, mpi.NodeJob+"-0-") || strings.HasPrefix(rest, mpi.LauncherJob+"-0-"))
}

// IsUnexplained reports whether the job failed because it lost a worker and no pod shows why. Warnings may then: of a pod that it
// evicts because of the size of a volume kubelet says so in an event only, and the pod ends as if it had succeeded.
func (e *End) IsUnexplained() bool {
	if !e.OwnsJobSet() || e.JobSetFailed() == nil {
		return false
	}
	cause := e.Cause()
	return cause != nil && cause.MayBeEviction()
}
