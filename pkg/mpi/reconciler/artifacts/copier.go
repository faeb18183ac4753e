package artifacts

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/events"
)

// recheck is when to look again at what no watch shows.
const recheck = 5 * time.Second

// maxManifest is the most bytes of a manifest without its files. It is a variable of the pod that copies, and Linux
// takes 128 KiB.
const maxManifest = 120 << 10

// Copier lets artifacts be copied.
type Copier struct {
	Client client.Client
	// Live reads Jobs and pods as they are.
	Live client.Reader
	// FindRuntime returns the runtime of a TrainJob, nil if there is none.
	FindRuntime func(context.Context, *trainer.TrainJob) (*job.Runtime, error)
	Events      *events.Recorder
}

// Reconcile has the artifacts of a job that has ended copied, and shows in its record how far that is.
func (c *Copier) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var trainJob trainer.TrainJob
	if err := c.Client.Get(ctx, request.NamespacedName, &trainJob); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !hasArtifacts(&trainJob) || trainJob.DeletionTimestamp != nil {
		return ctrl.Result{}, nil
	}
	record, known := jobv1.Read(trainJob.Annotations, trainJob.UID)
	if !known || !record.Phase.IsFinal() || record.Executor != jobv1.Controller || record.Started.IsZero() {
		return ctrl.Result{}, nil // the record comes a moment after the end, and is news again
	}
	wanted, refused, err := c.wanted(ctx, &trainJob)
	if err != nil || wanted == nil {
		return ctrl.Result{}, err
	}
	shown := jobv1.Artifacts{Claim: wanted.Claim, Folder: wanted.Folder}
	if refused != nil {
		shown.State, shown.Message, wanted.To = jobv1.CopyFailed, refused.Error(), ""
	}
	if wanted.To != "" {
		shown.To = wanted.Destination(trainJob.Name, trainJob.UID)
		shown.State = jobv1.CopyNone
	}
	var wait time.Duration
	if wanted.IsCopied(record.Phase == jobv1.Complete) {
		if wait, err = c.copyArtifacts(ctx, &trainJob, *wanted, record, &shown); err != nil {
			return ctrl.Result{}, err
		}
	}
	if was := record.Artifacts; was != nil && was.State == shown.State && was.To == shown.To && shown.Digest == "" {
		shown.Files, shown.Bytes, shown.Digest = was.Files, was.Bytes, was.Digest // the pod that reported them is gone
	}
	if record.Artifacts != nil && *record.Artifacts == shown {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	if err := c.writeRecord(ctx, &trainJob, record, shown); err != nil {
		return ctrl.Result{RequeueAfter: recheck}, client.IgnoreNotFound(ignoreConflict(err))
	}
	if shown.State == jobv1.CopyFailed {
		c.Events.Warn(&trainJob, events.ArtifactsNotCopied, shown.Message)
	}
	return ctrl.Result{RequeueAfter: wait}, nil
}

// hasArtifacts reports whether a TrainJob has ended and asks for artifacts.
func hasArtifacts(object client.Object) bool {
	trainJob, is := object.(*trainer.TrainJob)
	if !is || !job.IsManagedHere(trainJob) || !job.IsFinished(trainJob) {
		return false
	}
	_, asked := trainJob.Annotations[mpi.ArtifactsAnnotation]
	return asked
}

// wanted returns the artifacts of a job, nil for none. Their place is the folder of its pods: the annotation may have
// changed since. If it is wrong by now, refused explains it.
func (c *Copier) wanted(ctx context.Context, trainJob *trainer.TrainJob) (a *job.Artifacts, refused, err error) {
	a, refused = job.ArtifactsOf(trainJob)
	var set jobset.JobSet
	err = c.Client.Get(ctx, client.ObjectKeyFromObject(trainJob), &set)
	switch {
	case err == nil && metav1.IsControlledBy(&set, trainJob):
		claim, folder := desired.MountedArtifacts(&set)
		if claim == "" {
			return nil, nil, nil
		}
		if a == nil {
			a = &job.Artifacts{}
		}
		a.Claim, a.Folder = claim, folder
	case client.IgnoreNotFound(err) != nil:
		return nil, nil, fmt.Errorf("read the JobSet: %w", err)
	case refused != nil:
		return nil, nil, nil //nolint:nilerr // without its pods the place is unknown
	}
	return a, refused, nil
}

