package phase

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
func (f *Facts) LaunchStep() LaunchStep {
	launcher := f.Launcher()
	if launcher == nil || launcher.Status.Phase == corev1.PodPending {
		return LaunchWaitsForPods
	}
	if !job.HasAgent(f.JobSet) && f.JobSet.Labels[mpi.TrainJobLabel] != "" {
		if f.startProblemOf(launcher) != nil {
			return LaunchWaitsForPods
		}
		return LaunchWithoutAgent
	}
	var gate *mpi.GateResult
	if f.Gate != nil && f.Gate.Launcher == launcher.UID {
		gate = f.Gate.Result
	}
	switch {
	case gate != nil && gate.Passed, (gate == nil || gate.Waiting) && isPublishedRunning(f.TrainJob.Status.Conditions, launcher):
		return LaunchRuns
	case gate != nil && gate.Waiting:
		return LaunchHindered
	case gate != nil:
		return LaunchRefused
	case f.launcherUnreachable(launcher):
		return LaunchUnreachable
	}
	return LaunchWaitsForNodes
}

// Warning returns what the agents of a running job see go wrong, nil for nothing. The image of a user may answer in the place of an agent:
// a reason that is not documented counts for nothing.
func (f *Facts) Warning() *diagnose.Cause {
	launcher := f.Launcher()
	if launcher == nil || f.Gate == nil || f.Gate.Launcher != launcher.UID {
		return nil
	}
	for _, warning := range f.Gate.Warnings {
		if entry, known := diagnose.ReasonDocOf(warning.Reason); known {
			return &diagnose.Cause{Reason: warning.Reason, Message: diagnose.StripEscapes(warning.Message), Remedy: entry.Remedy}
		}
	}
	return nil
}

// Launcher returns the pod of the launcher, or nil.
func (f *Facts) Launcher() *corev1.Pod { return observe.LauncherOf(f.Current) }

// isPublishedRunning keeps the word of a launcher that an earlier controller heard, as long as the same container runs. A new
// controller asks again, but it may never get to a launcher, and a gate is passed once and for all.
func isPublishedRunning(earlier []metav1.Condition, launcher *corev1.Pod) bool {
	condition := apimeta.FindStatusCondition(earlier, job.Running)
	return condition != nil && condition.Status == metav1.ConditionTrue && !condition.LastTransitionTime.Time.Before(mainContainerStartOrNever(launcher).Add(-observe.ClocksApart))
}

func (f *Facts) launcherUnreachable(launcher *corev1.Pod) bool {
	return f.Gate != nil && f.Gate.Launcher == launcher.UID && (f.Gate.GaveUp || f.FactAge(observe.FactLauncher, launcher.UID) > agentExpected)
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
func (f *Facts) PodsReady() (ready bool, why *diagnose.Cause) {
	// A pod that was thrown out has ended, too, and is gone in a moment.
	if taken := diagnose.FirstDisruption(f.currentEvidence()); taken != nil && !f.IsStopping() && !f.SuspendWanted() {
		return false, taken
	}
	if observe.CountReadyOnce(f.Current) >= f.Want {
		return true, nil
	}
	if lost := f.PodDisruption(); lost != nil {
		return false, lost
	}
	return false, f.StartProblem()
}
