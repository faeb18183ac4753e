package loop

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	"lockstep.dev/lockstep/pkg/jobs/view"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
)

// logEnd writes what became of a job into the log, once, when it has been told that it is over. Whoever collects logs keeps the history of jobs
// by it: TrainJobs are deleted (docs/decisions/2026-11-24-history-of-jobs.md).
func (r *Reconciler) logEnd(ctx context.Context, f *phase.Facts, said jobReport, changes []metav1.Condition) {
	if slices.ContainsFunc(changes, func(c metav1.Condition) bool { return status.IsEndOfJob(f.TrainJob, c) }) {
		ctrl.LoggerFrom(ctx).Info("the job is over", "job", endRecord(f, said, r.Mode))
	}
}

// endRecord is a job as `kubectl mpi get -o json` shows it, without its pods: a line of the log must not grow with them.
func endRecord(f *phase.Facts, said jobReport, mode Mode) view.Job {
	trainJob := f.TrainJob.DeepCopy()
	trainJob.Status = said.status
	metav1.SetMetaDataAnnotation(&trainJob.ObjectMeta, jobv1.Annotation, said.record)
	if mode == Executor {
		metav1.SetMetaDataLabel(&trainJob.ObjectMeta, mpi.TrainJobLabel, trainJob.Name)
	}
	j := view.JobOf(view.JobObjects{Now: f.Now, TrainJob: trainJob, Runtime: f.Runtime, JobSet: f.JobSet, Pods: f.Pods, PodsRead: true})
	j.Launcher, j.Nodes, j.Unknown = nil, nil, nil
	return j
}
