package watch

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/loop"
)

// A failed pass is tried again after firstRetry, then after twice that and so on, up to lastRetry: what the API server
// refuses may be allowed soon, by a larger quota or because it has just learned of a new kind.
const (
	firstRetry = 10 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// runtimeIndex finds TrainJobs by `<kind>/<name>` of their runtime.
const runtimeIndex = "lockstep.runtime"

// watches decide which changes of objects a pass follows.
type watches struct{ *loop.Reconciler }

// Start lets a manager run passes of r when objects of its jobs change, or when one of the channels names a job.
func Start(ctx context.Context, mgr ctrl.Manager, r *loop.Reconciler, concurrency int, changed ...chan event.GenericEvent) error {
	if err := addIndexes(ctx, mgr.GetFieldIndexer(), r.Mode); err != nil {
		return err
	}
	w := watches{r}
	building := ctrl.NewControllerManagedBy(mgr).
		Named("trainjob").
		WithOptions(controller.Options{
			MaxConcurrentReconciles: concurrency,
			// There is one controller; tests have several in a row.
			SkipNameValidation: ptr.To(true),
			RateLimiter:        workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
			NewQueue:           newWorkQueue,
		}).
		For(&trainer.TrainJob{}, builder.WithPredicates(w.trainJobChangePredicate())).
		Watches(&jobset.JobSet{}, w.enqueueOnJobSet()).
		WatchesMetadata(&batchv1.Job{}, w.enqueueOnDeletion()).
		Watches(&corev1.Pod{}, w.enqueueOnPod()).
		Watches(&trainer.ClusterTrainingRuntime{}, w.enqueueJobsOfRuntime(trainer.ClusterTrainingRuntimeKind)).
		Watches(&trainer.TrainingRuntime{}, w.enqueueJobsOfRuntime(trainer.TrainingRuntimeKind)).
		Watches(&corev1.ResourceQuota{}, w.enqueueJobsWaitingForQuota()).
		Watches(&corev1.LimitRange{}, w.enqueueJobsWaitingForQuota())
	if r.Policies != nil {
		building = building.WatchesMetadata(&networkingv1.NetworkPolicy{}, w.enqueueOnDeletion())
	}
	for _, jobs := range changed {
		building = building.WatchesRawSource(source.Channel(jobs, &handler.EnqueueRequestForObject{}))
	}
	if err := building.Complete(r); err != nil {
		return fmt.Errorf("build controller: %w", err)
	}
	return nil
}

func addIndexes(ctx context.Context, indexer client.FieldIndexer, mode loop.Mode) error {
	jobs := &metav1.PartialObjectMetadata{}
	jobs.SetGroupVersionKind(batchv1.SchemeGroupVersion.WithKind("Job"))
	for _, object := range []client.Object{jobs, &corev1.Pod{}} {
		if err := indexer.IndexField(ctx, object, loop.TrainJobIndex, loop.IndexTrainJob(mode)); err != nil {
			return fmt.Errorf("index by TrainJob: %w", err)
		}
	}
	if err := indexer.IndexField(ctx, &trainer.TrainJob{}, runtimeIndex, indexRuntimeName); err != nil {
		return fmt.Errorf("index TrainJobs by runtime: %w", err)
	}
	return nil
}

func indexRuntimeName(object client.Object) []string {
	ref := object.(*trainer.TrainJob).Spec.RuntimeRef //nolint:forcetypeassert // the index is on TrainJobs
	return []string{ptr.Deref(ref.Kind, trainer.ClusterTrainingRuntimeKind) + "/" + ref.Name}
}
