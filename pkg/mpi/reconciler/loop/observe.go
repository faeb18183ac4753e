package loop

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/events"
)

// observeJob does every read of a pass. The error is NotFound when the TrainJob is gone.
func (r *Reconciler) observeJob(ctx context.Context, name client.ObjectKey) (observe.Observed, error) {
	o := observe.Observed{Now: r.Now(), ControllerNamespace: r.Namespace, Beside: r.Mode == Companion, TrainJob: &trainer.TrainJob{}}
	if err := r.Client.Get(ctx, name, o.TrainJob); err != nil || !job.IsManagedHere(o.TrainJob) {
		return o, err
	}
	if r.cache.isBehind(name, o.TrainJob.ResourceVersion) {
		return o, errBehind
	}
	var err error
	if o.JobSet, err = GetJobSet(ctx, r.Client, name); err != nil {
		return o, err
	}
	o.Shown, o.TrainJob.Status.Conditions = o.TrainJob.Status.Conditions, r.conditionsOf(o)
	if r.Mode.skipsChildren(o) {
		if o.JobSetOutlivesJob() {
			err = r.listJobsAndPods(ctx, name, &o)
		}
		return o, err
	}
	if o.Runtime, err = r.FindRuntime(ctx, o.TrainJob); err != nil {
		return o, err
	}
	// One that seems to have lost its JobSet is ours whatever has become of its runtime, and the cache may only be behind.
	if !o.OwnsJobSet() && (o.Runtime == nil || !o.Runtime.IsMPI()) && (r.Mode != Executor || !o.JobSetGone()) {
		return o, nil
	}
	if err := r.listJobsAndPods(ctx, name, &o); err != nil {
		return o, err
	}
	if err := r.refreshJobSet(ctx, name, &o); err != nil {
		return o, err
	}
	r.cache.rememberFacts(name, &o)
	if o.Warnings, err = r.warningsOf(ctx, name, phase.DeriveFacts(o)); err != nil {
		return o, err
	}
	if err := r.readUncached(ctx, name, &o); err != nil {
		return o, err
	}
	if r.Mode == Executor && o.JobSetGone() {
		if o.NamespaceTerminating, err = r.isNamespaceTerminating(ctx, o.TrainJob); err != nil {
			return o, err
		}
	}
	if o.PolicyGone, err = r.isPolicyGone(ctx, phase.DeriveFacts(o)); err != nil {
		return o, err
	}
	if r.Mode == Executor {
		o.Eviction = r.evictions.Of(ctx, o)
	}
	o.Wait = r.Queues.WaitOf(o.TrainJob)
	o.Gate = r.Launchers.GateOf(name)
	return o, nil
}

// conditionsOf returns all conditions of a TrainJob. An executor decides by them, so they come from what it published
// itself or from what users cannot write. A companion only informs.
func (r *Reconciler) conditionsOf(o observe.Observed) []metav1.Condition {
	if r.Mode == Companion {
		return status.AllConditions(o.TrainJob)
	}
	if published, known := r.cache.publishedConditions(o.TrainJob); known {
		return status.MergeStatusConditions(published, o.TrainJob.Status.Conditions)
	}
	return status.RestoredConditions(o.TrainJob, o.JobSet, o.Now)
}

// refreshJobSet asks the API server for the JobSet of a job that loses pods: the cache may not know yet that it was suspended.
func (r *Reconciler) refreshJobSet(ctx context.Context, name client.ObjectKey, o *observe.Observed) (err error) {
	if !phase.LosesPods(*o) {
		return nil
	}
	if o.JobSet, err = GetJobSet(ctx, r.Live, name); err != nil {
		return fmt.Errorf("read the JobSet of a job that loses pods: %w", err)
	}
	return nil
}

