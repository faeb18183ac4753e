package observe

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// ChangeImpact is how much a change of an object matters to its job. A job of 1,000 pods sees some 5,000 changes on its way to the
// first rank, and decides something new after four of them.
type ChangeImpact int

// The kinds of news.
const (
	// NoImpact: nothing changed that a decision reads.
	NoImpact ChangeImpact = iota
	// ImpactStep: one came a step further. A decision follows when all have, see PodStage.
	ImpactStep
	// ImpactNow: look at once.
	ImpactNow
)

// ImpactOfPod compares a pod with what it was before; either may be nil, for one that came or went.
func ImpactOfPod(before, after *corev1.Pod) ChangeImpact {
	switch {
	case after == nil:
		return ImpactNow
	case before == nil && hasTrouble(after):
		return ImpactNow
	case before == nil:
		return ImpactStep
	case reflect.DeepEqual(podViewOf(before), podViewOf(after)):
		return NoImpact
	case hasTrouble(before), hasTrouble(after), isPodReady(before) && !isPodReady(after):
		return ImpactNow
	case isLauncher(after) && before.Status.Phase != after.Status.Phase:
		// A launcher without an agent is all that its job has to say.
		return ImpactNow
	}
	return ImpactStep
}

// podView is what decisions read of a pod.
type podView struct {
	diagnose.Pod
	phase      corev1.PodPhase
	ip         string
	ready, run bool
}

func podViewOf(pod *corev1.Pod) podView {
	return podView{EvidenceOf(pod), pod.Status.Phase, pod.Status.PodIP, isPodReady(pod), mainContainerRuns(pod)}
}

// ordinaryWaits are the reasons of containers that wait for nothing but their turn.
var ordinaryWaits = map[string]bool{"": true, "ContainerCreating": true, "PodInitializing": true}

// hasTrouble reports whether more is to be told of a pod than how far it has come. Gates are not: Kueue's topology-aware scheduling makes
// all pods of a job with one, and whoever looks for missing pods a moment later sees those that stay.
func hasTrouble(pod *corev1.Pod) bool {
	seen := EvidenceOf(pod)
	return IsTerminal(pod) || pod.DeletionTimestamp != nil || seen.Disruption != nil || seen.Unschedulable != "" ||
		slices.ContainsFunc(seen.Containers, func(c diagnose.Container) bool {
			return c.End != nil && !c.Init || c.End != nil && c.End.Code != 0 || c.Waiting != nil && !ordinaryWaits[c.Waiting.Reason]
		})
}

// PodStage is how far a pod, or the whole gang, has come.
type PodStage int

// The stages.
const (
	StageMade PodStage = iota
	StagePlaced
	StageAddressed
	StageReady
)

// StageOf returns the stage of a pod; nil is one that is not there.
func StageOf(pod *corev1.Pod) PodStage {
	switch {
	case pod == nil || pod.Spec.NodeName == "" && pod.Status.PodIP == "":
		return StageMade
	case pod.Status.PodIP == "":
		return StagePlaced
	case !isPodReady(pod):
		return StageAddressed
	}
	return StageReady
}

// GangStage returns the stage that all pods of a JobSet have reached, given how many of its launcher and nodes are in each.
func GangStage(jobSet *jobset.JobSet, pods [StageReady + 1]int) PodStage {
	total := 0
	for _, count := range pods {
		total += count
	}
	if total < job.CountPods(jobSet) {
		return StageMade
	}
	stage := StageMade
	for stage < StageReady && pods[stage] == 0 {
		stage++
	}
	return stage
}

// ImpactOfJobSet compares a JobSet with what it was before; either may be nil. Counts of its child Jobs are a step.
func ImpactOfJobSet(before, after *jobset.JobSet) ChangeImpact {
	switch {
	case before == nil || after == nil || before.Generation != after.Generation || before.UID != after.UID,
		!before.DeletionTimestamp.Equal(after.DeletionTimestamp),
		!apiequality.Semantic.DeepEqual(before.Status.Conditions, after.Status.Conditions),
		!apiequality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences),
		!apiequality.Semantic.DeepEqual(before.Labels, after.Labels), !apiequality.Semantic.DeepEqual(before.Annotations, after.Annotations):
		return ImpactNow
	case !apiequality.Semantic.DeepEqual(before.Status.ReplicatedJobsStatus, after.Status.ReplicatedJobsStatus):
		return ImpactStep
	}
	return NoImpact
}

// ImpactOfTrainJob compares a TrainJob with what it was before. Labels, annotations and counts decide nothing.
func ImpactOfTrainJob(before, after *trainer.TrainJob) ChangeImpact {
	if before.UID == after.UID && before.Generation == after.Generation && before.DeletionTimestamp.Equal(after.DeletionTimestamp) &&
		apiequality.Semantic.DeepEqual(before.Status.Conditions, after.Status.Conditions) {
		return NoImpact
	}
	return ImpactNow
}

// IsSettled reports whether nothing follows from the conditions of a TrainJob that have just been written: its pass has done
// what there was to do. After an end, and before a restart, the next pass clears up.
func IsSettled(trainJob *trainer.TrainJob) bool {
	return !job.IsFinished(trainJob) && !slices.ContainsFunc(trainJob.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == job.Restarting && c.Status == metav1.ConditionTrue
	})
}

// PodsTellNothing reports whether pods and Jobs of a TrainJob that come and go have nothing to tell: it is over, or its JobSet has ended,
// which is decided by looking at them and not by waiting for them.
func PodsTellNothing(trainJob *trainer.TrainJob, jobSet *jobset.JobSet) bool {
	o := Observed{TrainJob: trainJob, JobSet: jobSet}
	return job.IsFinished(trainJob) || o.OwnsJobSet() && o.JobSetEnded()
}
