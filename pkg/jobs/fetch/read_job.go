package fetch

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/apierror"
	"lockstep.dev/lockstep/pkg/jobs/view"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
)

// ReadJob reads what package view judges of one job: the TrainJob, its runtime, its JobSet, its pods, and the Workloads of its queue while it waits
// there. Only the TrainJob must be there and readable.
func ReadJob(ctx context.Context, c client.Reader, key client.ObjectKey) (view.JobObjects, error) {
	trainJob := &trainer.TrainJob{}
	if err := c.Get(ctx, key, trainJob); err != nil {
		return view.JobObjects{}, fmt.Errorf("read TrainJob `%s`: %w", key.Name, err)
	}
	o := view.JobObjects{Now: time.Now(), TrainJob: trainJob}
	return o, addDependents(ctx, c, &o)
}

// addDependents reads what belongs to a TrainJob.
func addDependents(ctx context.Context, c client.Reader, o *view.JobObjects) error {
	var err error
	if o.Runtime, err = ReadRuntime(ctx, c, o.TrainJob); withholdOrFail(o, "runtime", &err) != nil {
		return err
	}
	set := &jobset.JobSet{}
	err = c.Get(ctx, client.ObjectKeyFromObject(o.TrainJob), set)
	if err == nil && job.ClaimOf(o.TrainJob, set) == job.Own {
		o.JobSet = set
	}
	if withholdOrFail(o, "jobsets", &err) != nil {
		return err
	}
	var pods corev1.PodList
	err = c.List(ctx, &pods, client.InNamespace(o.TrainJob.Namespace), client.MatchingLabels{mpi.JobSetNameLabel: o.TrainJob.Name})
	o.Pods, o.PodsRead = pods.Items, err == nil
	if withholdOrFail(o, "pods", &err) != nil {
		return err
	}
	if o.TrainJob.Labels[kueue.QueueLabel] == "" || !ptr.Deref(o.TrainJob.Spec.Suspend, false) {
		return nil
	}
	o.Workloads, err = ListWorkloads(ctx, c, o.TrainJob.Namespace)
	return withholdOrFail(o, "workloads", &err)
}

// withholdOrFail notes what a reader may not see, and what the cluster does not have, and leaves all other errors. What is not there is no error.
func withholdOrFail(o *view.JobObjects, what string, err *error) error {
	if *err == nil {
		return nil
	}
	switch e := apierror.Explain(*err); e.Kind {
	case apierror.NotFound:
		*err = nil
	case apierror.Forbidden, apierror.NoKind:
		o.Withheld = append(o.Withheld, view.Withheld{What: what, Why: e.Message})
		*err = nil
	}
	return *err
}

// ReadRuntime reads the runtime that a TrainJob names; nil where there is none.
func ReadRuntime(ctx context.Context, c client.Reader, trainJob *trainer.TrainJob) (*job.Runtime, error) {
	ref := trainJob.Spec.RuntimeRef
	if !job.NamesTrainerRuntime(ref) {
		return nil, nil
	}
	if ptr.Deref(ref.Kind, trainer.ClusterTrainingRuntimeKind) == trainer.TrainingRuntimeKind {
		found := &trainer.TrainingRuntime{}
		err := c.Get(ctx, client.ObjectKey{Namespace: trainJob.Namespace, Name: ref.Name}, found)
		if err != nil {
			return nil, client.IgnoreNotFound(err)
		}
		return &job.Runtime{Labels: found.Labels, Annotations: found.Annotations, Spec: found.Spec}, nil
	}
	found := &trainer.ClusterTrainingRuntime{}
	if err := c.Get(ctx, client.ObjectKey{Name: ref.Name}, found); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return &job.Runtime{Labels: found.Labels, Annotations: found.Annotations, Spec: found.Spec}, nil
}

// ListWorkloads reads Kueue's Workloads of a namespace. A cluster without Kueue has none.
func ListWorkloads(ctx context.Context, c client.Reader, namespace string) ([]kueue.Workload, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(WorkloadKind.GroupVersion().WithKind("WorkloadList"))
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		if apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err) {
			return nil, nil
		}
		return nil, err
	}
	var workloads []kueue.Workload
	for _, item := range list.Items {
		if w, read := kueue.WorkloadOf(item); read {
			workloads = append(workloads, w)
		}
	}
	return workloads, nil
}
