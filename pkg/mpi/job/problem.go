package job

import (
	"fmt"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// problem is what keeps a job from starting, as users read it.
type problem struct {
	reason  mpi.Reason
	message string
}

func asProblem(cause *diagnose.Cause) *problem {
	if cause == nil {
		return nil
	}
	return &problem{cause.Reason, cause.Text()}
}

// OfTrainer says whether a TrainJob names a runtime of the API group of Kubeflow Trainer. Trainer's own controller and webhook refuse
// all others, the empty group too; a reference without a group gets it by default.
func OfTrainer(ref trainer.RuntimeRef) bool {
	return ptr.Deref(ref.APIGroup, trainer.GroupVersion.Group) == trainer.GroupVersion.Group
}

// noRuntime says that there is no such runtime. Group and kind decide which object is meant, so misspelt ones are said first.
func noRuntime(ref trainer.RuntimeRef) string {
	if !OfTrainer(ref) {
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

// problem returns what keeps the pods of a started job from running, as far as it shows.
func (o Observed) problem() *diagnose.Cause {
	return diagnose.Problem(diagnose.Start{
		Pods: o.seen(o.current()), Want: podCount(o.JobSet),
		Refused: refusedIn(o.Warnings, o.JobSet, o.Jobs), Warnings: warningsOf(o.Warnings),
	})
}

func (o Observed) problemOf(pod *corev1.Pod) *problem {
	return asProblem(diagnose.Problem(diagnose.Start{Pods: o.seen([]*corev1.Pod{pod}), Want: 1}))
}

// refusal returns why the API server refuses pods or Jobs of this JobSet, taken from the events of the Job and JobSet
// controllers; nothing else records it.
func refusal(warnings []corev1.Event, jobSet metav1.Object, jobs []metav1.PartialObjectMetadata) *problem {
	words := refusedIn(warnings, jobSet, jobs)
	return asProblem(diagnose.Problem(diagnose.Start{Want: 1, Refused: words}))
}

func refusedIn(warnings []corev1.Event, jobSet metav1.Object, jobs []metav1.PartialObjectMetadata) []string {
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
