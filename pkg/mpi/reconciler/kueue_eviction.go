package reconciler

import (
	"context"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
)

// workloadKind is Kueue's; the cluster says in which version it has it.
var workloadKind = schema.GroupKind{Group: "kueue.x-k8s.io", Kind: "Workload"}

// evictionOf returns why Kueue stopped a job. A process asks once per stop.
func (r *Reconciler) evictionOf(ctx context.Context, o observe.Observed) *kueue.Eviction {
	if !o.NeedsEvictionReason() {
		r.cache.forgetEviction(o.TrainJob)
		return nil
	}
	why, asked := r.cache.evictionOf(o.TrainJob)
	if !asked {
		why = r.findEviction(ctx, o.TrainJob)
		r.cache.noteEviction(o.TrainJob, why)
	}
	return why
}

// findEviction asks Kueue's Workload why a job was stopped. Nothing waits for the answer: a job is suspended also
// where nobody can say why.
func (r *Reconciler) findEviction(ctx context.Context, trainJob *trainer.TrainJob) *kueue.Eviction {
	workloads, err := r.workloadsOfJob(ctx, trainJob)
	if err != nil {
		if !meta.IsNoMatchError(err) {
			ctrl.LoggerFrom(ctx).Info("nobody says why the job was suspended", "reason", err.Error())
		}
		return nil
	}
	why := kueue.FindEviction(workloads)
	if why != nil && why.By != "" {
		why.ByName = r.jobNameOfPreemptor(ctx, trainJob.Namespace, why)
	}
	return why
}

func (r *Reconciler) workloadsOfJob(ctx context.Context, trainJob *trainer.TrainJob) ([]unstructured.Unstructured, error) {
	mapping, err := r.client.RESTMapper().RESTMapping(workloadKind)
	if err != nil {
		return nil, err
	}
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(mapping.GroupVersionKind.GroupVersion().WithKind("WorkloadList"))
	err = r.live.List(ctx, &list, client.InNamespace(trainJob.Namespace), client.MatchingLabels{kueue.WorkloadOfLabel: string(trainJob.UID)})
	return list.Items, err
}

// jobNameOfPreemptor returns the name of a TrainJob of the same namespace, or nothing.
func (r *Reconciler) jobNameOfPreemptor(ctx context.Context, namespace string, why *kueue.Eviction) string {
	var list trainer.TrainJobList
	if err := r.client.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return ""
	}
	for i := range list.Items {
		if list.Items[i].UID == why.By {
			return list.Items[i].Name
		}
	}
	return ""
}
