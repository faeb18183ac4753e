package watch

import (
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi/reconciler/loop"
)

// CacheOptions say what the manager may keep in memory: of Jobs, JobSets and pods only those of TrainJobs, and of pods
// only what a decision reads. Secrets and ConfigMaps are never cached, and of the network policies of TrainJobs an
// executor keeps metadata, which tell it that one is gone.
func CacheOptions(mode loop.Mode) (cache.Options, error) {
	ofTrainJob, err := labels.NewRequirement(mode.JobLabel(), selection.Exists, nil)
	if err != nil {
		return cache.Options{}, fmt.Errorf("build selector: %w", err)
	}
	selector := labels.NewSelector().Add(*ofTrainJob)
	options := cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		NewInformer:      newInformer,
		ByObject: map[client.Object]cache.ByObject{
			&batchv1.Job{}: {Label: selector},
			&corev1.Pod{}:  {Label: selector, Transform: stripPod},
		},
	}
	if mode == loop.Executor {
		options.ByObject[&jobset.JobSet{}] = cache.ByObject{Label: selector}
		options.ByObject[&networkingv1.NetworkPolicy{}] = cache.ByObject{Label: selector}
	}
	return options, nil
}

// stripPod keeps identity, placement and what holds it back, what restarts, its grace, the devices that containers ask
// for, and status.
func stripPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	pod.ManagedFields = nil
	pod.Annotations = nil
	pod.Spec = corev1.PodSpec{
		NodeName: pod.Spec.NodeName, SchedulingGates: pod.Spec.SchedulingGates, RestartPolicy: pod.Spec.RestartPolicy,
		TerminationGracePeriodSeconds: pod.Spec.TerminationGracePeriodSeconds, Containers: deviceRequestsOnly(pod.Spec.Containers),
	}
	return pod, nil
}

// deviceRequestsOnly keeps of containers only what they ask for beyond CPU, memory and disk: a diagnosis counts
// accelerators.
func deviceRequestsOnly(containers []corev1.Container) []corev1.Container {
	var kept []corev1.Container
	for _, c := range containers {
		devices := corev1.ResourceList{}
		for name, quantity := range c.Resources.Limits {
			if strings.Contains(string(name), "/") {
				devices[name] = quantity
			}
		}
		if len(devices) > 0 {
			kept = append(kept, corev1.Container{Name: c.Name, Resources: corev1.ResourceRequirements{Limits: devices}})
		}
	}
	return kept
}

// UncachedKinds are the kinds that the client must always read from the API server, so that a mistake cannot start to
// list and watch the Secrets of a cluster.
func UncachedKinds() []client.Object {
	return []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}, &networkingv1.NetworkPolicy{}, &corev1.Event{}}
}
