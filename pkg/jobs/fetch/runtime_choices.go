package fetch

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/submit"
	"lockstep.dev/lockstep/pkg/mpi"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
)

// defaultLabel is on the runtime that tools offer first (pkg/compile/lower, training_runtime.go).
const defaultLabel = "lockstep.dev/default"

// PlatformQueue is the LocalQueue that the compiler gives each tenant of a cluster that queues (pkg/compile/plan, LocalQueue).
const PlatformQueue = "lockstep"

// RuntimeChoices returns the runtimes that a job in a namespace may name, as far as they may be listed; where the namespace can be read, without
// those that its tenant may not use. It fails where neither kind may be listed.
func RuntimeChoices(ctx context.Context, c client.Reader, namespace string) ([]submit.Runtime, error) {
	var all []submit.Runtime
	var failed error
	allowed := allowedRuntimes(readNamespace(ctx, c, namespace))
	for _, kind := range []string{submit.TrainingRuntime, submit.ClusterTrainingRuntime} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(trainer.GroupVersion.WithKind(kind + "List"))
		var options []client.ListOption
		if kind == submit.TrainingRuntime {
			options = append(options, client.InNamespace(namespace))
		}
		if err := c.List(ctx, list, options...); err != nil {
			failed = err
			continue
		}
		for i := range list.Items {
			labels, name := list.Items[i].Labels, list.Items[i].Name
			if kind == submit.ClusterTrainingRuntime && allowed != nil && !slices.Contains(allowed, name) {
				continue
			}
			all = append(all, submit.Runtime{Name: name, Kind: kind, Default: labels[defaultLabel] == "true", Deprecated: labels[mpi.SupportLabel] == mpi.Deprecated})
		}
	}
	if len(all) == 0 && failed != nil {
		return nil, failed
	}
	return all, nil
}

// ListQueueNames returns the names of the LocalQueues of a namespace, empty if the cluster does not queue, nil if the user
// may not list them.
func ListQueueNames(ctx context.Context, c client.Reader, namespace string) ([]string, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(LocalQueueKind.GroupVersion().WithKind(LocalQueueKind.Kind + "List"))
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		switch {
		case apierrors.IsForbidden(err):
			return nil, nil
		case apierrors.IsNotFound(err), apimeta.IsNoMatchError(err):
			return []string{}, nil
		}
		return nil, err
	}
	names := []string{}
	for i := range list.Items {
		names = append(names, list.Items[i].GetName())
	}
	slices.Sort(names)
	return names, nil
}

// RuntimeOf reads the runtime that a job names.
func RuntimeOf(ctx context.Context, c client.Reader, job *trainer.TrainJob) (*mpijob.Runtime, error) {
	ref := job.Spec.RuntimeRef
	if ref.Kind != nil && *ref.Kind == submit.TrainingRuntime {
		var runtime trainer.TrainingRuntime
		if err := c.Get(ctx, client.ObjectKey{Namespace: job.Namespace, Name: ref.Name}, &runtime); err != nil {
			return nil, err
		}
		return &mpijob.Runtime{Labels: runtime.Labels, Annotations: runtime.Annotations, Spec: runtime.Spec}, nil
	}
	var runtime trainer.ClusterTrainingRuntime
	if err := c.Get(ctx, client.ObjectKey{Name: ref.Name}, &runtime); err != nil {
		return nil, err
	}
	return &mpijob.Runtime{Labels: runtime.Labels, Annotations: runtime.Annotations, Spec: runtime.Spec}, nil
}
