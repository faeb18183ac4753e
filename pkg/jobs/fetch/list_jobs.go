package fetch

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/view"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// podsUpTo is for how many jobs a list reads JobSets and pods. Of more jobs it reads their Jobs, of which there are two each and which are a
// tenth as large: they count ready pods, too, and only what pods wait for is not seen.
const podsUpTo = 100

// JobSelection says which jobs are listed.
type JobSelection struct {
	// Namespace is empty for all.
	Namespace string
	// Labels is nil for all.
	Labels labels.Selector
}

// ListJobs reads all jobs of a selection in five requests at most, and says what could not be read.
func ListJobs(ctx context.Context, c client.Reader, selection JobSelection) ([]view.JobObjects, []view.Withheld, error) {
	options := []client.ListOption{client.InNamespace(selection.Namespace)}
	if selection.Labels != nil {
		options = append(options, client.MatchingLabelsSelector{Selector: selection.Labels})
	}
	var trainJobs trainer.TrainJobList
	if err := c.List(ctx, &trainJobs, options...); err != nil {
		return nil, nil, err
	}
	r := &listReader{ctx: ctx, reader: c, namespace: selection.Namespace}
	runtimes := r.readRuntimes()
	objects := make([]view.JobObjects, len(trainJobs.Items))
	byKey := make(map[client.ObjectKey]*view.JobObjects, len(objects))
	now := time.Now()
	for i := range trainJobs.Items {
		trainJob := &trainJobs.Items[i]
		objects[i] = view.JobObjects{Now: now, TrainJob: trainJob, Runtime: runtimes[runtimeKeyOf(trainJob)]}
		byKey[client.ObjectKeyFromObject(trainJob)] = &objects[i]
	}
	switch {
	case len(objects) == 0:
	case len(objects) <= podsUpTo:
		r.addPods(byKey)
	default:
		r.addJobs(byKey)
	}
	return objects, r.noted.Withheld, r.err
}

// listReader is one reading of a list. After an error it reads nothing more.
type listReader struct {
	ctx       context.Context //nolint:containedctx // a reading lives as long as the call that it serves
	reader    client.Reader
	namespace string
	noted     view.JobObjects
	err       error
}

func (r *listReader) listInto(what string, into client.ObjectList, options ...client.ListOption) bool {
	if r.err != nil {
		return false
	}
	err := r.reader.List(r.ctx, into, append([]client.ListOption{client.InNamespace(r.namespace)}, options...)...)
	read := err == nil
	r.err = withholdOrFail(&r.noted, what, &err)
	return read
}

// runtimeKey names a runtime; the namespace of one that all may use is empty.
type runtimeKey struct{ kind, namespace, name string }

func runtimeKeyOf(trainJob *trainer.TrainJob) runtimeKey {
	ref := trainJob.Spec.RuntimeRef
	kind := ptr.Deref(ref.Kind, trainer.ClusterTrainingRuntimeKind)
	if kind == trainer.TrainingRuntimeKind {
		return runtimeKey{kind, trainJob.Namespace, ref.Name}
	}
	return runtimeKey{kind, "", ref.Name}
}

// readRuntimes reads all runtimes: there are few, and each serves many jobs.
func (r *listReader) readRuntimes() map[runtimeKey]*job.Runtime {
	found := map[runtimeKey]*job.Runtime{}
	var shared trainer.ClusterTrainingRuntimeList
	r.listInto("clustertrainingruntimes", &shared, client.InNamespace(""))
	for _, item := range shared.Items {
		found[runtimeKey{trainer.ClusterTrainingRuntimeKind, "", item.Name}] = &job.Runtime{Labels: item.Labels, Annotations: item.Annotations, Spec: item.Spec}
	}
	var own trainer.TrainingRuntimeList
	r.listInto("trainingruntimes", &own)
	for _, item := range own.Items {
		found[runtimeKey{trainer.TrainingRuntimeKind, item.Namespace, item.Name}] = &job.Runtime{Labels: item.Labels, Annotations: item.Annotations, Spec: item.Spec}
	}
	return found
}

// addPods adds JobSets and pods.
func (r *listReader) addPods(jobs map[client.ObjectKey]*view.JobObjects) {
	var sets jobset.JobSetList
	var pods corev1.PodList
	r.listInto("jobsets", &sets)
	read := r.listInto("pods", &pods, client.HasLabels{mpi.JobSetNameLabel})
	for i := range sets.Items {
		if o := jobs[client.ObjectKeyFromObject(&sets.Items[i])]; o != nil && job.ClaimOf(o.TrainJob, &sets.Items[i]) == job.Own {
			o.JobSet = &sets.Items[i]
		}
	}
	for _, o := range jobs {
		o.PodsRead = read
	}
	for _, pod := range pods.Items {
		if o := jobs[client.ObjectKey{Namespace: pod.Namespace, Name: pod.Labels[mpi.JobSetNameLabel]}]; o != nil {
			o.Pods = append(o.Pods, pod)
		}
	}
}

// addJobs adds Jobs.
func (r *listReader) addJobs(jobs map[client.ObjectKey]*view.JobObjects) {
	var made batchv1.JobList
	r.listInto("jobs", &made, client.HasLabels{mpi.JobSetNameLabel})
	for _, item := range made.Items {
		if o := jobs[client.ObjectKey{Namespace: item.Namespace, Name: item.Labels[mpi.JobSetNameLabel]}]; o != nil && job.IsOfJobSet(o.TrainJob, &item) {
			o.Jobs = append(o.Jobs, item)
		}
	}
}
