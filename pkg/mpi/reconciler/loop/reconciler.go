package loop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/events"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/launchers"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/metrics"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/queues"
)

// conflictRetry is when to look again after another version than ours was there: our cache is behind by milliseconds.
const conflictRetry = 20 * time.Millisecond

// errBehind: the cache does not have our last write of a status yet.
var errBehind = errors.New("the cache is behind")

// Parts holds the clients and the rooms that a Reconciler works with.
type Parts struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Policies reads metadata of network policies from the cache; nil for a companion.
	Policies  client.Reader
	Namespace string
	Random    io.Reader
	Mode      Mode
	// Now is the time of the API server.
	Now       func() time.Time
	Launchers *launchers.Pusher
	// Queues is nil for a companion.
	Queues  *queues.Watcher
	Events  *events.Recorder
	Metrics *metrics.Jobs
}

// Reconciler runs the TrainJobs of MPI runtimes.
type Reconciler struct {
	Parts
	cache     *jobCache
	warnings  *sharedWarnings
	evictions *queues.Evictions
}

// New returns a Reconciler that has seen no job yet.
func New(parts Parts) *Reconciler {
	return &Reconciler{
		Parts: parts, cache: newJobCache(), warnings: newSharedWarnings(parts.Live, time.Now),
		evictions: queues.NewEvictions(parts.Client, parts.Live),
	}
}

// Reconcile brings one TrainJob a step further. Nothing is left to do once the watches are silent.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	observed, err := r.observeJob(ctx, request.NamespacedName)
	switch {
	case apierrors.IsNotFound(err):
		r.forgetJob(request.NamespacedName)
		r.cache.forgetDeleted(request.NamespacedName)
		return ctrl.Result{}, nil
	case errors.Is(err, errBehind):
		return ctrl.Result{RequeueAfter: conflictRetry}, nil
	case err != nil:
		r.logForbidden(ctx, request.NamespacedName, err)
		return ctrl.Result{}, fmt.Errorf("observe: %w", err)
	}
	facts := phase.DeriveFacts(observed)
	decision, err := decide.Decide(facts, r.Random)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("decide: %w", err)
	}
	switch {
	case decision.Finished:
		r.releaseEndedJob(request.NamespacedName)
	case !decision.Ours:
		r.forgetJob(request.NamespacedName)
	}
	if decision.Foreign {
		r.warnOfForeign(ctx, facts)
	}
	if !decision.Ours {
		return ctrl.Result{}, nil
	}
	r.Launchers.Ensure(ctx, request.NamespacedName, decision.HostTable)
	decision, applied := r.applyDecision(ctx, request.Namespace, decision)
	r.warnOfManualChanges(ctx, facts, decision.Create, applied)
	shown := r.writeTraining(ctx, facts)
	wait, written := r.reportNews(ctx, facts, decision, applied)
	return reconcileResult(decision, wait, errors.Join(applied, shown, written))
}

// applyDecision applies a decision. What the API server refuses for good turns it into the end of the job.
func (r *Reconciler) applyDecision(ctx context.Context, namespace string, decision decide.Decision) (decide.Decision, error) {
	applied := r.applyChanges(ctx, namespace, decision)
	if final := decision.EndIfRefused(applied); final != nil {
		return *final, r.applyChanges(ctx, namespace, *final)
	}
	return decision, applied
}

// reconcileResult turns a lost race into a retry and leaves other errors to the controller, which logs them and backs
// off.
func reconcileResult(decision decide.Decision, wait time.Duration, err error) (ctrl.Result, error) {
	switch {
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: conflictRetry}, nil
	case err != nil:
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: shorterDelay(decision.RequeueAfter, wait)}, nil
}

// shorterDelay returns the smaller of two times, where 0 is never.
func shorterDelay(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// releaseEndedJob ends what a job that is over needs no more.
func (r *Reconciler) releaseEndedJob(name client.ObjectKey) {
	r.Launchers.Forget(name)
	r.Metrics.Forget(name)
	r.evictions.Forget(name)
	r.cache.forgetEnded(name)
}

// IsOwnVersion reports whether a version of a TrainJob is what our last write made.
func (r *Reconciler) IsOwnVersion(name client.ObjectKey, version string) bool {
	return r.cache.isOwnVersion(name, version)
}

func (r *Reconciler) forgetJob(name client.ObjectKey) {
	r.Launchers.Forget(name)
	r.Metrics.Forget(name)
	r.evictions.Forget(name)
	r.cache.forgetJob(name)
}
