// Package podlogs is where logs come from on Kubernetes: kubelet's, through the API server, with the rights of whoever asks.
package podlogs

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/logs"
	"lockstep.dev/lockstep/pkg/mpi"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
)

// JobLogs is a TrainJob whose pods are read.
type JobLogs struct {
	Namespace, Name string
	// Reader lists its pods, Core reads their logs.
	Reader client.Reader
	Core   corev1client.PodsGetter
	// Every reads the other containers of the pods, too, and not only the main ones.
	Every bool
}

var _ logs.Cluster = JobLogs{}

// Containers lists the main containers of the pods of the job.
func (j JobLogs) Containers(ctx context.Context) (all []logs.ContainerStatus, over bool, err error) {
	var object trainer.TrainJob
	// The job is looked at before its pods: what ends in between is seen the next time.
	switch err := j.Reader.Get(ctx, client.ObjectKey{Namespace: j.Namespace, Name: j.Name}, &object); {
	case apierrors.IsNotFound(err):
		over = true
	case err != nil:
		return nil, false, markRefused(err)
	default:
		over = mpijob.IsFinished(&object)
	}
	var pods corev1.PodList
	if err := j.Reader.List(ctx, &pods, client.InNamespace(j.Namespace), client.MatchingLabels{mpi.JobSetNameLabel: j.Name}); err != nil {
		return nil, false, markRefused(err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		main := statusOf(pod)
		all = append(all, main)
		for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			if j.Every && c.Name != main.Container {
				all = append(all, StatusOf(pod, c.Name))
			}
		}
	}
	return all, over, nil
}

// statusOf returns how the main container of a pod is; of a pod that has none of our name, the first one.
func statusOf(pod *corev1.Pod) logs.ContainerStatus {
	main := mpijob.MainContainer(&pod.Spec)
	if main == nil {
		return StatusOf(pod, pod.Spec.Containers[0].Name)
	}
	s := StatusOf(pod, main.Name)
	s.HasAgent = mpijob.RunsAgent(main)
	return s
}

// StatusOf returns how a container of a pod is, an init container too.
func StatusOf(pod *corev1.Pod, container string) logs.ContainerStatus {
	index, _ := strconv.Atoi(pod.Labels[mpi.CompletionIndexLabel])
	s := logs.ContainerStatus{LogSource: logs.LogSource{
		Pod: pod.Name, UID: string(pod.UID), Container: container,
		Role: pod.Labels[mpi.ReplicatedJobLabel], Index: index, Machine: pod.Spec.NodeName,
	}}
	s.Ended = pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if c.Name != s.Container {
			continue
		}
		s.Restarts = int(c.RestartCount)
		s.Started = c.State.Running != nil || c.State.Terminated != nil || c.LastTerminationState.Terminated != nil
		s.Ended = s.Ended || c.State.Terminated != nil && isEndedForGood(pod, c.State.Terminated)
	}
	return s
}

func isEndedForGood(pod *corev1.Pod, end *corev1.ContainerStateTerminated) bool {
	switch {
	case pod.DeletionTimestamp != nil, pod.Spec.RestartPolicy == corev1.RestartPolicyNever:
		return true
	case pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure:
		return end.ExitCode == 0
	}
	return false
}

// Open reads a log.
func (j JobLogs) Open(ctx context.Context, source logs.LogSource, request logs.ContainerLogRequest) (io.ReadCloser, error) {
	options := &corev1.PodLogOptions{
		Container: source.Container, Timestamps: true, Follow: request.Follow, Previous: request.Previous, TailLines: request.Tail,
	}
	if !request.Since.IsZero() {
		options.SinceTime = ptr.To(metav1.NewTime(request.Since))
	} else if request.SinceSeconds > 0 {
		options.SinceSeconds = &request.SinceSeconds
	}
	stream, err := j.Core.Pods(j.Namespace).GetLogs(source.Pod, options).Stream(ctx)
	switch {
	case err == nil:
		return stream, nil
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("%w: %w", logs.ErrGone, err)
	case apierrors.IsBadRequest(err):
		return nil, fmt.Errorf("%w: %w", logs.ErrNotStarted, err)
	}
	return nil, markRefused(err)
}

// markRefused marks what another try does not change.
func markRefused(err error) error {
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return fmt.Errorf("%w: %w", logs.ErrRefused, err)
	}
	return err
}
