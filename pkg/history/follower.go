package history

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/history/store"
	"lockstep.dev/lockstep/pkg/jobs/kept"
	"lockstep.dev/lockstep/pkg/jobs/logs"
	"lockstep.dev/lockstep/pkg/jobs/logs/podlogs"
	"lockstep.dev/lockstep/pkg/mpi"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
)

const (
	// lookAgain is how soon a job that is over is looked at again while its log is read: its pods and events change
	// after its status.
	lookAgain = 10 * time.Second
	// followAgain is how soon logs are followed again that could not be kept.
	followAgain = 15 * time.Second
)

// follower keeps each job of the cluster, and follows the logs of its pods.
type follower struct {
	cached client.Reader
	live   client.Reader
	core   corev1client.PodsGetter
	store  *store.Store
	began  time.Time
	// running ends with the process: what a pass begins goes on after it.
	running context.Context //nolint:containedctx // see above
	logs    sync.WaitGroup

	mu        sync.Mutex
	following map[types.UID]bool
}

// Reconcile keeps one job.
func (f *follower) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var job trainer.TrainJob
	if err := f.cached.Get(ctx, request.NamespacedName, &job); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	if err := f.endOthers(
		ctx,
		request.NamespacedName,
		job.UID,
	); err != nil ||
		job.Labels[mpi.TrainJobLabel] != request.Name {
		return ctrl.Result{}, err // There is none, or it is no job of mpi-controller.
	}
	var pods corev1.PodList
	if err := f.cached.List(
		ctx,
		&pods,
		client.InNamespace(job.Namespace),
		client.MatchingLabels{mpi.JobSetNameLabel: job.Name},
	); err != nil {
		return ctrl.Result{}, err
	}
	// Pods of an earlier job of the name may not be gone yet.
	pods.Items = slices.DeleteFunc(
		pods.Items,
		func(pod corev1.Pod) bool { return pod.CreationTimestamp.Before(&job.CreationTimestamp) },
	)
	err := f.keepJob(ctx, &job, pods.Items)
	if err == nil && f.startFollowing(&job) && mpijob.IsFinished(&job) {
		return ctrl.Result{RequeueAfter: lookAgain}, nil
	}
	if errors.Is(err, store.ErrNotKept) {
		err = nil
	}
	return ctrl.Result{}, err
}

// startFollowing follows the logs of a job until all of them have ended for good. It reports whether they have not.
func (f *follower) startFollowing(job *trainer.TrainJob) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	known, err := f.store.Get(job.UID)
	if err != nil || known.Log.Whole || f.following[job.UID] {
		return err == nil && !known.Log.Whole
	}
	f.following[job.UID] = true
	f.logs.Go(func() {
		defer func() {
			f.mu.Lock()
			delete(f.following, job.UID)
			f.mu.Unlock()
		}()
		for f.running.Err() == nil {
			err := f.followLogs(job)
			if err == nil || errors.Is(err, store.ErrNotKept) {
				return
			}
			ctrl.Log.Error(err, "keep the log of a job", "namespace", job.Namespace, "name", job.Name)
			select {
			case <-f.running.Done():
			case <-time.After(followAgain):
			}
		}
	})
	return true
}

func (f *follower) followLogs(job *trainer.TrainJob) error {
	w, err := f.store.OpenLog(job.UID)
	if err != nil {
		return err
	}
	from := resumedLogs{
		podlogs.JobLogs{Namespace: job.Namespace, Name: job.Name, Reader: f.cached, Core: f.core, Every: true},
		w,
	}
	note := ""
	_, err = logs.Run(
		f.running,
		from,
		logs.Options{Follow: true, Note: func(text string) { note = text }},
		func(lines []logs.Line) error {
			for _, line := range lines {
				if err := w.Append(line.Time, sourceName(*line.Source), line.Raw); err != nil {
					return err
				}
			}
			return nil
		},
	)
	return errors.Join(err, w.Close(err == nil && f.running.Err() == nil, note))
}

func sourceName(s logs.LogSource) string { return s.Pod + "/" + s.Container }

// resumedLogs are the logs of a job from what is kept on.
type resumedLogs struct {
	podlogs.JobLogs
	kept *store.Writer
}

// Open opens the log of a container.
func (r resumedLogs) Open(
	ctx context.Context,
	source logs.LogSource,
	request logs.ContainerLogRequest,
) (io.ReadCloser, error) {
	if request.Since.IsZero() {
		request.Since = r.kept.Since(sourceName(source))
	}
	return r.JobLogs.Open(ctx, source, request)
}

// endGone ends what is kept of jobs that were deleted while this process was away.
func (f *follower) endGone(ctx context.Context) error {
	var failed error
	for _, j := range f.store.List(func(j *kept.Job) bool { return j.Ended == nil }) {
		_, err := f.Reconcile(
			ctx,
			ctrl.Request{NamespacedName: client.ObjectKey{Namespace: j.Namespace, Name: j.TrainJob}},
		)
		failed = errors.Join(failed, err)
	}
	return failed
}
