package phase

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
)

const launcherSucceeded = "the launcher succeeded"

// successEnd is the end of a job whose launcher succeeded, with what its agent adds: a launch that failed may have been passed
// over by the command.
func (e *End) successEnd() *JobEnd {
	message := launcherSucceeded
	if launcher := observe.LauncherOf(e.Current); launcher != nil && job.HasAgent(e.JobSet) {
		message += successNote(observe.MainEnd(launcher))
	}
	return &JobEnd{Succeeded: true, Cause: diagnose.Cause{Reason: job.ReasonCompleted, Message: message}}
}

// successNote is what the agent says beside a success, as a continuation of a sentence.
func successNote(exit *corev1.ContainerStateTerminated) string {
	if exit == nil {
		return ""
	}
	verdict, err := mpi.DecodeVerdict(exit.Message)
	if err != nil || !verdict.Succeeded() || verdict.Message == "" {
		return ""
	}
	return "; " + diagnose.VerdictSentence(verdict)
}

// endToldByLauncher returns how a job ended whose launcher has said so, although its JobSet does not know yet, or nil. kubelet tells
// the end of the launcher's container, and with it the verdict of the agent, 2 s before pod, Job and JobSet have ended one
// after the other. A failure is told at once only where nothing that may still come explains it better.
//
// A job of a queue waits for its JobSet: of a TrainJob that is over, Kueue suspends the Jobs that are not (pkg/controller/jobframework,
// shouldSuspendChildJob), and a launcher whose end the Job controller has not counted yet would start again.
func (e *End) endToldByLauncher() *JobEnd {
	launcher := observe.LauncherOf(e.Current)
	if launcher == nil || e.TrainJob.Labels[kueue.QueueLabel] != "" || job.IsSuspended(e.JobSet) || !job.HasAgent(e.JobSet) || !endsWithLauncher(e.JobSet) {
		return nil
	}
	exit := observe.MainEnd(launcher)
	if exit == nil {
		return nil
	}
	verdict, err := mpi.DecodeVerdict(exit.Message)
	switch {
	case err != nil, verdict.Stopped != "", verdict.Lost != "":
		return nil
	case verdict.Succeeded() && exit.ExitCode == 0:
		end := e.successEnd()
		end.Early = true
		return end
	}
	if cause := e.Cause(); cause != nil && cause.IsFinal() {
		return &JobEnd{Cause: *cause, Early: true}
	}
	return nil
}

// endsWithLauncher reports whether the end of the launcher is that of the JobSet, as in all compiled runtimes: its success is enough,
// and nothing starts it again after a failure.
func endsWithLauncher(js *jobset.JobSet) bool {
	launcher, success, failure := job.ReplicatedJob(js.Spec, mpi.LauncherJob), js.Spec.SuccessPolicy, js.Spec.FailurePolicy
	return launcher != nil && ptr.Deref(launcher.Template.Spec.BackoffLimit, 1) == 0 && launcher.Template.Spec.PodFailurePolicy == nil &&
		success != nil && slices.Equal(success.TargetReplicatedJobs, []string{mpi.LauncherJob}) &&
		(failure == nil || failure.MaxRestarts == 0 && len(failure.Rules) == 0)
}
