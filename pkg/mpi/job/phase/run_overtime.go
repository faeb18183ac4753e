package phase

import (
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
)

// controlPlaneApart is how far the clocks of API server, Job controller and JobSet may be apart.
const controlPlaneApart = 5 * time.Second

// overtimeCause returns the cause of a job that the Job controller stops because it takes longer than its runtime allows, or nil. The
// maxDuration of a runtime is the activeDeadlineSeconds of the launcher's Job, and all that shows is a launcher that is being deleted
// just then, as if somebody had done it, or that is gone when the JobSet has failed. A JobSet that starts its Jobs again gives each
// of them as long, and deletes launchers for other reasons: nothing is said of those.
func (r Run) overtimeCause() *diagnose.Cause {
	limit, since := timeLimitOf(r.JobSet), RunStartOf(r.JobSet)
	if limit == 0 || since.IsZero() || r.SuspendWanted() || !endsWithLauncher(r.JobSet) {
		return nil
	}
	over := since.Add(limit - controlPlaneApart)
	if stopped := r.launcherStopped(); stopped.IsZero() || stopped.Before(over) {
		return nil
	}
	return &diagnose.Cause{
		Reason: diagnose.DeadlineExceeded, At: over,
		Message: fmt.Sprintf("the job ran longer than the maxDuration of its runtime, %s", limit),
		Remedy:  "write checkpoints, so that another job can go on, or ask the platform admin for a runtime that allows more",
	}
}

// launcherStopped returns when somebody asked for the deletion of the launcher, or when the JobSet failed that has none any more.
func (r Run) launcherStopped() time.Time {
	if launcher := observe.LauncherOf(r.All); launcher != nil {
		return observe.DeletionAsked(launcher)
	}
	if failed := r.JobSetFailed(); failed != nil {
		return failed.LastTransitionTime.Time
	}
	return time.Time{}
}

// causeOrOvertime returns what came first of a cause, which may be nil, and the end of the time that the runtime allows.
func (r Run) causeOrOvertime(cause *diagnose.Cause) *diagnose.Cause {
	if over := r.overtimeCause(); over != nil && (cause == nil || !cause.At.Before(over.At)) {
		return over
	}
	return cause
}

// timeLimitOf returns how long the launcher's Job may take, 0 forever.
func timeLimitOf(js *jobset.JobSet) time.Duration {
	launcher := job.ReplicatedJob(js.Spec, mpi.LauncherJob)
	if launcher == nil {
		return 0
	}
	return time.Duration(ptr.Deref(launcher.Template.Spec.ActiveDeadlineSeconds, 0)) * time.Second
}

// RunStartOf returns when a JobSet was made or resumed, which is when the time of its Jobs begins; zero while it is suspended.
func RunStartOf(js *jobset.JobSet) time.Time {
	switch c := apimeta.FindStatusCondition(js.Status.Conditions, string(jobset.JobSetSuspended)); {
	case job.IsSuspended(js), c != nil && c.Status == metav1.ConditionTrue:
		return time.Time{}
	case c != nil:
		return c.LastTransitionTime.Time
	}
	return js.CreationTimestamp.Time
}
