package job

import (
	"reflect"
	"slices"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// News is how much a change of an object matters to its job. A job of 1,000 pods sees some 5,000 changes on its way to the
// first rank, and decides something new after four of them.
type News int

// The kinds of news.
const (
	// NoNews: nothing changed that a decision reads.
	NoNews News = iota
	// Step: one came a step further. A decision follows when all have, see Stage.
	Step
	// Matters: look at once.
	Matters
)

// NewsOfPod compares a pod with what it was before; either may be nil, for one that came or went.
func NewsOfPod(before, after *corev1.Pod) News {
	switch {
	case after == nil:
		return Matters
	case before == nil && troubled(after):
		return Matters
	case before == nil:
		return Step
	case reflect.DeepEqual(viewOf(before), viewOf(after)):
		return NoNews
	case troubled(before), troubled(after), podReady(before) && !podReady(after):
		return Matters
	case isLauncher(after) && before.Status.Phase != after.Status.Phase:
		// A launcher without an agent is all that its job has to say.
		return Matters
	}
	return Step
}

// view is what decisions read of a pod.
type view struct {
	diagnose.Pod
	phase      corev1.PodPhase
	ip         string
	ready, run bool
}

func viewOf(pod *corev1.Pod) view {
	return view{seenPod(pod), pod.Status.Phase, pod.Status.PodIP, podReady(pod), mainRuns(pod)}
}

// beginning are the reasons of containers that wait for nothing but their turn.
var beginning = map[string]bool{"": true, "ContainerCreating": true, "PodInitializing": true}

// troubled says whether more is to be told of a pod than how far it has come. Gates are not: Kueue's topology-aware scheduling makes
// all pods of a job with one, and whoever looks for missing pods a moment later sees those that stay.
func troubled(pod *corev1.Pod) bool {
	seen := seenPod(pod)
	return terminal(pod) || pod.DeletionTimestamp != nil || seen.Disruption != nil || seen.Unschedulable != "" ||
		slices.ContainsFunc(seen.Containers, func(c diagnose.Container) bool {
			return c.End != nil && !c.Init || c.End != nil && c.End.Code != 0 || c.Waiting != nil && !beginning[c.Waiting.Reason]
		})
}

// Stage is how far a pod, or the whole gang, has come.
type Stage int

// The stages.
const (
	Made Stage = iota
	Placed
	Addressed
	Ready
)

// StageOf returns the stage of a pod; nil is one that is not there.
func StageOf(pod *corev1.Pod) Stage {
	switch {
	case pod == nil || pod.Spec.NodeName == "" && pod.Status.PodIP == "":
		return Made
	case pod.Status.PodIP == "":
		return Placed
	case !podReady(pod):
		return Addressed
	}
	return Ready
}

// GangStage returns the stage that all pods of a JobSet have reached, given how many of its launcher and nodes are in each.
func GangStage(jobSet *jobset.JobSet, pods [Ready + 1]int) Stage {
	total := 0
	for _, count := range pods {
		total += count
	}
	if total < podCount(jobSet) {
		return Made
	}
	stage := Made
	for stage < Ready && pods[stage] == 0 {
		stage++
	}
	return stage
}

// NewsOfJobSet compares a JobSet with what it was before; either may be nil. Counts of its child Jobs are a step.
func NewsOfJobSet(before, after *jobset.JobSet) News {
	switch {
	case before == nil || after == nil || before.Generation != after.Generation || before.UID != after.UID,
		!before.DeletionTimestamp.Equal(after.DeletionTimestamp),
		!apiequality.Semantic.DeepEqual(before.Status.Conditions, after.Status.Conditions),
		!apiequality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences),
		!apiequality.Semantic.DeepEqual(before.Labels, after.Labels), !apiequality.Semantic.DeepEqual(before.Annotations, after.Annotations):
		return Matters
	case !apiequality.Semantic.DeepEqual(before.Status.ReplicatedJobsStatus, after.Status.ReplicatedJobsStatus):
		return Step
	}
	return NoNews
}

// NewsOfTrainJob compares a TrainJob with what it was before. Labels, annotations and counts decide nothing.
func NewsOfTrainJob(before, after *trainer.TrainJob) News {
	if before.UID == after.UID && before.Generation == after.Generation && before.DeletionTimestamp.Equal(after.DeletionTimestamp) &&
		apiequality.Semantic.DeepEqual(before.Status.Conditions, after.Status.Conditions) {
		return NoNews
	}
	return Matters
}

// Settled says whether nothing follows from the conditions of a TrainJob that have just been written: its pass has done
// what there was to do. After an end, and before a restart, the next pass clears up.
func Settled(trainJob *trainer.TrainJob) bool {
	return !Over(trainJob) && !slices.ContainsFunc(trainJob.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == Restarting && c.Status == metav1.ConditionTrue
	})
}

// Done says whether pods and Jobs of a TrainJob that come and go have nothing to tell: it is over, or its JobSet has ended,
// which is decided by looking at them and not by waiting for them.
func Done(trainJob *trainer.TrainJob, jobSet *jobset.JobSet) bool {
	o := Observed{TrainJob: trainJob, JobSet: jobSet}
	return Over(trainJob) || o.Owns() && o.jobSetEnded()
}
