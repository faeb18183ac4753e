package job

import (
	"fmt"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// Status returns the status of a TrainJob after a decision was carried out. Applied is the error of doing so, nil when
// everything was done; without it a job does not end, so that what belongs to the end is tried again.
func Status(o Observed, d Decision, applied error) trainer.TrainJobStatus {
	status := *o.TrainJob.Status.DeepCopy()
	if o.Owns() && (!d.Over || o.jobSetEnded()) {
		status.JobsStatus = jobsStatus(o.JobSet)
	}
	switch {
	case d.end != nil && d.end.stop && applied == nil, d.Over && len(d.Delete) > 0:
		status.JobsStatus = stopped(status.JobsStatus)
	case d.end != nil && d.end.early && applied == nil:
		status.JobsStatus = launched(status.JobsStatus, d.end.succeeded)
	}
	undecided := o.Owns() && o.Ended() && !o.beingRecreated() && d.end == nil && d.restart == nil
	if !d.Over && !undecided {
		status.Conditions = d.conditions(o, applied)
	}
	return status
}

func (d Decision) conditions(o Observed, applied error) []metav1.Condition {
	c := &conditions{now: o.Now, generation: o.TrainJob.Generation, earlier: o.TrainJob.Status.Conditions}
	d.creation(c, o, applied)
	c.suspended(ptr.Deref(o.TrainJob.Spec.Suspend, false), o.Eviction, o.Wait)
	d.restarting(c, o)
	switch {
	case d.end != nil && applied != nil:
		// The end is looked for again, and what was noted on the way to it is needed then.
		c.keep(PodsReady, Running)
	case o.Owns(), o.JobSetGone(), len(d.Create) > 0 && applied == nil:
		d.progress(c, o)
	case d.held:
		c.podsNotReady(d.waiting.reason, d.waiting.message)
	}
	if d.end != nil && applied == nil {
		c.ended(*d.end)
	}
	return c.ordered()
}

func (d Decision) creation(c *conditions, o Observed, applied error) {
	switch {
	case o.Owns(), o.JobSetGone():
		c.created(ReasonJobSetCreated, allExist)
	case applied != nil:
		c.notCreated(ReasonCreationFailed, applied.Error()+triedAgain(applied))
	case d.waiting != nil:
		c.notCreated(d.waiting.reason, d.waiting.message)
	case d.end != nil:
		c.notCreated(d.end.reason, d.end.message)
	default:
		c.created(ReasonJobSetCreated, allExist)
	}
}

// triedAgain says what becomes of a job of which an object is refused that may be allowed later: by a quota that counts objects, by a
// policy. One that has just changed, or an API server that does not answer, is tried again without a word.
func triedAgain(refused error) string {
	if !apierrors.IsForbidden(refused) {
		return ""
	}
	return ". The job waits: this is tried again every few seconds, and the job starts by itself once it is allowed"
}

// progress tells how far a created job has come.
func (d Decision) progress(c *conditions, o Observed) {
	switch {
	case d.restart != nil, o.beingRecreated() && !o.suspendWanted():
		c.podsNotReady(ReasonRestarting, "the job is being started again")
		c.notRunning(ReasonRestarting, "the job is being started again")
	case d.end != nil:
		c.podsNotReady(ReasonFinished, "the job is over")
		c.notRunning(ReasonFinished, "the job is over")
	case ptr.Deref(o.TrainJob.Spec.Suspend, false):
		c.podsNotReady(ReasonSuspended, isSuspended)
		c.notRunning(ReasonSuspended, isSuspended)
	case d.held:
		c.podsNotReady(d.waiting.reason, d.waiting.message)
		c.notRunning(ReasonSuspended, stillSuspended)
	case !o.Owns():
		c.podsNotReady(ReasonPodsPending, pending)
		c.notRunning(ReasonWaitingForPods, waitingForPods)
	default:
		o.pods(c)
		o.run(c)
	}
}

const (
	allExist       = "all objects of the job exist"
	isSuspended    = "the job is suspended"
	pending        = "not all pods of the job are ready yet"
	stillSuspended = "the JobSet stays suspended until the job may have all its pods"
	waitingForPods = "the launcher cannot start before all pods of the job run"
)

// pods tells whether all pods are ready, and what keeps them from it.
func (o Observed) pods(c *conditions) {
	pods, want := o.current(), podCount(o.JobSet)
	ready := 0
	for _, pod := range pods {
		if readyOnce(pod) {
			ready++
		}
	}
	// A pod that was thrown out has ended, too, and is gone in a moment.
	if taken := diagnose.Taken(o.seen(pods)); taken != nil && !o.stopping() && !o.suspendWanted() {
		c.podsNotReady(taken.Reason, taken.Text())
		return
	}
	if ready >= want {
		c.podsReady(fmt.Sprintf("all %d pods are ready", want))
		return
	}
	switch lost, why := o.lost(), o.problem(); {
	case lost != nil:
		c.podsNotReady(lost.Reason, lost.Text())
	case why != nil:
		c.podsNotReady(why.Reason, diagnose.Keep(shown(c.earlier, PodsReady), *why))
	default:
		c.podsNotReady(ReasonPodsPending, pending)
	}
}

// shown returns the message of a condition, or nothing.
func shown(conditions []metav1.Condition, kind string) string {
	if c := apimeta.FindStatusCondition(conditions, kind); c != nil {
		return c.Message
	}
	return ""
}

// agentExpected is how long after the start of the launcher its agent may be out of reach without a word about it.
const agentExpected = 10 * time.Second

// run believes the launcher's agent and nobody else: a launcher that runs may still wait for its nodes.
func (o Observed) run(c *conditions) {
	launcher := launcherOf(o.current())
	switch {
	case launcher == nil || launcher.Status.Phase == corev1.PodPending:
		c.notRunning(ReasonWaitingForPods, waitingForPods)
	case !withAgent(o.JobSet) && o.Owns() && o.JobSet.Labels[mpi.TrainJobLabel] != "":
		c.running(launcherRuns)
	case o.Gate != nil && o.Gate.Launcher == launcher.UID && o.Gate.Result != nil && !o.Gate.Result.Waiting:
		o.gate(c)
	case saidToRun(c.earlier, launcher):
		c.running(running)
	case o.Gate != nil && o.Gate.Launcher == launcher.UID && o.Gate.Result != nil:
		o.gate(c)
	case o.outOfReach(launcher):
		c.notRunning(ReasonLauncherUnreachable, fmt.Sprintf("the controller cannot reach the agent of launcher pod %s on port %d: %s", launcher.Name, mpi.AgentPort, o.Gate.Error))
	default:
		c.notRunning(ReasonWaitingForNodes, "the launcher waits until all nodes answer")
	}
}

const (
	running = "all nodes answered and the command runs"
	// launcherRuns is all that can be said of a runtime without the agent.
	launcherRuns = "the launcher runs; its runtime has no agent that could say whether the nodes answer"
)

// clocksApart is how far the clock of a machine may be from ours for its times to be compared.
const clocksApart = time.Minute

func (o Observed) gate(c *conditions) {
	if o.Gate.Result.Passed {
		c.running(running)
		return
	}
	why := diagnose.Gate(*o.Gate.Result)
	if o.Gate.Result.Waiting {
		c.notRunning(why.Reason, "the launcher waits for its nodes: "+why.Text())
		return
	}
	c.notRunning(why.Reason, why.Text())
}

// saidToRun keeps the word of a launcher that an earlier controller heard, as long as the same container runs. A new
// controller asks again, but it may never get to a launcher, and a gate is passed once and for all.
func saidToRun(earlier []metav1.Condition, launcher *corev1.Pod) bool {
	condition := apimeta.FindStatusCondition(earlier, Running)
	return condition != nil && condition.Status == metav1.ConditionTrue && !condition.LastTransitionTime.Time.Before(startOf(launcher).Add(-clocksApart))
}

func (o Observed) outOfReach(launcher *corev1.Pod) bool {
	return o.Gate != nil && o.Gate.Launcher == launcher.UID && (o.Gate.GaveUp || o.age(factLauncher, launcher.UID) > agentExpected)
}

// startOf returns when the main container of a pod started, or the far future while it has not.
func startOf(pod *corev1.Pod) time.Time {
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name == mpi.Container && status.State.Running != nil {
			return status.State.Running.StartedAt.Time
		}
	}
	return time.Unix(1<<40, 0)
}

func podReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// jobsStatus counts child Jobs as upstream does, in the order of the JobSet's spec: JobSet itself writes them in the
// order of a Go map.
func jobsStatus(jobSet *jobset.JobSet) []trainer.JobStatus {
	var statuses []trainer.JobStatus
	for _, rj := range jobSet.Spec.ReplicatedJobs {
		for _, s := range jobSet.Status.ReplicatedJobsStatus {
			if s.Name == rj.Name {
				statuses = append(statuses, trainer.JobStatus{
					Name: s.Name, Ready: ptr.To(s.Ready), Succeeded: ptr.To(s.Succeeded), Failed: ptr.To(s.Failed),
					Active: ptr.To(s.Active), Suspended: ptr.To(s.Suspended),
				})
			}
		}
	}
	return statuses
}
