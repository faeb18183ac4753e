package phase

import (
	"fmt"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

func (f *Facts) findCause() *diagnose.Cause {
	cause := f.orOvertime(diagnose.FirstCause(f.allEvidence(), append(f.LostPod(), f.evictions()...)))
	why := f.PublishedCondition(job.PodsReady)
	if cause == nil || why == nil || why.Status != metav1.ConditionFalse {
		return cause
	}
	return cause.WithStartProblem(mpi.Reason(why.Reason), why.Message)
}

// DisruptedPod returns the pod that is, or was, taken away from a running job. The condition PodsReady keeps it: until the JobSet
// has failed because of it the pod may be gone, and with it all evidence.
func (f *Facts) DisruptedPod() *diagnose.Cause {
	if f.SuspendWanted() || f.Stopping() {
		return nil
	}
	if noted := f.LostPod(); len(noted) > 0 {
		return &noted[0]
	}
	return f.orOvertime(diagnose.FirstDisruption(f.allEvidence()))
}

// evictions returns what kubelet's events say about pods of this JobSet that it threw out. The pods may be gone.
func (f *Facts) evictions() []diagnose.Cause {
	var causes []diagnose.Cause
	for _, event := range f.Warnings {
		pod, at := event.InvolvedObject, event.LastTimestamp
		if at.IsZero() {
			at = event.FirstTimestamp
		}
		if event.Reason == "Evicted" && pod.Kind == "Pod" && f.hasPod(pod.Name) && !at.Time.Before(f.JobSet.CreationTimestamp.Time) {
			causes = append(causes, diagnose.EvictedByEvent(pod.Name, event.Message, at.Time))
		}
	}
	return causes
}

// hasPod reports whether a pod of this name can be one of the job.
func (f *Facts) hasPod(pod string) bool {
	rest, found := strings.CutPrefix(pod, f.TrainJob.Name+"-")
	return found && (strings.HasPrefix(rest, mpi.NodeJob+"-0-") || strings.HasPrefix(rest, mpi.LauncherJob+"-0-"))
}

// runtimeNotFound says that there is no such runtime. Group and kind decide which object is meant, so misspelt ones are said first.
func runtimeNotFound(ref trainer.RuntimeRef) string {
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
func (f *Facts) Problem() *diagnose.Cause {
	return diagnose.StartProblem(diagnose.StartState{
		Pods: f.currentEvidence(), Want: f.Want,
		Refused: refusedIn(f.Warnings, f.JobSet, f.Jobs), Warnings: warningsOf(f.Warnings),
	})
}

func (f *Facts) problemOf(pod *corev1.Pod) *diagnose.Cause {
	return diagnose.StartProblem(diagnose.StartState{Pods: f.evidenceOf([]*corev1.Pod{pod}), Want: 1})
}

// podRefusal returns why the API server refuses pods or Jobs of this JobSet, taken from the events of the Job and JobSet
// controllers; nothing else records it.
func podRefusal(warnings []corev1.Event, jobSet metav1.Object, jobs []metav1.PartialObjectMetadata) *diagnose.Cause {
	return diagnose.StartProblem(diagnose.StartState{Want: 1, Refused: refusedIn(warnings, jobSet, jobs)})
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
