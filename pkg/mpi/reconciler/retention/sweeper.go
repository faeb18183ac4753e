package retention

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// retentionEvery is how often finished jobs are looked through. What a tenant keeps for hours goes a minute late at the most.
const retentionEvery = time.Minute

// Sweeper deletes TrainJobs of any framework that finished longer ago than their namespace keeps them (FinishedJobsAnnotation).
// What they own goes with them: pods, their logs, Kueue's Workloads.
type Sweeper struct {
	Client client.Client
	// Live reads single namespaces: the controller lists and watches none.
	Live client.Reader
	Now  func() time.Time
}

// Start sweeps at once, for what was due while no controller ran, and then again and again.
func (r *Sweeper) Start(ctx context.Context) error {
	ticker := time.NewTicker(retentionEvery)
	defer ticker.Stop()
	for {
		if err := r.deleteExpiredJobs(ctx); err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "cannot delete the jobs that finished long ago, and tries again", "after", retentionEvery)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// NeedLeaderElection makes one controller of several do it.
func (r *Sweeper) NeedLeaderElection() bool { return true }

// deleteExpiredJobs returns the first error, after it has tried everything else.
func (r *Sweeper) deleteExpiredJobs(ctx context.Context) (first error) {
	var all trainer.TrainJobList
	if err := r.Client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list trainjobs: %w", err)
	}
	kept := map[string]time.Duration{}
	for i := range all.Items {
		trainJob := &all.Items[i]
		end := job.EndCondition(trainJob.Status)
		if end == nil || trainJob.DeletionTimestamp != nil || isInGit(trainJob) {
			continue
		}
		keep, known := kept[trainJob.Namespace]
		if !known {
			var err error
			if keep, err = r.keptFor(ctx, trainJob.Namespace); err != nil && first == nil {
				first = err
			}
			kept[trainJob.Namespace] = keep
		}
		if keep == 0 || r.Now().Sub(end.LastTransitionTime.Time) < keep {
			continue
		}
		if err := r.deleteJob(ctx, trainJob, keep); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// isInGit reports whether Flux or Argo CD applied a job. It would apply it again after its deletion, and the job would run
// again; it deletes the job once git no longer has it. Users may write these names too, and keep a job of theirs that way.
func isInGit(trainJob *trainer.TrainJob) bool {
	return trainJob.Labels["kustomize.toolkit.fluxcd.io/name"] != "" ||
		trainJob.Annotations["argocd.argoproj.io/tracking-id"] != ""
}

// keptFor returns how long a namespace keeps finished jobs; 0 means forever, also where nobody knows.
func (r *Sweeper) keptFor(ctx context.Context, name string) (time.Duration, error) {
	var namespace corev1.Namespace
	switch err := r.Live.Get(ctx, client.ObjectKey{Name: name}, &namespace); {
	case apierrors.IsNotFound(err):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("ask how long namespace `%s` keeps finished jobs: %w", name, err)
	}
	text := namespace.Annotations[mpi.FinishedJobsAnnotation]
	if text == "" {
		return 0, nil
	}
	keep, err := time.ParseDuration(text)
	if err != nil || keep <= 0 {
		return 0, fmt.Errorf("annotation %s of namespace `%s` is `%s`: want a time above 0, such as 168h", mpi.FinishedJobsAnnotation, name, text)
	}
	return keep, nil
}

// deleteJob deletes the job that was looked at, and none that has its name by now.
func (r *Sweeper) deleteJob(ctx context.Context, trainJob *trainer.TrainJob, keep time.Duration) error {
	same := client.Preconditions{UID: &trainJob.UID, ResourceVersion: &trainJob.ResourceVersion}
	err := r.Client.Delete(ctx, trainJob.DeepCopy(), same, client.PropagationPolicy("Background"))
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return nil // the next sweep sees what it is now
	case err != nil:
		return fmt.Errorf("delete TrainJob `%s/%s`: %w", trainJob.Namespace, trainJob.Name, err)
	}
	ctrl.LoggerFrom(ctx).Info("deleted a job that finished longer ago than its namespace keeps it", "trainJob", client.ObjectKeyFromObject(trainJob), "kept", keep)
	return nil
}
