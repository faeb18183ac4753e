package history

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/history/store"
	"lockstep.dev/lockstep/pkg/jobs/bundle"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/jobs/kept"
	"lockstep.dev/lockstep/pkg/jobs/view"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
)

// stripPod leaves of a pod its identity, its machine, the names of its containers and its status.
func stripPod(object any) (any, error) {
	if pod, is := object.(*corev1.Pod); is {
		pod.ManagedFields, pod.Annotations = nil, nil
		pod.Spec = corev1.PodSpec{
			NodeName: pod.Spec.NodeName, RestartPolicy: pod.Spec.RestartPolicy,
			InitContainers: namesOnly(pod.Spec.InitContainers), Containers: namesOnly(pod.Spec.Containers),
		}
	}
	return object, nil
}

func namesOnly(containers []corev1.Container) (names []corev1.Container) {
	for _, c := range containers {
		names = append(names, corev1.Container{Name: c.Name, Image: c.Image})
	}
	return names
}

// keepJob renews what is kept of a job, if it has changed. Pods that are gone stay as they were.
func (f *follower) keepJob(ctx context.Context, job *trainer.TrainJob, pods []corev1.Pod) error {
	old, err := f.store.Get(job.UID)
	switch {
	case errors.Is(err, store.ErrNotKept) && mpijob.IsFinished(job) && job.CreationTimestamp.Time.Before(f.began):
		// It was removed, or ended while this process was away.
		return err
	case errors.Is(err, store.ErrNotKept):
		old = &kept.Job{Objects: &kept.Objects{}}
	case err != nil:
		return err
	}
	for _, gone := range old.Objects.Pods {
		if !slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return pod.UID == gone.UID }) {
			pods = append(pods, gone)
		}
	}
	made := kept.Job{
		TypeMeta: metav1.TypeMeta{APIVersion: kept.GroupVersion.String(), Kind: kept.Kind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace:         job.Namespace,
			Name:              kept.NameOf(job),
			UID:               job.UID,
			Labels:            job.Labels,
			CreationTimestamp: job.CreationTimestamp,
		},
		TrainJob: job.Name, User: job.Annotations[view.UserAnnotation],
		Objects: &kept.Objects{TrainJob: job, Pods: pods},
	}
	if end := mpijob.EndCondition(job.Status); end != nil {
		made.State, made.Ended = end.Type, &end.LastTransitionTime
	}
	return f.keepObjects(ctx, made, old.Objects)
}

// keepObjects keeps a job with its events, and without what looks like a secret.
func (f *follower) keepObjects(ctx context.Context, job kept.Job, before *kept.Objects) error {
	events, err := fetch.ReadEvents(ctx, f.live, client.ObjectKey{Namespace: job.Namespace, Name: job.TrainJob})
	if err != nil {
		return err
	}
	// Events of an earlier job of the name are not its own, and the cluster forgets events after an hour.
	events = slices.DeleteFunc(events, func(e fetch.JobEvent) bool { return e.At.Before(job.CreationTimestamp.Time) })
	if job.Objects.Events = events; len(events) == 0 {
		job.Objects.Events = before.Events
	}
	if job.Objects, err = cleanObjects(job.Objects); err != nil {
		return err
	}
	now, errNow := json.Marshal(job.Objects)
	then, errThen := json.Marshal(before)
	if err := errors.Join(errNow, errThen); err != nil || job.Ended == nil && bytes.Equal(now, then) {
		return err
	}
	return f.store.Keep(job)
}

// cleanObjects takes out what looks like a secret. The controller has cleaned the record itself, which is one long
// line.
func cleanObjects(objects *kept.Objects) (*kept.Objects, error) {
	copied := *objects
	copied.TrainJob = objects.TrainJob.DeepCopy()
	copied.TrainJob.ManagedFields = nil
	delete(copied.TrainJob.Annotations, corev1.LastAppliedConfigAnnotation)
	delete(copied.TrainJob.Annotations, jobv1.Annotation)
	text, err := json.Marshal(copied)
	if err != nil {
		return nil, err
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	if text, err = json.Marshal(bundle.CleanTree(tree)); err != nil {
		return nil, err
	}
	cleaned := &kept.Objects{}
	err = json.Unmarshal(text, cleaned)
	if record, found := objects.TrainJob.Annotations[jobv1.Annotation]; found && err == nil {
		metav1.SetMetaDataAnnotation(&cleaned.TrainJob.ObjectMeta, jobv1.Annotation, record)
	}
	return cleaned, err
}

// endOthers ends the kept jobs of a name that were deleted: all but the one with this UID.
func (f *follower) endOthers(ctx context.Context, key client.ObjectKey, uid types.UID) error {
	for _, gone := range f.store.List(func(j *kept.Job) bool {
		return j.Namespace == key.Namespace && j.TrainJob == key.Name && j.UID != uid && j.Ended == nil
	}) {
		whole, err := f.store.Get(gone.UID)
		if err != nil {
			return err
		}
		whole.Ended = ptr.To(metav1.Now())
		if err := f.keepObjects(ctx, *whole, whole.Objects); err != nil {
			return err
		}
	}
	return nil
}
