package observe

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// Fetch returns the Job of a name that fetches data, with whose it is, or nil.
func (o Observed) Fetch(name string) (*batchv1.Job, job.Claim) {
	i := slices.IndexFunc(o.Fetches, func(j batchv1.Job) bool { return j.Name == name })
	if i < 0 {
		return nil, job.Foreign
	}
	for _, owner := range o.Fetches[i].OwnerReferences {
		switch {
		case owner.UID == o.TrainJob.UID:
			return &o.Fetches[i], job.Own
		case owner.Kind == trainer.TrainJobKind && owner.Name == o.TrainJob.Name:
			return &o.Fetches[i], job.Stale
		}
	}
	return &o.Fetches[i], job.Foreign
}

// UnfinishedFetches are the Jobs of this TrainJob that still fetch.
func (o Observed) UnfinishedFetches() []Deletion {
	var unfinished []Deletion
	for i := range o.Fetches {
		made, claim := o.Fetch(o.Fetches[i].Name)
		ended := FetchCondition(made, batchv1.JobComplete) != nil || FetchCondition(made, batchv1.JobFailed) != nil
		if claim == job.Own && !ended {
			unfinished = append(unfinished, DeletionOf(KindOfFetch(), made))
		}
	}
	return unfinished
}

// KindOfFetch is the kind of what fetches data.
func KindOfFetch() metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job"}
}

// FetchCondition returns a condition of a Job that is true, or nil.
func FetchCondition(of *batchv1.Job, kind batchv1.JobConditionType) *batchv1.JobCondition {
	i := slices.IndexFunc(of.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == kind && c.Status == corev1.ConditionTrue
	})
	if i < 0 {
		return nil
	}
	return &of.Status.Conditions[i]
}

// fetchedAt is when the data of a job was there, or zero.
func (o Observed) fetchedAt() time.Time {
	var last time.Time
	if o.TrainJob.Spec.Initializer != nil && o.OwnsJobSet() {
		return o.JobSet.CreationTimestamp.Time
	}
	for i := range o.Fetches {
		if c := FetchCondition(&o.Fetches[i], batchv1.JobComplete); c != nil && c.LastTransitionTime.After(last) {
			last = c.LastTransitionTime.Time
		}
	}
	return last
}

// FetchPods returns the pods of a Job that fetches, the newest last.
func (o Observed) FetchPods(of *batchv1.Job) []*corev1.Pod {
	var pods []*corev1.Pod
	for i := range o.Pods {
		if metav1.IsControlledBy(&o.Pods[i], of) {
			pods = append(pods, &o.Pods[i])
		}
	}
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	return pods
}

// IsFetchPod reports whether a pod fetches data for this TrainJob.
func (o Observed) IsFetchPod(pod *corev1.Pod) bool {
	return slices.ContainsFunc(o.Fetches, func(j batchv1.Job) bool { return metav1.IsControlledBy(pod, &j) })
}

// FetchFailure explains why a pod did not fetch. It is nil if the pod has not failed.
func FetchFailure(pod *corev1.Pod) *diagnose.Cause {
	for _, c := range EvidenceOf(pod).Containers {
		if c.End == nil || c.End.Code == 0 {
			continue
		}
		var report mpi.FetchReport
		if json.Unmarshal([]byte(c.End.Message), &report) != nil || !diagnose.IsDataReason(report.Reason) {
			report.Reason = diagnose.DataFetchFailed
			report.Message = fmt.Sprintf("pod %s ended with exit code %d (%s): `kubectl logs %s` shows its output",
				pod.Name, c.End.Code, c.End.Reason, pod.Name)
		}
		doc, _ := diagnose.ReasonDocOf(report.Reason)
		return &diagnose.Cause{
			Reason: report.Reason, Message: report.Message, Remedy: doc.Remedy, Pod: pod.Name, ExitCode: c.End.Code,
		}
	}
	return nil
}
