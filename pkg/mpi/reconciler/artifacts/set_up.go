package artifacts

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
)

// SetUp lets a manager look at jobs with artifacts once they have ended, and when the Job that copies changes or goes.
func (c *Copier) SetUp(mgr ctrl.Manager) error {
	copies := predicate.NewPredicateFuncs(func(object client.Object) bool {
		return object.GetLabels()[mpi.AncestorLabel] == mpi.ArtifactsStep
	})
	owner := handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &trainer.TrainJob{})
	err := ctrl.NewControllerManagedBy(mgr).
		Named("artifacts").
		// There is one controller; tests have several in a row.
		WithOptions(controller.Options{SkipNameValidation: ptr.To(true)}).
		For(&trainer.TrainJob{}, builder.WithPredicates(predicate.NewPredicateFuncs(hasArtifacts))).
		WatchesMetadata(&batchv1.Job{}, owner, builder.WithPredicates(copies)).
		Complete(c)
	if err != nil {
		return fmt.Errorf("build the controller of artifacts: %w", err)
	}
	return nil
}
