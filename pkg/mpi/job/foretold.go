package job

import (
	"slices"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// jobSetEnds is how long a JobSet may take to end after the job has: some 2 s as a rule. One that has not by then waits for
// a container that does not end, such as a sidecar, and holds machines for nothing.
const jobSetEnds = time.Minute

const launcherSucceeded = "the launcher succeeded"

// succeeded is the end of a job whose launcher succeeded, with what its agent adds: a launch that failed may have been passed
// over by the command.
func (o Observed) succeeded() *end {
	message := launcherSucceeded
	if launcher := launcherOf(o.current()); launcher != nil && withAgent(o.JobSet) {
		message += addition(mainEnd(launcher))
	}
	return &end{succeeded: true, reason: ReasonCompleted, message: message}
}

// addition is what the agent says beside a success, as a continuation of a sentence.
func addition(exit *corev1.ContainerStateTerminated) string {
	if exit == nil {
		return ""
	}
	verdict, err := mpi.DecodeVerdict(exit.Message)
	if err != nil || !verdict.Succeeded() || verdict.Message == "" {
		return ""
	}
	return "; " + diagnose.Sentence(verdict)
}

// foretold returns how a job ended whose launcher has said so, although its JobSet does not know yet, or nil. kubelet tells
// the end of the launcher's container, and with it the verdict of the agent, 2 s before pod, Job and JobSet have ended one
// after the other. A failure is told at once only where nothing that may still come explains it better.
//
// A job of a queue waits for its JobSet: of a TrainJob that is over, Kueue suspends the Jobs that are not (pkg/controller/jobframework,
// shouldSuspendChildJob), and a launcher whose end the Job controller has not counted yet would start again.
func (o Observed) foretold() *end {
	launcher := launcherOf(o.current())
	if launcher == nil || o.TrainJob.Labels[QueueLabel] != "" || suspended(o.JobSet) || !withAgent(o.JobSet) || !decides(o.JobSet) {
		return nil
	}
	exit := mainEnd(launcher)
	if exit == nil {
		return nil
	}
	verdict, err := mpi.DecodeVerdict(exit.Message)
	switch {
	case err != nil, verdict.Stopped != "", verdict.Lost != "":
		return nil
	case verdict.Succeeded() && exit.ExitCode == 0:
		end := o.succeeded()
		end.early = true
		return end
	}
	if cause := o.cause(); cause != nil && cause.Certain() {
		return &end{reason: cause.Reason, message: cause.Text(), early: true}
	}
	return nil
}

// decides says whether the end of the launcher is that of the JobSet, as in all compiled runtimes: its success is enough,
// and nothing starts it again after a failure.
func decides(js *jobset.JobSet) bool {
	launcher, success, failure := replicatedJob(js.Spec, mpi.LauncherJob), js.Spec.SuccessPolicy, js.Spec.FailurePolicy
	return launcher != nil && ptr.Deref(launcher.Template.Spec.BackoffLimit, 1) == 0 && launcher.Template.Spec.PodFailurePolicy == nil &&
		success != nil && slices.Equal(success.TargetReplicatedJobs, []string{mpi.LauncherJob}) &&
		(failure == nil || failure.MaxRestarts == 0 && len(failure.Rules) == 0)
}

// Closing says whether a job is over and its JobSet is not yet. Its pods tell whether it will be.
func (o Observed) Closing() bool { return Over(o.TrainJob) && o.Owns() && !o.jobSetEnded() }

// ending returns how long the JobSet of a job that is over may still take to end by itself, 0 when it will not.
func (o Observed) ending() time.Duration {
	launcher := launcherOf(o.all())
	if launcher == nil || mainEnd(launcher) == nil {
		return 0
	}
	for _, kind := range []string{trainer.TrainJobComplete, trainer.TrainJobFailed} {
		if c := apimeta.FindStatusCondition(o.TrainJob.Status.Conditions, kind); c != nil {
			return max(0, c.LastTransitionTime.Add(jobSetEnds).Sub(o.Now))
		}
	}
	return 0
}

// launched returns the counts of child Jobs with that of the launcher as it will be in a moment: it has ended.
func launched(statuses []trainer.JobStatus, succeeded bool) []trainer.JobStatus {
	for i, s := range statuses {
		if s.Name != mpi.LauncherJob {
			continue
		}
		s.Active, s.Ready, s.Succeeded, s.Failed = ptr.To[int32](0), ptr.To[int32](0), ptr.To[int32](0), ptr.To[int32](0)
		if succeeded {
			s.Succeeded = ptr.To[int32](1)
		} else {
			s.Failed = ptr.To[int32](1)
		}
		statuses[i] = s
	}
	return statuses
}
