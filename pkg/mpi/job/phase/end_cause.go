package phase

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

func (f *Facts) findCause() *diagnose.Cause {
	cause := f.causeOrOvertime(diagnose.FirstCause(f.allEvidence(), append(f.PublishedPodLoss(), f.evictionCauses()...)))
	why := f.PublishedCondition(job.PodsReady)
	if cause == nil || why == nil || why.Status != metav1.ConditionFalse {
		return cause
	}
	return cause.WithStartProblem(mpi.Reason(why.Reason), why.Message)
}

// PodDisruption returns the pod that is, or was, taken away from a running job. The condition PodsReady keeps it: until the JobSet
// has failed because of it the pod may be gone, and with it all evidence.
func (f *Facts) PodDisruption() *diagnose.Cause {
	if f.SuspendWanted() || f.IsStopping() {
		return nil
	}
	if noted := f.PublishedPodLoss(); len(noted) > 0 {
		return &noted[0]
	}
	return f.causeOrOvertime(diagnose.FirstDisruption(f.allEvidence()))
}

// evictionCauses returns what kubelet's events say about pods of this JobSet that it threw out. The pods may be gone.
func (f *Facts) evictionCauses() []diagnose.Cause {
	var causes []diagnose.Cause
	for _, event := range f.Warnings {
		pod, at := event.InvolvedObject, event.LastTimestamp
		if at.IsZero() {
			at = event.FirstTimestamp
		}
		if event.Reason == "Evicted" && pod.Kind == "Pod" && f.hasPod(pod.Name) && !at.Time.Before(f.JobSet.CreationTimestamp.Time) {
			causes = append(causes, diagnose.EvictedByEvent(pod.Name, event.Message, at.Time))
		}
	}
	return causes
}

// hasPod reports whether a pod of this name can be one of the job.
func (f *Facts) hasPod(pod string) bool {
	rest, found := strings.CutPrefix(pod, f.TrainJob.Name+"-")
	return found && (strings.HasPrefix(rest, mpi.NodeJob+"-0-") || strings.HasPrefix(rest, mpi.LauncherJob+"-0-"))
}
