package job

import (
	"strings"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// Unexplained says whether the job failed because it lost a worker and no pod shows why. Warnings may then: of a pod that it
// evicts because of the size of a volume kubelet says so in an event only, and the pod ends as if it had succeeded.
func (o Observed) Unexplained() bool {
	if !o.Owns() || o.failed() == nil {
		return false
	}
	cause := o.cause()
	return cause != nil && cause.Contested()
}

// evictions returns what kubelet's events say about pods of this JobSet that it threw out. The pods may be gone.
func (o Observed) evictions() []diagnose.Cause {
	var causes []diagnose.Cause
	for _, event := range o.Warnings {
		pod, at := event.InvolvedObject, event.LastTimestamp
		if at.IsZero() {
			at = event.FirstTimestamp
		}
		if event.Reason == "Evicted" && pod.Kind == "Pod" && o.hasPod(pod.Name) && !at.Time.Before(o.JobSet.CreationTimestamp.Time) {
			causes = append(causes, diagnose.Expelled(pod.Name, event.Message, at.Time))
		}
	}
	return causes
}

// hasPod says whether a pod of this name can be one of the job.
func (o Observed) hasPod(pod string) bool {
	rest, found := strings.CutPrefix(pod, o.TrainJob.Name+"-")
	return found && (strings.HasPrefix(rest, mpi.NodeJob+"-0-") || strings.HasPrefix(rest, mpi.LauncherJob+"-0-"))
}