// readUncached reads what is not watched, where a decision needs it, and the bounds of the namespace.
func (r *Reconciler) readUncached(ctx context.Context, name client.ObjectKey, o *observe.Observed) error {
	if waits, err := r.stillWaits(ctx, o); waits || err != nil {
		return err
	}
	if r.Mode == Executor && o.TrainJob.Spec.Initializer != nil && !o.OwnsJobSet() {
		if err := r.readFetches(ctx, name, o); err != nil {
			return err
		}
	}
	if phase.DeriveFacts(*o).NeedsChildren() {
		if err := r.readChildren(ctx, name, o); err != nil {
			return err
		}
		r.cache.rememberFacts(name, o)
	}
	if o.Runtime != nil && phase.DeriveFacts(*o).NeedsBounds() {
		return r.readBounds(ctx, o)
	}
	return nil
}

// readFetches reads the Jobs that fetch data. The cache has no more of Jobs than their metadata.
func (r *Reconciler) readFetches(ctx context.Context, name client.ObjectKey, o *observe.Observed) error {
	for _, step := range []string{mpi.DatasetInitializer, mpi.ModelInitializer} {
		var made batchv1.Job
		err := r.Live.Get(ctx, client.ObjectKey{Namespace: name.Namespace, Name: desired.FetchJobName(name.Name, step)}, &made)
		switch {
		case err == nil:
			o.Fetches = append(o.Fetches, made)
		case !apierrors.IsNotFound(err):
			return fmt.Errorf("read the Job that fetches data: %w", err)
		}
	}
	return nil
}

// FindRuntime returns nil for a runtime that does not exist, or is of a kind or an API group that no TrainJob controller knows.
func (r *Reconciler) FindRuntime(ctx context.Context, trainJob *trainer.TrainJob) (*job.Runtime, error) {
	ref := trainJob.Spec.RuntimeRef
	if !job.NamesTrainerRuntime(ref) {
		return nil, nil
	}
	switch ptr.Deref(ref.Kind, trainer.ClusterTrainingRuntimeKind) {
	case trainer.ClusterTrainingRuntimeKind:
		var runtime trainer.ClusterTrainingRuntime
		if err := r.getCachedOrLive(ctx, client.ObjectKey{Name: ref.Name}, &runtime); err != nil {
			return nil, client.IgnoreNotFound(err)
		}
		return &job.Runtime{Labels: runtime.Labels, Annotations: runtime.Annotations, Spec: runtime.Spec}, nil
	case trainer.TrainingRuntimeKind:
		var runtime trainer.TrainingRuntime
		if err := r.getCachedOrLive(ctx, client.ObjectKey{Namespace: trainJob.Namespace, Name: ref.Name}, &runtime); err != nil {
			return nil, client.IgnoreNotFound(err)
		}
		return &job.Runtime{Labels: runtime.Labels, Annotations: runtime.Annotations, Spec: runtime.Spec}, nil
	}
	return nil, nil
}

// getCachedOrLive asks the API server for what the cache lacks: it may be behind by milliseconds, and an executor says of a TrainJob
// without a runtime that it has none, which must be true. Beside Kubeflow Trainer nothing is said.
func (r *Reconciler) getCachedOrLive(ctx context.Context, key client.ObjectKey, object client.Object) error {
	err := r.Client.Get(ctx, key, object)
	if apierrors.IsNotFound(err) && r.Mode == Executor {
		return r.Live.Get(ctx, key, object)
	}
	return err
}

// GetJobSet returns nil if there is no JobSet of the name.
func GetJobSet(ctx context.Context, reader client.Reader, name client.ObjectKey, options ...client.GetOption) (*jobset.JobSet, error) {
	var found jobset.JobSet
	if err := reader.Get(ctx, name, &found, options...); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return &found, nil
}

// listJobsAndPods reads Jobs and pods from the cache.
func (r *Reconciler) listJobsAndPods(ctx context.Context, name client.ObjectKey, o *observe.Observed) error {
	// Nothing here is changed, and a wide job has thousands of pods: no copies.
	ofJob := []client.ListOption{client.InNamespace(name.Namespace), client.MatchingFields{TrainJobIndex: name.Name}, client.UnsafeDisableDeepCopy}
	jobs := metav1.PartialObjectMetadataList{}
	jobs.SetGroupVersionKind(batchv1.SchemeGroupVersion.WithKind("JobList"))
	if err := r.Client.List(ctx, &jobs, ofJob...); err != nil {
		return fmt.Errorf("list jobs: %w", err)
	}
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, ofJob...); err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	o.Jobs, o.Pods = jobs.Items, pods.Items
	return nil
}

