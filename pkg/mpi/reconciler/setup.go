package reconciler

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	controllermetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi/job"
)

// A failed pass is tried again after firstRetry, then after twice that and so on, up to lastRetry: what the API server
// refuses may be allowed soon, by a larger quota or because it has just learned of a new kind.
const (
	firstRetry = 10 * time.Millisecond
	lastRetry  = 5 * time.Second
)

const (
	// trainJobIndex finds Jobs and pods by the name of their TrainJob.
	trainJobIndex = "lockstep.trainjob"
	// runtimeIndex finds TrainJobs by `<kind>/<name>` of their runtime.
	runtimeIndex = "lockstep.runtime"
)

// Scheme returns the types that the controller works with.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, trainer.AddToScheme, jobset.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("build scheme: %w", err)
		}
	}
	return scheme, nil
}

// cacheOptions say what the manager may keep in memory: of Jobs, JobSets and pods only those of TrainJobs, and of pods only
// what a decision reads. Secrets and ConfigMaps are never cached, and of the network policies of TrainJobs an executor keeps metadata,
// which tell it that one is gone.
func cacheOptions(mode Mode) (cache.Options, error) {
	ofTrainJob, err := labels.NewRequirement(mode.jobLabel(), selection.Exists, nil)
	if err != nil {
		return cache.Options{}, fmt.Errorf("build selector: %w", err)
	}
	selector := labels.NewSelector().Add(*ofTrainJob)
	options := cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		NewInformer:      newInformer,
		ByObject: map[client.Object]cache.ByObject{
			&batchv1.Job{}: {Label: selector},
			&corev1.Pod{}:  {Label: selector, Transform: stripPod},
		},
	}
	if mode == Executor {
		options.ByObject[&jobset.JobSet{}] = cache.ByObject{Label: selector}
		options.ByObject[&networkingv1.NetworkPolicy{}] = cache.ByObject{Label: selector}
	}
	return options, nil
}

// stripPod keeps identity, placement and what holds it back, what restarts, its grace, the devices that containers ask for, and status.
func stripPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	pod.ManagedFields = nil
	pod.Annotations = nil
	pod.Spec = corev1.PodSpec{
		NodeName: pod.Spec.NodeName, SchedulingGates: pod.Spec.SchedulingGates, RestartPolicy: pod.Spec.RestartPolicy,
		TerminationGracePeriodSeconds: pod.Spec.TerminationGracePeriodSeconds, Containers: deviceRequestsOnly(pod.Spec.Containers),
	}
	return pod, nil
}

// deviceRequestsOnly keeps of containers only what they ask for beyond CPU, memory and disk: a diagnosis counts accelerators.
func deviceRequestsOnly(containers []corev1.Container) []corev1.Container {
	var kept []corev1.Container
	for _, c := range containers {
		devices := corev1.ResourceList{}
		for name, quantity := range c.Resources.Limits {
			if strings.Contains(string(name), "/") {
				devices[name] = quantity
			}
		}
		if len(devices) > 0 {
			kept = append(kept, corev1.Container{Name: c.Name, Resources: corev1.ResourceRequirements{Limits: devices}})
		}
	}
	return kept
}

// setUpController adds the controller to its manager.
func setUpController(ctx context.Context, mgr ctrl.Manager, options Options) error {
	if err := addIndexes(ctx, mgr.GetFieldIndexer(), options.Mode); err != nil {
		return err
	}
	metrics, err := newJobMetrics(controllermetrics.Registry)
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	if err := replaceCollector(controllermetrics.Registry, podCountCollector{mgr.GetClient(), options.Mode.jobLabel()}); err != nil {
		return fmt.Errorf("register the counts of pods: %w", err)
	}
	if err := replaceCollector(controllermetrics.Registry, jobStateCollector{mgr.GetClient(), options.clock}); err != nil {
		return fmt.Errorf("register the states of jobs: %w", err)
	}
	var lines *queueWatcher
	if options.Mode == Executor {
		if err := mgr.Add(options.leaseWatcher); err != nil {
			return fmt.Errorf("add the look-out for Kubeflow Trainer: %w", err)
		}
		var err error
		if lines, err = addQueueWatcher(mgr, options); err != nil {
			return err
		}
	}
	hostTables := newHostTablePusher(mgr.GetAPIReader())
	if err := mgr.Add(hostTables); err != nil {
		return fmt.Errorf("add rendezvous: %w", err)
	}
	if err := mgr.Add(&retentionSweeper{client: mgr.GetClient(), live: mgr.GetAPIReader(), clock: options.clock}); err != nil {
		return fmt.Errorf("add the deletion of finished jobs: %w", err)
	}
	r := &Reconciler{
		client:     mgr.GetClient(),
		live:       mgr.GetAPIReader(),
		namespace:  options.Namespace,
		random:     rand.Reader,
		mode:       options.Mode,
		clock:      options.clock,
		cache:      newJobCache(),
		shared:     newSharedWarnings(mgr.GetAPIReader(), time.Now),
		hostTables: hostTables,
		queues:     lines,
		recorder:   options.recorder,
		metrics:    metrics,
	}
	if options.Mode == Executor {
		r.policies = mgr.GetCache()
	}
	if options.servesWebhook() {
		serveWebhook(mgr.GetWebhookServer(), options.keys, r)
	}
	return r.watchObjects(mgr, options)
}

