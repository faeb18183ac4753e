package loop

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/events"
)

// warnOnce tells of something about a version of an object that it is about, when it has not been told before: a pass finds the
// same again and again.
func (r *Reconciler) warnOnce(ctx context.Context, trainJob *trainer.TrainJob, reason events.Reason, about, note string) {
	if !r.cache.isNew(client.ObjectKeyFromObject(trainJob), string(reason), about) {
		return
	}
	ctrl.LoggerFrom(ctx).Info(note)
	r.Events.Warn(trainJob, reason, note)
}

// warnOfForeign tells of a JobSet that another controller of TrainJobs made, such as one that keeps no lease.
func (r *Reconciler) warnOfForeign(ctx context.Context, f *phase.Facts) {
	const note = "another controller of TrainJobs made the JobSet of this job, and runs it: only one may run in a cluster"
	r.warnOnce(ctx, f.TrainJob, events.ForeignController, string(f.JobSet.UID), note)
}
