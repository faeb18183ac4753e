package loop

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// latestTraining returns the last report of the program, to the controller or in its verdict, nil if there is none. A
// verdict may lack metrics that it had no room for.
func latestTraining(gate *observe.GateState, verdict *mpi.Verdict) *mpi.TrainingProgress {
	var last mpi.TrainingProgress
	if gate != nil && gate.Training != nil {
		last = gate.Training.WithinBounds()
	}
	if verdict != nil && verdict.Training != nil && verdict.Training.Updated > last.Updated {
		last = last.With(verdict.Training.WithinBounds())
	}
	if last.IsEmpty() {
		return nil
	}
	return &last
}

// trainerStatusTopic is the topic of the cache for jobs whose progress another program writes.
const trainerStatusTopic = "trainerStatus"

// writeTraining writes the progress of a program into the status of its TrainJob. Beside Kubeflow Trainer a progress
// that Trainer's own status server has written stays: the API server knows the owner of a field.
func (r *Reconciler) writeTraining(ctx context.Context, f *phase.Facts) error {
	latest, name := latestTraining(f.Gate, f.Run.Verdict()), client.ObjectKeyFromObject(f.TrainJob)
	uid := string(f.TrainJob.UID)
	if latest == nil || r.cache.wasTold(name, trainerStatusTopic, uid) {
		return nil
	}
	shown, want := f.TrainJob.Status.TrainerStatus, trainerStatus(*latest)
	if shown != nil {
		want.LastUpdatedTime = shown.LastUpdatedTime
		if reflect.DeepEqual(*shown, want) {
			return nil
		}
	}
	// A clock that is ahead is not believed.
	updated := metav1.NewTime(time.UnixMilli(min(latest.Updated, f.Now.UnixMilli())))
	target, err := progressOf(f.TrainJob, want, updated)
	if err != nil {
		return err
	}
	options := []client.SubResourceApplyOption{client.FieldOwner(mpi.ControllerName)}
	if r.Mode == Executor {
		options = append(options, client.ForceOwnership)
	}
	err = r.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(target), options...)
	switch {
	case err == nil:
		r.cache.noteWritten(name, target.GetResourceVersion())
	case isLeftToOthers(err):
		r.cache.isNew(name, trainerStatusTopic, uid)
		ctrl.LoggerFrom(ctx).Info("the progress of the program is left to others", "reason", err.Error())
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("write the progress: %w", err)
	}
	return nil
}

// progressOf returns the part of a TrainJob that is written. The whole type would own more fields than the progress.
func progressOf(trainJob *trainer.TrainJob, status trainer.TrainerStatus, updated metav1.Time) (
	*unstructured.Unstructured, error) {
	status.LastUpdatedTime = updated
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	if err != nil {
		return nil, fmt.Errorf("write the progress: %w", err)
	}
	target := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"trainerStatus": fields}}}
	target.SetGroupVersionKind(trainer.GroupVersion.WithKind(trainer.TrainJobKind))
	target.SetNamespace(trainJob.Namespace)
	target.SetName(trainJob.Name)
	target.SetUID(trainJob.UID)
	return target, nil
}

// isLeftToOthers reports whether Trainer's status server writes the progress, or the API server has no field for it or
// does not let us. Nothing depends on the progress, so that a second try is not worth it.
func isLeftToOthers(err error) bool {
	return apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict) || apierrors.IsInvalid(err) ||
		apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) || apierrors.IsInternalError(err)
}

// trainerStatus returns a progress as Kubeflow's API has it, without its time.
func trainerStatus(p mpi.TrainingProgress) trainer.TrainerStatus {
	status := trainer.TrainerStatus{ProgressPercentage: p.Percent, EstimatedRemainingSeconds: p.RemainingSeconds}
	for _, m := range p.Metrics {
		// JSON needs less than the 64 characters that the API has room for, and each value is finite. -0 becomes 0.
		text, _ := json.Marshal(cmp.Or(m.Value, 0))
		status.Metrics = append(status.Metrics, trainer.Metric{Name: m.Name, Value: string(text)})
	}
	return status
}
