package loop

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
)

// applyChanges carries out a decision: deletions, creations, the update.
func (r *Reconciler) applyChanges(ctx context.Context, namespace string, decision decide.Decision) error {
	for _, deletion := range decision.Delete {
		if err := r.deleteObject(ctx, namespace, deletion); err != nil {
			return err
		}
	}
	created := r.createObjects(ctx, decision.Create)
	for _, fetch := range decision.UpdateFetches {
		if err := r.Client.Update(ctx, fetch, client.FieldOwner(mpi.ControllerName)); err != nil {
			return errors.Join(created, fmt.Errorf("update Job %s: %w", fetch.Name, err))
		}
	}
	if decision.Update == nil || created != nil && !job.IsSuspended(decision.Update) {
		return created
	}
	// A suspension does not wait for a policy that the namespace has no room for: Kueue gives the machines to another
	// job.
	if err := r.Client.Update(ctx, decision.Update, client.FieldOwner(mpi.ControllerName)); err != nil {
		return errors.Join(created, fmt.Errorf("update JobSet %s: %w", decision.Update.Name, err))
	}
	return created
}

// deleteObject is bound to the UID: an object of the same name that came since is somebody else's.
func (r *Reconciler) deleteObject(ctx context.Context, namespace string, deletion observe.Deletion) error {
	object := &metav1.PartialObjectMetadata{TypeMeta: deletion.TypeMeta}
	object.Namespace, object.Name = namespace, deletion.Name
	err := r.Client.Delete(ctx, object,
		client.Preconditions{UID: &deletion.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s %s: %w", deletion.Kind, deletion.Name, err)
	}
	return nil
}

// createObjects makes everything but the last object at once, then the last: the JobSet must find all others. Of several errors
// it returns that of the first object, so that the message in the status does not change from try to try.
func (r *Reconciler) createObjects(ctx context.Context, objects []job.Object) error {
	if len(objects) == 0 {
		return nil
	}
	last := len(objects) - 1
	failures := make([]error, last)
	var group sync.WaitGroup
	for i, object := range objects[:last] {
		group.Go(func() { failures[i] = r.CreateObject(ctx, object) })
	}
	group.Wait()
	for _, err := range failures {
		if err != nil {
			return err
		}
	}
	return r.CreateObject(ctx, objects[last])
}

// CreateObject creates an object.
func (r *Reconciler) CreateObject(ctx context.Context, object job.Object) error {
	// The client clears the type of an object that it sends.
	kind := object.GetObjectKind().GroupVersionKind().Kind
	switch err := r.Client.Create(ctx, object, client.FieldOwner(mpi.ControllerName)); {
	case apimeta.IsNoMatchError(err):
		return fmt.Errorf("create %s %s: this cluster has no such kind: install the scheduler that reads it, or use a runtime without podGroupPolicy: %w", kind, object.GetName(), err)
	case err != nil:
		return fmt.Errorf("create %s %s: %w", kind, object.GetName(), err)
	}
	return nil
}
