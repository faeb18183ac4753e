package testjob

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
)

// User is somebody who may create TrainJobs.
type User struct {
	Client client.WithWatch
	// Logs reads logs of pods, which the other client cannot.
	Logs kubernetes.Interface
}

// Run creates the job, copies the launcher's log to out while it runs, and returns when the job has ended and the log
// is complete. The job stays in the cluster. An error means that the trial could not be made, not that the job failed.
func Run(ctx context.Context, user User, job Job, out io.Writer) (Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	object := job.TrainJob()
	created := time.Now()
	if err := user.Client.Create(ctx, object); err != nil {
		return Result{}, fmt.Errorf("create TrainJob %s/%s: %w", job.Namespace, job.Name, err)
	}
	t := &trial{user: user, job: object, created: created, out: out, jobSets: map[string]bool{}, pods: map[string]*corev1.Pod{}, early: map[string]*corev1.Pod{}, log: make(chan logEnd, 1)}
	result, err := t.follow(ctx)
	result.Job = job
	return result, err
}

type trial struct {
	user    User
	job     *trainer.TrainJob
	created time.Time
	out     io.Writer
	// jobSets are the UIDs of the job's JobSets: an earlier job of the same name had another, and its pods may still be there.
	jobSets map[string]bool
	// pods are those of the job; early are those whose JobSet has not been seen (yet).
	pods, early map[string]*corev1.Pod
	reading     bool
	log         chan logEnd
	// over is set when the job has ended, and its log grows no more.
	over    atomic.Bool
	timings Timings
}

// follow watches the job and its pods until the job has ended.
func (t *trial) follow(ctx context.Context) (Result, error) {
	named := client.MatchingFields{"metadata.name": t.job.Name}
	jobs, err := t.watch(ctx, &trainer.TrainJobList{}, named)
	if err != nil {
		return Result{}, err
	}
	pods, err := t.watch(ctx, &corev1.PodList{}, client.MatchingLabels{mpi.JobSetNameLabel: t.job.Name})
	if err != nil {
		return Result{}, err
	}
	jobSets, err := t.watch(ctx, &jobset.JobSetList{}, named)
	if err != nil {
		return Result{}, err
	}
	for {
		select {
		case <-ctx.Done():
			return Result{}, fmt.Errorf("wait for TrainJob %s: %w", t.job.Name, context.Cause(ctx))
		case object := <-pods:
			if pod, ok := object.(*corev1.Pod); ok {
				t.seePod(ctx, pod)
			}
		case object := <-jobSets:
			if set, ok := object.(*jobset.JobSet); ok {
				t.seeJobSet(ctx, set)
			}
		case object := <-jobs:
			if end := t.ended(object); end != nil {
				return t.result(ctx, end), nil
			}
		}
	}
}

// watch follows objects of the job's namespace.
func (t *trial) watch(ctx context.Context, list client.ObjectList, which client.ListOption) (<-chan runtime.Object, error) {
	objects, err := watchAgain(ctx, t.user.Client, list, client.InNamespace(t.job.Namespace), which)
	if err != nil {
		return nil, fmt.Errorf("follow TrainJob %s: watch %T: %w", t.job.Name, list, err)
	}
	return objects, nil
}

// seeJobSet catches up with the pods that were seen before their JobSet.
func (t *trial) seeJobSet(ctx context.Context, object *jobset.JobSet) {
	if owner := metav1.GetControllerOf(object); owner == nil || owner.UID != t.job.UID {
		return
	}
	t.timings.seeJobSet(time.Since(t.created))
	t.jobSets[string(object.UID)] = true
	for _, pod := range t.early {
		t.seePod(ctx, pod)
	}
}

// seePod remembers a pod of this job, and starts to read the log of the launcher as soon as it has one.
func (t *trial) seePod(ctx context.Context, pod *corev1.Pod) {
	if !t.jobSets[pod.Labels[mpi.JobSetUIDLabel]] {
		t.early[pod.Name] = pod
		return
	}
	delete(t.early, pod.Name)
	t.pods[pod.Name] = pod
	t.timings.seePods(t.pods, time.Since(t.created))
	if t.reading || pod.Labels[mpi.ReplicatedJobLabel] != mpi.LauncherJob || !hasStarted(pod) {
		return
	}
	t.reading = true
	go func() { t.log <- t.readLog(ctx, pod.Name) }()
}

// lookOnce sees what the watches have not brought yet: each comes in its own time.
func (t *trial) lookOnce(ctx context.Context) {
	jobSets, pods := &jobset.JobSetList{}, &corev1.PodList{}
	if t.user.Client.List(ctx, jobSets, client.InNamespace(t.job.Namespace), client.MatchingFields{"metadata.name": t.job.Name}) == nil {
		for i := range jobSets.Items {
			t.seeJobSet(ctx, &jobSets.Items[i])
		}
	}
	if t.user.Client.List(ctx, pods, client.InNamespace(t.job.Namespace), client.MatchingLabels{mpi.JobSetNameLabel: t.job.Name}) == nil {
		for i := range pods.Items {
			t.seePod(ctx, &pods.Items[i])
		}
	}
}

func hasStarted(pod *corev1.Pod) bool {
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name == mpi.Container && (status.State.Running != nil || status.State.Terminated != nil) {
			return true
		}
	}
	return false
}

// ended returns the terminal condition once there is one.
func (t *trial) ended(object runtime.Object) *metav1.Condition {
	job, ok := object.(*trainer.TrainJob)
	if !ok || job.UID != t.job.UID {
		return nil
	}
	for _, terminal := range []string{trainer.TrainJobComplete, trainer.TrainJobFailed} {
		if meta.IsStatusConditionTrue(job.Status.Conditions, terminal) {
			return meta.FindStatusCondition(job.Status.Conditions, terminal)
		}
	}
	return nil
}

func (t *trial) result(ctx context.Context, end *metav1.Condition) Result {
	result := Result{End: time.Since(t.created), Condition: end.Type, Reason: end.Reason, Message: end.Message, Timings: t.timings}
	t.over.Store(true)
	t.lookOnce(ctx)
	if t.reading {
		select {
		case log := <-t.log:
			result.Ranks = log.ranks
			if !log.firstRank.IsZero() {
				result.FirstRank = log.firstRank.Sub(t.created)
			}
		case <-ctx.Done():
		}
	}
	result.addPods(t.pods)
	return result
}