// copyArtifacts makes the Job that copies, and describes how far it is.
func (c *Copier) copyArtifacts(
	ctx context.Context, trainJob *trainer.TrainJob, wanted job.Artifacts, record jobv1.Record, shown *jobv1.Artifacts,
) (wait time.Duration, err error) {
	key := client.ObjectKey{Namespace: trainJob.Namespace, Name: desired.FetchJobName(trainJob.Name, mpi.ArtifactsStep)}
	var copying batchv1.Job
	shown.State = jobv1.CopyRunning
	switch err := c.Live.Get(ctx, key, &copying); {
	case apierrors.IsNotFound(err):
		return recheck, c.start(ctx, trainJob, wanted, record, shown)
	case err != nil:
		return 0, fmt.Errorf("read the Job that copies artifacts: %w", err)
	}
	o := observe.Observed{TrainJob: trainJob, Fetches: []batchv1.Job{copying}}
	if _, claim := o.Fetch(copying.Name); claim != job.Own {
		shown.Message = "a Job `" + copying.Name + "` of another owner is in the way: delete it"
		return recheck, nil
	}
	var pods corev1.PodList
	if err := c.Live.List(ctx, &pods, client.InNamespace(trainJob.Namespace),
		client.MatchingLabels{batchv1.JobNameLabel: copying.Name}); err != nil {
		return 0, fmt.Errorf("list the pods that copy artifacts: %w", err)
	}
	o.Pods = pods.Items
	describe(o, &copying, shown)
	if shown.State == jobv1.CopyRunning {
		return recheck, nil
	}
	return 0, nil
}

// describe finds out from the Job and its pods how far the copy is.
func describe(o observe.Observed, copying *batchv1.Job, shown *jobv1.Artifacts) {
	of := o.FetchPods(copying)
	for i := len(of) - 1; i >= 0; i-- {
		if of[i].Status.Phase == corev1.PodSucceeded {
			report := reportOf(of[i], mpi.ArtifactsStep)
			shown.State, shown.Files, shown.Bytes, shown.Digest = jobv1.CopyDone, report.Files, report.Bytes, report.Digest
			return
		}
	}
	if observe.FetchCondition(copying, batchv1.JobComplete) != nil {
		shown.State = jobv1.CopyDone // its pod is gone
		return
	}
	for i := len(of) - 1; i >= 0 && shown.Message == ""; i-- {
		if why := observe.FetchFailure(of[i]); why != nil {
			shown.Reason, shown.Message = string(why.Reason), why.Message
		}
	}
	if failed := observe.FetchCondition(copying, batchv1.JobFailed); failed != nil {
		shown.State, shown.Message = jobv1.CopyFailed, cmp.Or(shown.Message, failed.Message)
		// Tenants may not delete the Job, after which it would be copied again.
		shown.Message += "; once that is mended, a job with the same folder copies it, `kubectl mpi clone " +
			o.TrainJob.Name + " NAME --resume -- mpirun true`"
	}
}

// reportOf reads the termination message of a container.
func reportOf(pod *corev1.Pod, container string) (report mpi.FetchReport) {
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == container && c.State.Terminated != nil {
			_ = json.Unmarshal([]byte(c.State.Terminated.Message), &report) // without it nothing is known
		}
	}
	return report
}

