package reconciler

import (
	"context"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// policyGone says whether the network policy of a started job is gone. The cache, which may be behind, is believed only where it has
// one; what it lacks is asked for by name.
func (r *Reconciler) policyGone(ctx context.Context, o job.Observed) (bool, error) {
	if r.policies == nil || !o.Owns() || o.JobSet.Labels[mpi.TrainJobLabel] == "" || o.Ended() {
		return false, nil
	}
	policy := policyOf(client.ObjectKeyFromObject(o.TrainJob))
	for _, reader := range []client.Reader{r.policies, r.live} {
		switch err := reader.Get(ctx, client.ObjectKeyFromObject(&policy), &policy); {
		case err == nil:
			return false, nil
		case !apierrors.IsNotFound(err):
			return false, fmt.Errorf("look for the network policy of the job: %w", err)
		}
	}
	return true, nil
}

// logForbidden says once why nothing becomes of a TrainJob in a namespace where the controller may not run jobs. It may not
// write a status or an event there either, so the log is the only place.
func (r *Reconciler) logForbidden(ctx context.Context, name client.ObjectKey, err error) {
	if !r.memory.say(name, "forbidden", err.Error()) {
		return
	}
	ctrl.LoggerFrom(ctx).Error(err, "the controller may not run jobs in this namespace, and cannot tell the TrainJob so: create it in a namespace of a tenant, "+
		"or bind the ClusterRole mpi-controller-jobs there", "namespace", name.Namespace)
}

// warnOfManualChanges tells of what somebody did to objects of a job that goes on all the same. Created says that what was missing is there.
func (r *Reconciler) warnOfManualChanges(ctx context.Context, o job.Observed, created bool) {
	if o.PolicyGone && created {
		note := fmt.Sprintf("somebody deleted NetworkPolicy `%s` of the job, without which its pods may not reach each other: it is there again", mpi.NetworkPolicyName(o.TrainJob.Name))
		r.warnOnce(ctx, o.TrainJob, policyDeleted, o.Now.String(), note)
	}
	if o.SuspendedByHand() {
		note := fmt.Sprintf("somebody suspended JobSet `%s`, which takes the pods away, and not the TrainJob: the job goes on, from its beginning where its pods are gone. "+
			"To stop a job, set spec.suspend of its TrainJob", o.JobSet.Name)
		r.warnOnce(ctx, o.TrainJob, jobSetSuspended, strconv.FormatInt(o.JobSet.Generation, 10), note)
	}
}