func addQueueWatcher(mgr ctrl.Manager, options Options) (*queueWatcher, error) {
	visibility, err := dynamic.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("create client for Kueue's visibility server: %w", err)
	}
	lines := newQueueWatcher(mgr.GetClient(), mgr.GetAPIReader(), visibility, options.clock)
	if err := mgr.Add(lines); err != nil {
		return nil, fmt.Errorf("add the look at queues: %w", err)
	}
	return lines, nil
}

func (r *Reconciler) watchObjects(mgr ctrl.Manager, options Options) error {
	building := ctrl.NewControllerManagedBy(mgr).
		Named("trainjob").
		WithOptions(controller.Options{
			MaxConcurrentReconciles: options.Concurrency,
			// There is one controller; tests have several in a row.
			SkipNameValidation: ptr.To(true),
			RateLimiter:        workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
			NewQueue:           newWorkQueue,
		}).
		For(&trainer.TrainJob{}, builder.WithPredicates(r.trainJobChangePredicate())).
		Watches(&jobset.JobSet{}, r.enqueueOnJobSet()).
		WatchesMetadata(&batchv1.Job{}, r.enqueueOnDeletion()).
		Watches(&corev1.Pod{}, r.enqueueOnPod()).
		Watches(&trainer.ClusterTrainingRuntime{}, r.enqueueJobsOfRuntime(trainer.ClusterTrainingRuntimeKind)).
		Watches(&trainer.TrainingRuntime{}, r.enqueueJobsOfRuntime(trainer.TrainingRuntimeKind)).
		Watches(&corev1.ResourceQuota{}, r.enqueueJobsWaitingForQuota()).
		Watches(&corev1.LimitRange{}, r.enqueueJobsWaitingForQuota()).
		WatchesRawSource(source.Channel(r.hostTables.changed, &handler.EnqueueRequestForObject{}))
	if r.policies != nil {
		building = building.WatchesMetadata(&networkingv1.NetworkPolicy{}, r.enqueueOnDeletion())
	}
	if r.queues != nil {
		building = building.WatchesRawSource(source.Channel(r.queues.changed, &handler.EnqueueRequestForObject{}))
	}
	if err := building.Complete(r); err != nil {
		return fmt.Errorf("build controller: %w", err)
	}
	return nil
}

func addIndexes(ctx context.Context, indexer client.FieldIndexer, mode Mode) error {
	jobs := &metav1.PartialObjectMetadata{}
	jobs.SetGroupVersionKind(batchv1.SchemeGroupVersion.WithKind("Job"))
	for _, object := range []client.Object{jobs, &corev1.Pod{}} {
		if err := indexer.IndexField(ctx, object, trainJobIndex, indexTrainJobName(mode)); err != nil {
			return fmt.Errorf("index by TrainJob: %w", err)
		}
	}
	if err := indexer.IndexField(ctx, &trainer.TrainJob{}, runtimeIndex, indexRuntimeName); err != nil {
		return fmt.Errorf("index TrainJobs by runtime: %w", err)
	}
	return nil
}

func indexTrainJobName(mode Mode) client.IndexerFunc {
	return func(object client.Object) []string { return []string{object.GetLabels()[mode.jobLabel()]} }
}

func indexRuntimeName(object client.Object) []string {
	ref := object.(*trainer.TrainJob).Spec.RuntimeRef //nolint:forcetypeassert // the index is on TrainJobs
	return []string{ptr.Deref(ref.Kind, trainer.ClusterTrainingRuntimeKind) + "/" + ref.Name}
}

func (m Mode) jobByLabel(_ context.Context, object client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{
		Namespace: object.GetNamespace(), Name: object.GetLabels()[m.jobLabel()],
	}}}
}

// enqueueJobsOfRuntime finds the TrainJobs that may wait for a runtime.
func (r *Reconciler) enqueueJobsOfRuntime(kind string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, runtime client.Object) []reconcile.Request {
		var list trainer.TrainJobList
		err := r.client.List(ctx, &list, client.InNamespace(runtime.GetNamespace()),
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

// uncachedKinds are the kinds that the client must always read from the API server, so that a mistake cannot start to list and watch
// the Secrets of a cluster.
func uncachedKinds() []client.Object {
	return []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}, &networkingv1.NetworkPolicy{}, &corev1.Event{}}
}
