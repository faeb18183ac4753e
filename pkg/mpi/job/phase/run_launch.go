package phase

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
)

// agentExpected is how long after the start of the launcher its agent may be out of reach without a word about it.
const agentExpected = 10 * time.Second

// LaunchStep is how far the launcher of a started job is.
type LaunchStep int

// The launches.
const (
	// LaunchWaitsForPods: the launcher does not run.
	LaunchWaitsForPods LaunchStep = iota
	// LaunchWaitsForNodes: the launcher waits in its gate, and nobody knows of anything in the way.
	LaunchWaitsForNodes
	// LaunchHindered: the launcher waits in its gate, and told what seems to be in the way.
	LaunchHindered
	// LaunchUnreachable: the controller cannot reach the agent of the launcher.
	LaunchUnreachable
	// LaunchRefused: the gate ended, and nodes did not answer.
	LaunchRefused
	// LaunchRuns: the gate was passed, and the command runs.
	LaunchRuns
	// LaunchWithoutAgent: the launcher runs; nobody can tell more of a runtime without the agent.
	LaunchWithoutAgent
)

// LaunchStep believes the launcher's agent and nobody else: a launcher that runs may still wait for its nodes.
func (r Run) LaunchStep() LaunchStep {
	launcher := r.Launcher()
	if launcher == nil || launcher.Status.Phase == corev1.PodPending {
		return LaunchWaitsForPods
	}
	if !job.HasAgent(r.JobSet) && r.JobSet.Labels[mpi.TrainJobLabel] != "" {
		if r.start.problemOf(launcher) != nil {
			return LaunchWaitsForPods
		}
		return LaunchWithoutAgent
	}
	var gate *mpi.GateResult
	if r.Gate != nil && r.Gate.Launcher == launcher.UID {
		gate = r.Gate.Result
	}
	switch {
	case gate != nil && gate.Passed, (gate == nil || gate.Waiting) && isPublishedRunning(r.TrainJob.Status.Conditions, launcher):
		return LaunchRuns
	case gate != nil && gate.Waiting:
		return LaunchHindered
	case gate != nil:
		return LaunchRefused
	case r.launcherUnreachable(launcher):
		return LaunchUnreachable
	}
	return LaunchWaitsForNodes
}

// Warning returns what the agents of a running job see go wrong, nil for nothing. The image of a user may answer in the place of an agent:
// a reason that is not documented counts for nothing.
func (r Run) Warning() *diagnose.Cause {
	launcher := r.Launcher()
	if launcher == nil || r.Gate == nil || r.Gate.Launcher != launcher.UID {
		return nil
	}
	for _, warning := range r.Gate.Warnings {
		if entry, known := diagnose.ReasonDocOf(warning.Reason); known {
			return &diagnose.Cause{Reason: warning.Reason, Message: diagnose.StripEscapes(warning.Message), Remedy: entry.Remedy}
		}
	}
	return nil
}

// Launcher returns the pod of the launcher, or nil.
func (r Run) Launcher() *corev1.Pod { return observe.LauncherOf(r.Current) }

// isPublishedRunning keeps the word of a launcher that an earlier controller heard, as long as the same container runs. A new
// controller asks again, but it may never get to a launcher, and a gate is passed once and for all.
func isPublishedRunning(earlier []metav1.Condition, launcher *corev1.Pod) bool {
	condition := apimeta.FindStatusCondition(earlier, job.Running)
	return condition != nil && condition.Status == metav1.ConditionTrue && !condition.LastTransitionTime.Time.Before(mainContainerStartOrNever(launcher).Add(-observe.ClocksApart))
}

func (r Run) launcherUnreachable(launcher *corev1.Pod) bool {
	return r.Gate != nil && r.Gate.Launcher == launcher.UID && (r.Gate.GaveUp || r.FactAge(observe.FactLauncher, launcher.UID) > agentExpected)
}

// mainContainerStartOrNever returns when the main container of a pod started, or the far future while it has not.
func mainContainerStartOrNever(pod *corev1.Pod) time.Time {
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name == mpi.Container && status.State.Running != nil {
			return status.State.Running.StartedAt.Time
		}
	}
	return time.Unix(1<<40, 0)
}

// PodsReady reports whether all pods of a started job are ready, or have been, and otherwise what keeps them from it, as far as it shows.
func (r Run) PodsReady() (ready bool, why *diagnose.Cause) {
	// A pod that was thrown out has ended, too, and is gone in a moment.
	if taken := diagnose.FirstDisruption(r.currentEvidence()); taken != nil && !r.IsStopping() && !r.SuspendWanted() {
		return false, taken
	}
	if observe.CountReadyOnce(r.Current) >= r.Want {
		return true, nil
	}
	if lost := r.PodDisruption(); lost != nil {
		return false, lost
	}
	return false, r.start.Problem()
}

// PodDisruption returns the pod that is, or was, taken away from a running job. The condition PodsReady keeps it: until the JobSet
// has failed because of it the pod may be gone, and with it all evidence.
func (r Run) PodDisruption() *diagnose.Cause {
	if r.SuspendWanted() || r.IsStopping() {
		return nil
	}
	if noted := r.PublishedPodLoss(); len(noted) > 0 {
		return &noted[0]
	}
	return r.causeOrOvertime(diagnose.FirstDisruption(r.Evidence()))
}

// Verdict returns the verdict of the launcher's agent about the run, or nil.
func (r Run) Verdict() *mpi.Verdict {
	if !r.OwnsJobSet() {
		return nil
	}
	launcher := observe.LauncherOf(r.All)
	if launcher == nil {
		return nil
	}
	for _, status := range launcher.Status.ContainerStatuses {
		if end := status.State.Terminated; status.Name == mpi.Container && end != nil {
			if verdict, err := mpi.DecodeVerdict(end.Message); err == nil {
				return &verdict
			}
		}
	}
	return nil
}

// HasCommandStarted reports whether the launcher's agent tells that it started the command.
func (r Run) HasCommandStarted() bool {
	verdict := r.Verdict()
	return verdict != nil && verdict.Timings != nil && verdict.Timings.CommandSeconds != nil
}

// phase is the phase of a job whose JobSet runs.
func (r Run) phase() jobv1.Phase {
	switch {
	case r.LaunchStep() == LaunchRuns:
		return jobv1.Running
	case len(r.Current) < r.Want || !observe.ArePlaced(r.Current):
		return jobv1.Scheduling
	case !observe.WereReadyOnce(r.Current):
		return jobv1.Pulling
	}
	return jobv1.Starting
}
