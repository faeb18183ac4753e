package reconciler

import (
	"context"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi/job"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// podNews looks at a job at once when something happens to a pod or all pods have come a step further, and later, once for
// all of them, when one pod has. Of pods that were there before us all has been said by one request.
func (r *Reconciler) podNews() handler.EventHandler {
	pods := gangs{}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			if pod, is := e.Object.(*corev1.Pod); is && e.IsInInitialList {
				pods.move(nil, pod)
				q.Add(r.mode.byLabel(ctx, pod)[0])
				return
			}
			r.heardOfPod(ctx, pods, nil, e.Object, q)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			r.heardOfPod(ctx, pods, e.ObjectOld, e.ObjectNew, q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { r.heardOfPod(ctx, pods, e.Object, nil, q) },
	}
}

func (r *Reconciler) heardOfPod(ctx context.Context, pods gangs, old, now client.Object, q queue) {
	before, _ := old.(*corev1.Pod)
	after, _ := now.(*corev1.Pod)
	pods.move(before, after)
	pod := after
	if pod == nil {
		pod = before
	}
	request := r.mode.byLabel(ctx, pod)[0]
	news := job.NewsOfPod(before, after)
	if news == job.NoNews || r.done(ctx, request.NamespacedName) {
		return
	}
	if news == job.Matters || r.lastOfGang(ctx, request.NamespacedName, pods, before, after) {
		q.Add(request)
		return
	}
	q.AddAfter(request, job.Calm)
}

// lastOfGang says whether all pods of a job have come a step further with this one.
func (r *Reconciler) lastOfGang(ctx context.Context, name client.ObjectKey, pods gangs, before, after *corev1.Pod) bool {
	if job.StageOf(after) <= job.StageOf(before) {
		return false
	}
	js, err := jobSet(ctx, r.client, name, client.UnsafeDisableDeepCopy)
	return err == nil && js != nil && job.GangStage(js, pods[js.UID]) > job.StageOf(before)
}

// done says whether pods and Jobs of a TrainJob have nothing to tell any more.
func (r *Reconciler) done(ctx context.Context, name client.ObjectKey) bool {
	var trainJob trainer.TrainJob
	// Events of all pods come by here, and nothing is changed: no copies.
	if err := r.client.Get(ctx, name, &trainJob, client.UnsafeDisableDeepCopy); err != nil {
		// One that is not there has no pass; when it comes, it has.
		return true
	}
	js, err := jobSet(ctx, r.client, name, client.UnsafeDisableDeepCopy)
	return err == nil && r.mode == Executor && job.Done(&trainJob, js)
}

// goneNews: of Jobs only their going matters, because a new JobSet waits for it, and of network policies, because a job needs its own.
func (r *Reconciler) goneNews() handler.EventHandler {
	return handler.Funcs{DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
		if request := r.mode.byLabel(ctx, e.Object)[0]; !r.done(ctx, request.NamespacedName) {
			q.Add(request)
		}
	}}
}

// jobSetNews waits a moment for more where only counts changed.
func (r *Reconciler) jobSetNews() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { heardOfJobSet(nil, e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) { heardOfJobSet(e.ObjectOld, e.ObjectNew, q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { heardOfJobSet(e.Object, nil, q) },
	}
}

func heardOfJobSet(old, now client.Object, q queue) {
	before, _ := old.(*jobset.JobSet)
	after, _ := now.(*jobset.JobSet)
	js := after
	if js == nil {
		js = before
	}
	owner := metav1.GetControllerOf(js)
	if owner == nil || owner.Kind != trainer.TrainJobKind {
		return
	}
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(js)}
	request.Name = owner.Name
	switch job.NewsOfJobSet(before, after) {
	case job.Matters:
		q.Add(request)
	case job.Step:
		q.AddAfter(request, job.Calm)
	}
}

// trainJobNews drops what decides nothing: annotations, and our own word come back to us.
func (r *Reconciler) trainJobNews() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, _ := e.ObjectOld.(*trainer.TrainJob)
		after, is := e.ObjectNew.(*trainer.TrainJob)
		if !is || before == nil {
			ctrl.Log.Info("an event about a TrainJob has none", "object", e.ObjectNew)
			return false
		}
		if job.NewsOfTrainJob(before, after) == job.NoNews {
			return false
		}
		return !job.Settled(after) || before.Generation != after.Generation || !r.memory.own(client.ObjectKeyFromObject(after), after.ResourceVersion)
	}}
}
