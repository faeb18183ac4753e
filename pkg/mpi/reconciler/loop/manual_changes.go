package loop

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/events"
)

// isPolicyGone reports whether the network policy of a started job is gone. The cache, which may be behind, is believed only where it has
// one; what it lacks is asked for by name.
func (r *Reconciler) isPolicyGone(ctx context.Context, f *phase.Facts) (bool, error) {
	if r.Policies == nil || !f.OwnsJobSet() || f.JobSet.Labels[mpi.TrainJobLabel] == "" || f.End.JobSetEnds() {
		return false, nil
	}
	policy := partialPolicy(client.ObjectKeyFromObject(f.TrainJob))
	for _, reader := range []client.Reader{r.Policies, r.Live} {
		switch err := reader.Get(ctx, client.ObjectKeyFromObject(&policy), &policy); {
		case err == nil:
			return false, nil
		case !apierrors.IsNotFound(err):
			return false, fmt.Errorf("look for the network policy of the job: %w", err)
		}
	}
	return true, nil
}

// isNamespaceTerminating reports whether the namespace of a TrainJob is being deleted. The controller has no right to read namespaces, and
// needs none: the API server refuses what is to be created in one that goes, also where nothing would be (k8s.io/apiserver
// pkg/admission/plugin/namespace/lifecycle).
func (r *Reconciler) isNamespaceTerminating(ctx context.Context, trainJob *trainer.TrainJob) (bool, error) {
	probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: trainJob.Namespace, Name: mpi.HostfileConfigMapName(trainJob.Name)}}
	switch err := r.Client.Create(ctx, probe, client.DryRunAll, client.FieldOwner(mpi.ControllerName)); {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), apierrors.IsNotFound(err):
		return true, nil
	case err == nil, apierrors.IsAlreadyExists(err), apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return false, nil
	default:
		return false, fmt.Errorf("ask whether the namespace is being deleted: %w", err)
	}
}

// logForbidden says of an error that is a refusal, once and in plain words, why nothing becomes of a TrainJob in a namespace where the controller lacks a right. It may
// not write a status or an event there either, so the log is the only place. The error itself is the pass's, which counts as failed.
func (r *Reconciler) logForbidden(ctx context.Context, name client.ObjectKey, err error) {
	if !apierrors.IsForbidden(err) || !r.cache.isNew(name, "forbidden", err.Error()) {
		return
	}
	ctrl.LoggerFrom(ctx).Error(err, "the controller may not "+deniedRight(err)+" in this namespace, and cannot tell the TrainJob so: create it in a namespace of a tenant, "+
		"or bind the ClusterRole mpi-controller-jobs there; after an upgrade, apply the ClusterRoles of its version, too", "namespace", name.Namespace)
}

// denied finds verb and resource in what the API server says of a right that is missing (k8s.io/apiserver
// pkg/endpoints/handlers/responsewriters, forbiddenMessage).
var denied = regexp.MustCompile(`cannot (\S+) resource "([^"]+)"`)

// deniedRight names the verb and the resource that the API server refuses.
func deniedRight(err error) string {
	if found := denied.FindStringSubmatch(err.Error()); found != nil {
		return found[1] + " " + found[2]
	}
	return "run jobs"
}

// ignoredNodes returns how many nodes the TrainJob of a suspended JobSet asks for, 0 if the JobSet was made with as
// many. The API server lets a TrainJob get a trainer that had none, and Jobs keep their number of pods.
func ignoredNodes(f *phase.Facts) int32 {
	if !f.OwnsJobSet() || !job.IsSuspended(f.JobSet) || f.Runtime == nil {
		return 0
	}
	asked, err := job.Resolve(f.TrainJob, *f.Runtime)
	if err != nil || job.CountPods(f.JobSet) == int(asked.World.Pods()) {
		return 0
	}
	return asked.World.Nodes
}

// warnOfManualChanges tells of what somebody did to objects of a job that goes on all the same. Created is what was to be made for what
// was missing, and was where applied is nil: its UID tells one deletion from the next.
func (r *Reconciler) warnOfManualChanges(ctx context.Context, f *phase.Facts, created []job.Object, applied error) {
	if f.PolicyGone && len(created) > 0 && applied == nil {
		note := fmt.Sprintf("somebody deleted NetworkPolicy `%s` of the job, without which its pods may not reach each other: it is there again", mpi.NetworkPolicyName(f.TrainJob.Name))
		r.warnOnce(ctx, f.TrainJob, events.PolicyDeleted, string(created[0].GetUID()), note)
	}
	if asked := ignoredNodes(f); r.Mode == Executor && asked > 0 {
		note := fmt.Sprintf("the TrainJob asks for %d nodes, and a job keeps the nodes that it was made with: "+
			"`kubectl mpi clone %s --set nodes=%d` makes a job like it with %d", asked, f.TrainJob.Name, asked, asked)
		r.warnOnce(ctx, f.TrainJob, events.NodesChanged, strconv.FormatInt(f.TrainJob.Generation, 10), note)
	}
	if f.SuspendedByHand() {
		note := fmt.Sprintf("somebody suspended JobSet `%s`, which takes the pods away, and not the TrainJob: the job goes on, from its beginning where its pods are gone. "+
			"To stop a job, set spec.suspend of its TrainJob", f.JobSet.Name)
		r.warnOnce(ctx, f.TrainJob, events.JobSetSuspended, strconv.FormatInt(f.JobSet.Generation, 10), note)
	}
}
