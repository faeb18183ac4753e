package loop

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// readBounds reads what the namespace lets a job have: quotas and limits from the cache, and whether the objects exist that its
// pods name, by name only and without their content.
func (r *Reconciler) readBounds(ctx context.Context, o *observe.Observed) error {
	wanted, err := job.Resolve(o.TrainJob, *o.Runtime)
	if err != nil {
		// The decision says so.
		return nil //nolint:nilerr // the same error is the decision's to tell
	}
	if err := r.readQuotasAndLimits(ctx, o); err != nil {
		return err
	}
	if wanted.Suspended || r.Mode == Companion {
		return nil
	}
	o.Bounds.Missing, err = r.missingReferences(ctx, wanted)
	return err
}

// readQuotasAndLimits reads quotas and limits.
func (r *Reconciler) readQuotasAndLimits(ctx context.Context, o *observe.Observed) error {
	var quotas corev1.ResourceQuotaList
	var limits corev1.LimitRangeList
	for _, list := range []client.ObjectList{&quotas, &limits} {
		if err := r.Client.List(ctx, list, client.InNamespace(o.TrainJob.Namespace)); err != nil {
			return fmt.Errorf("list the bounds of the namespace: %w", err)
		}
	}
	o.Bounds.Quotas, o.Bounds.Limits = quotas.Items, limits.Items
	return nil
}

// missingReferences asks for all references at once.
func (r *Reconciler) missingReferences(ctx context.Context, wanted job.Job) ([]job.ObjectReference, error) {
	references := desired.References(wanted)
	absent := make([]bool, len(references))
	group, ctx := errgroup.WithContext(ctx)
	for i, reference := range references {
		group.Go(func() error {
			object := &metav1.PartialObjectMetadata{TypeMeta: reference.TypeMeta()}
			err := r.Live.Get(ctx, client.ObjectKey{Namespace: wanted.Namespace, Name: reference.Name}, object)
			absent[i] = err != nil
			return client.IgnoreNotFound(err)
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("look for what the pods refer to: %w", err)
	}
	var missing []job.ObjectReference
	for i, reference := range references {
		if absent[i] {
			missing = append(missing, reference)
		}
	}
	return missing, nil
}

// stillWaits reports whether a job that waits for a quota, and for nothing else, goes on waiting, which the cache tells. Such jobs are
// looked at whenever the quota changes, thousands of them, and ask the API server for nothing: what they need besides was
// there when they began to wait, and is looked for again before they are made.
func (r *Reconciler) stillWaits(ctx context.Context, o *observe.Observed) (bool, error) {
	if r.Mode != Executor || !waitsWithoutJobSet(*o) {
		return false, nil
	}
	if err := r.readQuotasAndLimits(ctx, o); err != nil {
		return false, err
	}
	waiting := phase.DeriveFacts(*o).State().Waiting
	return waiting != nil && waiting.Reason == diagnose.QuotaExceeded, nil
}

// waitsWithoutJobSet reports whether an earlier pass found a job as it is now to wait for a quota, and nothing is left of an earlier one.
// One that was made before is made again from the runtime of then, which the cache does not know.
func waitsWithoutJobSet(o observe.Observed) bool {
	conditions := o.TrainJob.Status.Conditions
	created := apimeta.FindStatusCondition(conditions, job.Created)
	return o.JobSet == nil && len(o.Jobs) == 0 && len(o.Pods) == 0 && apimeta.FindStatusCondition(conditions, job.Restarting) == nil &&
		created != nil && created.ObservedGeneration == o.TrainJob.Generation && WaitsForQuota(conditions)
}

// WaitsForQuota reports whether a job says so of its start, or of its resumption.
func WaitsForQuota(conditions []metav1.Condition) bool {
	return slices.ContainsFunc(conditions, func(c metav1.Condition) bool {
		return (c.Type == job.Created || c.Type == job.PodsReady) && c.Reason == string(diagnose.QuotaExceeded)
	})
}