// start makes the Job, or explains why it is not made yet.
func (c *Copier) start(
	ctx context.Context, trainJob *trainer.TrainJob, wanted job.Artifacts, record jobv1.Record, shown *jobv1.Artifacts,
) error {
	runtime, err := c.FindRuntime(ctx, trainJob)
	if err != nil {
		return fmt.Errorf("read the runtime: %w", err)
	}
	if runtime == nil {
		shown.Message = "the runtime of the job is gone, which names the program that copies"
		return nil
	}
	made, err := job.Resolve(trainJob, *runtime)
	if err != nil {
		shown.Message = err.Error()
		return nil //nolint:nilerr // people read it in the record
	}
	made.Artifacts = &wanted
	digests, err := c.inputDigests(ctx, made)
	if err != nil {
		return err
	}
	manifest := manifestOf(trainJob, made, record, digests)
	run, err := json.Marshal(manifest)
	if len(run) > maxManifest {
		manifest.Command, manifest.Args = nil, nil
		run, err = json.Marshal(manifest)
	}
	if err != nil {
		return err
	}
	switch err := c.Client.Create(ctx, desired.ArtifactsJob(made, string(run)), client.FieldOwner(mpi.ControllerName)); {
	case apierrors.IsAlreadyExists(err):
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		shown.Message = err.Error()
	case err != nil:
		return client.IgnoreNotFound(fmt.Errorf("create the Job that copies artifacts: %w", err))
	}
	return nil
}

// inputDigests returns the digests of fetched data by step, as long as the pods that fetched it are there.
func (c *Copier) inputDigests(ctx context.Context, made job.Job) (map[string]string, error) {
	digests := map[string]string{}
	if len(made.Data) == 0 {
		return digests, nil
	}
	var pods corev1.PodList
	if err := c.Live.List(ctx, &pods, client.InNamespace(made.Namespace),
		client.MatchingLabels{mpi.TrainJobLabel: made.Name}, client.HasLabels{mpi.AncestorLabel}); err != nil {
		return nil, fmt.Errorf("list the pods that have fetched data: %w", err)
	}
	for i := range pods.Items {
		step := pods.Items[i].Labels[mpi.AncestorLabel]
		if digest := reportOf(&pods.Items[i], step).Digest; digest != "" {
			digests[step] = digest
		}
	}
	return digests, nil
}

// manifestOf describes a job that has ended.
func manifestOf(
	trainJob *trainer.TrainJob, made job.Job, record jobv1.Record, digests map[string]string,
) jobv1.Manifest {
	launcher := job.ReplicatedJob(made.Template.Spec, mpi.LauncherJob)
	m := jobv1.Manifest{
		Version: jobv1.Version, Job: trainJob.Name, Namespace: trainJob.Namespace, UID: trainJob.UID,
		User: trainJob.Annotations[mpi.UserAnnotation], Runtime: trainJob.Spec.RuntimeRef.Name,
		Fingerprint: made.Runtime.Annotations[mpi.FingerprintAnnotation],
		Image:       ptr.Deref(made.Trainer.Image, job.MainContainer(&launcher.Template.Spec.Template.Spec).Image),
		Command:     made.Trainer.Command, Args: made.Trainer.Args, World: record.World, Phase: record.Phase,
		Created: trainJob.CreationTimestamp, Started: record.Started, Metrics: map[string]string{},
	}
	if end := job.EndCondition(trainJob.Status); end != nil {
		m.Ended = end.LastTransitionTime
	}
	for _, d := range made.Data {
		m.Inputs = append(m.Inputs, jobv1.Input{Step: d.Step, URI: d.URI, Digest: digests[d.Step]})
	}
	if reported := trainJob.Status.TrainerStatus; reported != nil {
		for _, metric := range reported.Metrics {
			m.Metrics[metric.Name] = metric.Value
		}
	}
	return m
}

// writeRecord shows artifacts in the record of its job, if nothing has changed meanwhile.
func (c *Copier) writeRecord(
	ctx context.Context, trainJob *trainer.TrainJob, record jobv1.Record, shown jobv1.Artifacts,
) error {
	record.Artifacts = &shown
	text := status.EncodeRecord(trainJob, record)
	if text == "" {
		return nil // there is no room for it
	}
	before := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{
		Namespace: trainJob.Namespace, Name: trainJob.Name, UID: trainJob.UID, ResourceVersion: trainJob.ResourceVersion,
	}}
	after := before.DeepCopy()
	after.Annotations = map[string]string{jobv1.Annotation: text}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return c.Client.Patch(ctx, after, patch, client.FieldOwner(mpi.ControllerName))
}

// ignoreConflict leaves a lost race to the next look.
func ignoreConflict(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}
