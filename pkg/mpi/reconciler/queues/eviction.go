package queues

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
)

// workloadKind is Kueue's; the cluster says in which version it has it.
var workloadKind = schema.GroupKind{Group: "kueue.x-k8s.io", Kind: "Workload"}

// Evictions finds out why Kueue stopped jobs.
type Evictions struct {
	client client.Client
	live   client.Reader

	mu sync.Mutex
	// known holds an answer per TrainJob, nil if its Workloads have no reason.
	known map[client.ObjectKey]map[types.UID]*kueue.Eviction
}

// NewEvictions returns Evictions that know of none yet.
func NewEvictions(cached client.Client, live client.Reader) *Evictions {
	return &Evictions{client: cached, live: live, known: map[client.ObjectKey]map[types.UID]*kueue.Eviction{}}
}

// Of returns why Kueue stopped a job. A process asks once per stop.
func (e *Evictions) Of(ctx context.Context, o observe.Observed) *kueue.Eviction {
	name := client.ObjectKeyFromObject(o.TrainJob)
	if !o.NeedsEvictionReason() {
		e.Forget(name)
		return nil
	}
	e.mu.Lock()
	why, asked := e.known[name][o.TrainJob.UID]
	e.mu.Unlock()
	if !asked {
		why = e.findEviction(ctx, o.TrainJob)
		e.mu.Lock()
		e.known[name] = map[types.UID]*kueue.Eviction{o.TrainJob.UID: why}
		e.mu.Unlock()
	}
	return why
}

// Forget forgets why a job was stopped.
func (e *Evictions) Forget(name client.ObjectKey) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.known, name)
}

// findEviction asks Kueue's Workload why a job was stopped. Nothing waits for the answer: a job is suspended also
// where nobody can say why.
func (e *Evictions) findEviction(ctx context.Context, trainJob *trainer.TrainJob) *kueue.Eviction {
	workloads, err := e.workloadsOfJob(ctx, trainJob)
	if err != nil {
		if !meta.IsNoMatchError(err) {
			ctrl.LoggerFrom(ctx).Info("nobody says why the job was suspended", "reason", err.Error())
		}
		return nil
	}
	why := kueue.FindEviction(workloads)
	if why != nil && why.By != "" {
		why.ByName = e.jobNameOfPreemptor(ctx, trainJob.Namespace, why)
	}
	return why
}

func (e *Evictions) workloadsOfJob(ctx context.Context, trainJob *trainer.TrainJob) ([]unstructured.Unstructured, error) {
	mapping, err := e.client.RESTMapper().RESTMapping(workloadKind)
	if err != nil {
		return nil, err
	}
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(mapping.GroupVersionKind.GroupVersion().WithKind("WorkloadList"))
	err = e.live.List(ctx, &list, client.InNamespace(trainJob.Namespace), client.MatchingLabels{kueue.WorkloadOfLabel: string(trainJob.UID)})
	return list.Items, err
}

// jobNameOfPreemptor returns the name of a TrainJob of the same namespace, or nothing.
func (e *Evictions) jobNameOfPreemptor(ctx context.Context, namespace string, why *kueue.Eviction) string {
	var list trainer.TrainJobList
	if err := e.client.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return ""
	}
	for i := range list.Items {
		if list.Items[i].UID == why.By {
			return list.Items[i].Name
		}
	}
	return ""
}
