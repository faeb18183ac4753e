package fetch

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/apierror"
	"lockstep.dev/lockstep/pkg/jobs/preflight"
	"lockstep.dev/lockstep/pkg/jobs/validate"
	"lockstep.dev/lockstep/pkg/jobs/view"
	"lockstep.dev/lockstep/pkg/mpi"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
)

// preflightReader reads what preflight judges.
type preflightReader struct {
	client client.Client
	in     preflight.Input
}

// PreflightInput reads what can be known of a job that does not exist yet. It fails only where there is no answer at all; what may not be read is
// named in the input.
func PreflightInput(ctx context.Context, c client.Client, job *trainer.TrainJob) (preflight.Input, error) {
	a := &preflightReader{client: c, in: preflight.Input{TrainJob: job}}
	for _, read := range []func(context.Context) error{a.dryRunAdmission, a.readRuntime, a.readBounds, a.readQueue} {
		if err := read(ctx); err != nil {
			return preflight.Input{}, err
		}
	}
	if made := a.resolveJob(); made != nil {
		a.findMissingReferences(ctx, *made)
		a.readMachines(ctx, *made)
	}
	return a.in, nil
}

// FreeRoomInput reads what there is room for now, for a job that exists and has no pods, which would count against quotas. Whether it is admitted, and
// where it stands in its queue, its conditions say.
func FreeRoomInput(ctx context.Context, c client.Client, o view.JobObjects) (preflight.Input, error) {
	a := &preflightReader{client: c, in: preflight.Input{TrainJob: o.TrainJob, Runtime: o.Runtime}}
	err := a.readBounds(ctx)
	return a.in, err
}

// noteUnseen notes that something could not be read.
func (a *preflightReader) noteUnseen(what string, err error) {
	a.in.Unseen = append(a.in.Unseen, fmt.Sprintf("%s: %s", what, apierror.Explain(err).Message))
}

// isFatal reports whether an error says that nothing can be read at all.
func isFatal(err error) bool {
	kind := apierror.Explain(err).Kind
	return kind == apierror.NoServer || kind == apierror.Unknown || kind == apierror.NoKind
}

// dryRunAdmission asks the API server whether it would take the job: its schema, policies and webhooks judge a dry run as they judge the job.
func (a *preflightReader) dryRunAdmission(ctx context.Context) error {
	err := a.client.Create(ctx, a.in.TrainJob.DeepCopy(), client.DryRunAll)
	if err == nil {
		return nil
	}
	switch e := apierror.Explain(err); {
	case isFatal(err):
		return err
	case e.Kind == apierror.Forbidden:
		a.in.Rights = append(a.in.Rights, e.Message)
	default:
		a.in.Denied = e.Message
	}
	return nil
}

func (a *preflightReader) readRuntime(ctx context.Context) error {
	runtime, err := RuntimeOf(ctx, a.client, a.in.TrainJob)
	switch {
	case err == nil:
		a.in.Runtime = runtime
		if err := validate.HasCommand(a.in.TrainJob, *runtime); err != nil && a.in.Denied == "" {
			a.in.Denied = err.Error()
		}
	case apierrors.IsNotFound(err) && a.in.Denied == "":
		a.in.Denied = fmt.Sprintf("there is no runtime `%s`", a.in.TrainJob.Spec.RuntimeRef.Name)
	default:
		a.noteUnseen("runtime", err)
	}
	return nil
}

func (a *preflightReader) resolveJob() *mpijob.Job {
	if a.in.Runtime == nil || !a.in.Runtime.IsMPI() {
		return nil
	}
	made, err := mpijob.Resolve(a.in.TrainJob, *a.in.Runtime)
	if err != nil {
		return nil
	}
	return &made
}

func (a *preflightReader) readBounds(ctx context.Context) error {
	in := client.InNamespace(a.in.TrainJob.Namespace)
	var quotas corev1.ResourceQuotaList
	if err := a.client.List(ctx, &quotas, in); err != nil {
		a.noteUnseen("quotas", err)
	}
	var limits corev1.LimitRangeList
	if err := a.client.List(ctx, &limits, in); err != nil {
		a.noteUnseen("LimitRanges", err)
	}
	a.in.Bounds.Quotas, a.in.Bounds.Limits = quotas.Items, limits.Items
	return nil
}

