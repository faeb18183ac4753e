package phase

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
)

// runtimeNotFoundText says that there is no such runtime. Group and kind decide which object is meant, so misspelt ones are said first.
func runtimeNotFoundText(ref trainer.RuntimeRef) string {
	if !job.NamesTrainerRuntime(ref) {
		return fmt.Sprintf("spec.runtimeRef.apiGroup is `%s`, which has no runtimes: allowed is %s, which is the default; create the TrainJob again without it",
			*ref.APIGroup, trainer.GroupVersion.Group)
	}
	switch kind := ptr.Deref(ref.Kind, trainer.ClusterTrainingRuntimeKind); kind {
	case trainer.ClusterTrainingRuntimeKind:
		return fmt.Sprintf("there is no %s `%s` in this cluster: the job starts once it exists", kind, ref.Name)
	case trainer.TrainingRuntimeKind:
		return fmt.Sprintf("there is no %s `%s` in the namespace of the TrainJob: the job starts once it exists", kind, ref.Name)
	default:
		return fmt.Sprintf("spec.runtimeRef.kind is `%s`, which is no kind of runtime: allowed are %s and %s; create the TrainJob again with one of them",
			kind, trainer.ClusterTrainingRuntimeKind, trainer.TrainingRuntimeKind)
	}
}

// Problem returns what keeps the pods of a started job from running, as far as it shows.
func (s Start) Problem() *diagnose.Cause {
	return diagnose.StartProblem(diagnose.StartState{
		Pods: s.currentEvidence(), Want: s.Want,
		Refused: refusalMessages(s.Warnings, s.JobSet, s.Jobs), Warnings: warningsOf(s.Warnings),
	})
}

func (s Start) problemOf(pod *corev1.Pod) *diagnose.Cause {
	return diagnose.StartProblem(diagnose.StartState{Pods: s.evidenceOf([]*corev1.Pod{pod}), Want: 1})
}

// podRefusalCause returns why the API server refuses pods or Jobs of this JobSet, taken from the events of the Job and JobSet
// controllers; nothing else records it.
func podRefusalCause(warnings []corev1.Event, jobSet metav1.Object, jobs []metav1.PartialObjectMetadata) *diagnose.Cause {
	return diagnose.StartProblem(diagnose.StartState{Want: 1, Refused: refusalMessages(warnings, jobSet, jobs)})
}

func refusalMessages(warnings []corev1.Event, jobSet metav1.Object, jobs []metav1.PartialObjectMetadata) []string {
	about := map[string]bool{string(jobSet.GetUID()): true}
	for _, job := range jobs {
		about[string(job.UID)] = true
	}
	var words []string
	for _, event := range warnings {
		if about[string(event.InvolvedObject.UID)] && (event.Reason == "FailedCreate" || event.Reason == "JobCreationFailed") {
			words = append(words, event.Message)
		}
	}
	return words
}

func warningsOf(events []corev1.Event) []diagnose.Warning {
	var warnings []diagnose.Warning
	for _, event := range events {
		if event.InvolvedObject.Kind == "Pod" {
			warnings = append(warnings, diagnose.Warning{Pod: event.InvolvedObject.Name, Reason: event.Reason, Message: event.Message})
		}
	}
	return warnings
}

// AreNodesUp reports whether all nodes are ready.
func (s Start) AreNodesUp() bool {
	_, up := s.FactSince(observe.FactUp, s.JobSet.UID)
	return up
}

func (s Start) hasPodWithoutAddress() bool {
	return slices.ContainsFunc(s.Current, func(pod *corev1.Pod) bool { return observe.StageOf(pod) == observe.StagePlaced })
}