// readChildren asks the API server, all at once. The JobSet is asked for too: the cache holds only those with our label, and
// may be behind.
func (r *Reconciler) readChildren(ctx context.Context, name client.ObjectKey, o *observe.Observed) error {
	children := partialChildren(name, o.Runtime)
	if r.Mode == Executor && !o.OwnsJobSet() && o.Runtime != nil {
		for _, childName := range o.Runtime.JobNames(name.Name) {
			children = append(children, partialObject(batchv1.SchemeGroupVersion.WithKind("Job"), name.Namespace, childName))
		}
	}
	found := make([]bool, len(children))
	var hostfile corev1.ConfigMap
	group, ctx := errgroup.WithContext(ctx)
	for i := range children {
		group.Go(func() error {
			err := r.Live.Get(ctx, client.ObjectKeyFromObject(&children[i]), &children[i])
			found[i] = err == nil
			// A kind that the cluster lacks has no objects; creating one says so.
			if apimeta.IsNoMatchError(err) {
				return nil
			}
			return client.IgnoreNotFound(err)
		})
	}
	group.Go(func() error {
		if r.Mode == Companion {
			return nil
		}
		key := client.ObjectKey{Namespace: name.Namespace, Name: mpi.HostfileConfigMapName(name.Name)}
		return client.IgnoreNotFound(r.Live.Get(ctx, key, &hostfile))
	})
	group.Go(func() (err error) {
		o.JobSet, err = GetJobSet(ctx, r.Live, name)
		return err
	})
	if err := group.Wait(); err != nil {
		return fmt.Errorf("read the objects of the job: %w", err)
	}
	for i := range children {
		switch {
		case !found[i]:
		case children[i].Kind == "Job":
			o.ChildJobs = append(o.ChildJobs, children[i])
		default:
			o.Children = append(o.Children, children[i])
		}
	}
	r.restoreRuntime(ctx, o, hostfile)
	return nil
}

// restoreRuntime takes the runtime as it was when the job was made, if the job was.
func (r *Reconciler) restoreRuntime(ctx context.Context, o *observe.Observed, hostfile corev1.ConfigMap) {
	if why := o.RestoreRuntime(hostfile); why != nil {
		r.warnOnce(ctx, o.TrainJob, events.SnapshotChanged, hostfile.ResourceVersion, "the runtime that the job was made from is not known: "+why.Error())
	}
}

// partialChildren names what a job has beside its JobSet. Only metadata is read, so no key ever comes into this process
// before it is needed. The hostfile's ConfigMap is read apart, with the runtime that it keeps.
func partialChildren(name client.ObjectKey, runtime *job.Runtime) []metav1.PartialObjectMetadata {
	children := []metav1.PartialObjectMetadata{
		partialObject(corev1.SchemeGroupVersion.WithKind("Secret"), name.Namespace, mpi.SSHAuthSecretName(name.Name)),
		partialPolicy(name),
	}
	if runtime == nil {
		return children
	}
	if kind, wanted := runtime.PodGroupType(); wanted {
		children = append(children, partialObject(schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind), name.Namespace, name.Name))
	}
	return children
}

func partialPolicy(name client.ObjectKey) metav1.PartialObjectMetadata {
	return partialObject(networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"), name.Namespace, mpi.NetworkPolicyName(name.Name))
}

func partialObject(kind schema.GroupVersionKind, namespace, name string) metav1.PartialObjectMetadata {
	var object metav1.PartialObjectMetadata
	object.SetGroupVersionKind(kind)
	object.Namespace, object.Name = namespace, name
	return object
}
