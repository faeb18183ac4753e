package watch

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/loop"
)

type requestQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// enqueueOnPod looks at a job at once when something happens to a pod or all pods have come a step further, and later, once for
// all of them, when one pod has. Of pods that were there before us all has been said by one request.
func (w watches) enqueueOnPod() handler.EventHandler {
	pods := gangCounts{}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q requestQueue) {
			if pod, is := e.Object.(*corev1.Pod); is && e.IsInInitialList {
				pods.replacePod(nil, pod)
				q.Add(w.jobOf(pod))
				return
			}
			w.enqueueOnPodChange(ctx, pods, nil, e.Object, q)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requestQueue) {
			w.enqueueOnPodChange(ctx, pods, e.ObjectOld, e.ObjectNew, q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q requestQueue) {
			w.enqueueOnPodChange(ctx, pods, e.Object, nil, q)
		},
	}
}

func (w watches) enqueueOnPodChange(ctx context.Context, pods gangCounts, old, now client.Object, q requestQueue) {
	before, _ := old.(*corev1.Pod)
	after, _ := now.(*corev1.Pod)
	pods.replacePod(before, after)
	pod := after
	if pod == nil {
		pod = before
	}
	request := w.jobOf(pod)
	news := observe.ImpactOfPod(before, after)
	if news == observe.NoImpact || w.ignoresPods(ctx, request.NamespacedName) {
		return
	}
	if news == observe.ImpactNow || w.completesGangStage(ctx, request.NamespacedName, pods, before, after) {
		q.Add(request)
		return
	}
	q.AddAfter(request, status.DebounceStep)
}

// completesGangStage reports whether all pods of a job have come a step further with this one.
func (w watches) completesGangStage(ctx context.Context, name client.ObjectKey, pods gangCounts, before, after *corev1.Pod) bool {
	if observe.StageOf(after) <= observe.StageOf(before) {
		return false
	}
	js, err := loop.GetJobSet(ctx, w.Client, name, client.UnsafeDisableDeepCopy)
	return err == nil && js != nil && observe.GangStage(js, pods[js.UID]) > observe.StageOf(before)
}

// ignoresPods reports whether pods and Jobs of a TrainJob have nothing to tell any more.
func (w watches) ignoresPods(ctx context.Context, name client.ObjectKey) bool {
	var trainJob trainer.TrainJob
	// Events of all pods come by here, and nothing is changed: no copies.
	if err := w.Client.Get(ctx, name, &trainJob, client.UnsafeDisableDeepCopy); err != nil {
		// One that is not there has no pass; when it comes, it has.
		return true
	}
	js, err := loop.GetJobSet(ctx, w.Client, name, client.UnsafeDisableDeepCopy)
	return err == nil && w.Mode == loop.Executor && observe.PodsTellNothing(&trainJob, js)
}

// enqueueOnDeletion: of Jobs only their going matters, because a new JobSet waits for it, and of network policies, because a job needs its own.
func (w watches) enqueueOnDeletion() handler.EventHandler {
	return handler.Funcs{DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q requestQueue) {
		if request := w.jobOf(e.Object); !w.ignoresPods(ctx, request.NamespacedName) {
			q.Add(request)
		}
	}}
}

// enqueueOnJobSet waits a moment for more where only counts changed.
func (w watches) enqueueOnJobSet() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q requestQueue) { enqueueOnJobSetChange(nil, e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q requestQueue) {
			enqueueOnJobSetChange(e.ObjectOld, e.ObjectNew, q)
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q requestQueue) { enqueueOnJobSetChange(e.Object, nil, q) },
	}
}

func enqueueOnJobSetChange(old, now client.Object, q requestQueue) {
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
	switch observe.ImpactOfJobSet(before, after) {
	case observe.ImpactNow:
		q.Add(request)
	case observe.ImpactStep:
		q.AddAfter(request, status.DebounceStep)
	}
}

// trainJobChangePredicate drops what decides nothing: annotations, and our own word come back to us.
func (w watches) trainJobChangePredicate() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, _ := e.ObjectOld.(*trainer.TrainJob)
		after, is := e.ObjectNew.(*trainer.TrainJob)
		if !is || before == nil {
			ctrl.Log.Info("an event about a TrainJob has none", "object", e.ObjectNew)
			return false
		}
		if observe.ImpactOfTrainJob(before, after) == observe.NoImpact {
			return false
		}
		return !observe.IsSettled(after) || before.Generation != after.Generation || !w.IsOwnVersion(client.ObjectKeyFromObject(after), after.ResourceVersion)
	}}
}

// enqueueJobsOfRuntime finds the TrainJobs that may wait for a runtime.
func (w watches) enqueueJobsOfRuntime(kind string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, runtime client.Object) []reconcile.Request {
		var list trainer.TrainJobList
		err := w.Client.List(ctx, &list, client.InNamespace(runtime.GetNamespace()),
			client.MatchingFields{runtimeIndex: kind + "/" + runtime.GetName()})
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "list the TrainJobs of a runtime", "kind", kind, "runtime", runtime.GetName())
			return nil
		}
		var requests []reconcile.Request
		for i := range list.Items {
			if job.IsManagedHere(&list.Items[i]) && !job.IsFinished(&list.Items[i]) {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
			}
		}
		return requests
	})
}

// enqueueJobsWaitingForQuota finds the TrainJobs of a namespace that a change of its bounds may let start.
func (w watches) enqueueJobsWaitingForQuota() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, bound client.Object) []reconcile.Request {
		var list trainer.TrainJobList
		if err := w.Client.List(ctx, &list, client.InNamespace(bound.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "list the TrainJobs that wait for a quota", "namespace", bound.GetNamespace())
			return nil
		}
		var requests []reconcile.Request
		for i := range list.Items {
			if loop.WaitsForQuota(list.Items[i].Status.Conditions) && !job.IsFinished(&list.Items[i]) {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
			}
		}
		return requests
	})
}

func (w watches) jobOf(object client.Object) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{
		Namespace: object.GetNamespace(), Name: object.GetLabels()[w.Mode.JobLabel()],
	}}
}
