package reconciler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/mpi/job"
)

// FieldOwner names the controller in the managed fields of what it writes.
const FieldOwner = "mpi-controller"

// conflictRetry is when to look again after another version than ours was there: our cache is behind by milliseconds.
const conflictRetry = 20 * time.Millisecond

// Reconciler runs the TrainJobs of MPI runtimes.
type Reconciler struct {
	// client reads from the cache and writes.
	client client.Client
	// live reads from the API server.
	live       client.Reader
	namespace  string
	random     io.Reader
	now        func() time.Time
	rendezvous *rendezvous
	recorder   events.EventRecorder
	metrics    *metrics
}

// Reconcile brings one TrainJob a step further. Nothing is left to do once the watches are silent.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	observed, err := r.observe(ctx, request.NamespacedName)
	if apierrors.IsNotFound(err) {
		r.forget(request.NamespacedName)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("observe: %w", err)
	}
	decision, err := job.Decide(observed, r.random)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("decide: %w", err)
	}
	if !decision.Ours || decision.Over {
		r.forget(request.NamespacedName)
	}
	if !decision.Ours {
		return ctrl.Result{}, nil
	}
	r.rendezvous.meet(ctx, request.NamespacedName, decision.Rendezvous)
	applied := r.apply(ctx, request.Namespace, decision)
	status := job.Status(observed, decision, applied)
	written := r.writeStatus(ctx, observed, status)
	return result(decision, errors.Join(applied, written))
}

// result turns a lost race into a retry and leaves other errors to the controller, which logs them and backs off.
func result(decision job.Decision, err error) (ctrl.Result, error) {
	switch {
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: conflictRetry}, nil
	case err != nil:
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: decision.RequeueAfter}, nil
}

// writeStatus patches the status if it changed, and tells of the change only when that succeeded. Conditions are a list
// whose order matters, so a merge patch replaces it as a whole; it is bound to the version that was read.
func (r *Reconciler) writeStatus(ctx context.Context, observed job.Observed, status trainer.TrainJobStatus) error {
	before := observed.TrainJob
	if apiequality.Semantic.DeepEqual(before.Status, status) {
		return nil
	}
	after := before.DeepCopy()
	after.Status = status
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err := r.client.Status().Patch(ctx, after, patch, client.FieldOwner(FieldOwner))
	switch {
	case apierrors.IsNotFound(err):
		// The TrainJob was deleted meanwhile; there is nobody to tell.
		return nil
	case err != nil:
		return fmt.Errorf("write status: %w", err)
	}
	changes := transitions(before.Status.Conditions, status.Conditions)
	r.announce(before, changes)
	r.metrics.record(observed, changes)
	return nil
}

func (r *Reconciler) forget(name client.ObjectKey) {
	r.rendezvous.forget(name)
	r.metrics.forget(name)
}