// readQueue counts who waits in the queue of the job. Jobs of other namespaces may wait for the same machines, which nobody but Kueue sees.
func (a *preflightReader) readQueue(ctx context.Context) error {
	name := a.in.TrainJob.Labels[kueue.QueueLabel]
	if name == "" {
		return nil
	}
	queue := &unstructured.Unstructured{}
	queue.SetGroupVersionKind(LocalQueueKind)
	err := a.client.Get(ctx, client.ObjectKey{Namespace: a.in.TrainJob.Namespace, Name: name}, queue)
	switch {
	case apierrors.IsNotFound(err):
		a.in.Queue = &preflight.QueueState{Name: name, Missing: true}
		return nil
	case err != nil:
		a.noteUnseen("queue", err)
		return nil
	}
	workloads := &unstructured.UnstructuredList{}
	workloads.SetGroupVersionKind(WorkloadKind.GroupVersion().WithKind(WorkloadKind.Kind + "List"))
	if err := a.client.List(ctx, workloads, client.InNamespace(a.in.TrainJob.Namespace)); err != nil {
		a.noteUnseen("who waits in the queue", err)
		return nil
	}
	a.in.Queue = &preflight.QueueState{Name: name}
	for _, object := range workloads.Items {
		if w, read := kueue.WorkloadOf(object); read && w.Queue == name && w.Reserved.Equal(time.Time{}) {
			a.in.Queue.Waiting++
		}
	}
	return nil
}

// findMissingReferences looks for what the pods need to find.
func (a *preflightReader) findMissingReferences(ctx context.Context, made mpijob.Job) {
	for _, reference := range desired.References(made) {
		object := &metav1.PartialObjectMetadata{TypeMeta: reference.TypeMeta()}
		err := a.client.Get(ctx, client.ObjectKey{Namespace: made.Namespace, Name: reference.Name}, object)
		switch {
		case apierrors.IsNotFound(err):
			a.in.Bounds.Missing = append(a.in.Bounds.Missing, reference)
		case err != nil:
			a.noteUnseen(reference.String(), err)
		}
	}
}

// readMachines reads the machines that the nodes of the job may run on, and how much of them is free. Few users may list
// machines, and fewer the pods of all namespaces.
func (a *preflightReader) readMachines(ctx context.Context, made mpijob.Job) {
	sets := desired.PodSets(desired.JobSet(made))
	i := slices.IndexFunc(sets, func(s desired.PodSet) bool { return s.Name == mpi.NodeJob })
	if i < 0 {
		return
	}
	selector := client.MatchingLabelsSelector{Selector: labels.SelectorFromSet(sets[i].Spec.NodeSelector)}
	var nodes corev1.NodeList
	if err := a.client.List(ctx, &nodes, selector); err != nil {
		a.noteUnseen("machines", err)
		return
	}
	found, requested := &preflight.MatchingMachines{}, map[string]*machineLoad{}
	for n := range nodes.Items {
		node := &nodes.Items[n]
		if !toleratesTaints(sets[i].Spec.Tolerations, node.Spec.Taints) {
			continue
		}
		found.Matching++
		if isReadyNode(node) {
			found.Ready++
			requested[node.Name] = &machineLoad{all: corev1.ResourceList{}, daemons: corev1.ResourceList{}}
		}
	}
	a.in.Machines = found
	err := a.addUpPods(ctx, requested)
	if err != nil {
		a.noteUnseen("what runs on the machines", err)
	}
	for n := range nodes.Items {
		load, ready := requested[nodes.Items[n].Name]
		if !ready {
			continue
		}
		whole, free := nodes.Items[n].Status.Allocatable.DeepCopy(), nodes.Items[n].Status.Allocatable.DeepCopy()
		desired.AddTimes(whole, load.daemons, -1)
		found.Whole = append(found.Whole, whole)
		if desired.AddTimes(free, load.all, -1); err == nil {
			found.Free = append(found.Free, free)
		}
	}
}

// machineLoad holds the requests of the pods on a machine.
type machineLoad struct{ all, daemons corev1.ResourceList }

// addUpPods adds up the requests of all pods, machine by machine.
func (a *preflightReader) addUpPods(ctx context.Context, machines map[string]*machineLoad) error {
	for next := ""; ; {
		var pods corev1.PodList
		if err := a.client.List(ctx, &pods, client.Limit(podsPerPage), client.Continue(next)); err != nil {
			return err
		}
		for i := range pods.Items {
			pod := &pods.Items[i]
			load := machines[pod.Spec.NodeName]
			if load == nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
				continue
			}
			wanted := desired.PodRequests(pod.Spec)
			desired.AddTimes(load.all, wanted, 1)
			if owner := metav1.GetControllerOf(pod); owner != nil && owner.Kind == "DaemonSet" {
				desired.AddTimes(load.daemons, wanted, 1)
			}
		}
		if next = pods.Continue; next == "" {
			return nil
		}
	}
}

// podsPerPage is how many pods are read at once.
const podsPerPage = 500

// toleratesTaints reports whether a pod may be put on a machine with taints.
func toleratesTaints(tolerations []corev1.Toleration, taints []corev1.Taint) bool {
	return !slices.ContainsFunc(taints, func(taint corev1.Taint) bool {
		tolerates := func(t corev1.Toleration) bool { return t.ToleratesTaint(klog.Background(), &taint, false) }
		return taint.Effect != corev1.TaintEffectPreferNoSchedule && !slices.ContainsFunc(tolerations, tolerates)
	})
}

func isReadyNode(node *corev1.Node) bool {
	return !node.Spec.Unschedulable && slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
