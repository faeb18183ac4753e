package decide

import (
	"io"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// leftoversGone is when we look again for what an earlier job left, should no watch tell us.
const leftoversGone = time.Second

// Decision is what to do about a TrainJob. The zero Decision is to leave it alone, its status included.
type Decision struct {
	// Ours is false when the TrainJob is not for us or has nothing left to do.
	Ours bool
	// Foreign is true when another controller of TrainJobs made the JobSet. Nothing is done about such a job.
	Foreign bool
	// Finished is true when the job has ended before. Only the counts of its child Jobs still change.
	Finished bool
	// Delete holds objects to delete, each only if it still has this UID.
	Delete []observe.Deletion
	// Create holds objects to create after that. The JobSet comes last, and not before all others exist.
	Create []job.Object
	// Update is the JobSet with another suspension or placement, or nil.
	Update *jobset.JobSet
	// UpdateFetches are Jobs that fetch data, with another suspension.
	UpdateFetches []*batchv1.Job
	// HostTable is what to tell the launcher; nil ends an earlier one.
	HostTable *HostTablePush
	// RequeueAfter is when to look again although nothing happened; 0 is never.
	RequeueAfter time.Duration
	// End is how the job ends, once all of the decision is done, or nil.
	End *phase.JobEnd
	// keys are to go should the API server refuse for good what is to be written.
	keys []observe.Deletion
}

// Decide returns what to do. Random is read when a key is needed, and gives the only errors.
func Decide(f *phase.Facts, random io.Reader) (Decision, error) {
	state := f.State()
	switch {
	case state.Phase == "":
		return Decision{Foreign: state.Foreign}, nil
	case f.Beside:
		return decideBesideTrainer(f, state), nil
	case job.IsFinished(f.TrainJob):
		return deleteLingeringJobSet(f), nil
	case state.End != nil:
		return Decision{Ours: true, Delete: append(f.KeySecrets(), f.UnfinishedFetches()...), End: state.End}, nil
	case state.Fetching != nil:
		todo := state.Fetching
		return Decision{Ours: true, Delete: todo.Delete, Create: todo.Create, UpdateFetches: todo.Update,
			RequeueAfter: min(phase.FetchRecheck, f.Waits.UntilDeadline())}, nil
	case state.Waiting != nil && state.Waiting.Reason == job.ReasonWaitingForDeletion:
		return Decision{Ours: true, Delete: state.Leftovers, RequeueAfter: leftoversGone}, nil
	case state.Held:
		return Decision{Ours: true, RequeueAfter: f.Waits.RecheckWaiting(state.Waiting)}, nil
	case state.Waiting != nil, state.Restart != nil:
		// A restart is told first. The JobSet goes in the next pass, so that none is forgotten.
		return Decision{Ours: true}, nil
	case state.Job != nil:
		return startJob(f, *state.Job, random)
	case state.Unexplained:
		return Decision{Ours: true, RequeueAfter: phase.CauseRecheck}, nil
	case f.Start.JobSetToDelete():
		return recreateJobSet(f), nil
	}
	return followJob(f), nil
}

// startJob creates what the job consists of, after what an earlier job of the same name left is gone.
func startJob(f *phase.Facts, made job.Job, random io.Reader) (Decision, error) {
	outdated := outdatedChildren(f.Observed)
	remains := f.WithoutChildren(outdated)
	create, err := missingObjects(remains, made, random)
	return Decision{
		Ours:         true,
		Delete:       append(f.ChildrenWithClaim(job.Stale), outdated...),
		Create:       create,
		keys:         remains.KeySecrets(),
		RequeueAfter: f.Waits.FirstCheck(),
	}, err
}

// followJob watches a job that has been started.
func followJob(f *phase.Facts) Decision {
	decision := Decision{Ours: true, keys: f.KeySecrets(), Create: missingPolicies(f), RequeueAfter: f.Waits.NextCheck()}
	if !f.Start.SuspensionPending() {
		decision.Update = rescheduledJobSet(f)
	}
	if !job.IsSuspended(f.JobSet) && job.HasAgent(f.JobSet) {
		decision.HostTable = hostTablePushOf(f)
	}
	return decision
}

// deleteLingeringJobSet deletes the JobSet of a job that is over although its JobSet is not, and will not be in a moment. It goes after the status has told the end, never
// before: a job without a JobSet and without an end would be started again.
func deleteLingeringJobSet(f *phase.Facts) Decision {
	decision := Decision{Ours: f.OwnsJobSet(), Finished: true}
	if !f.JobSetOutlivesJob() || f.JobSet.Labels[mpi.TrainJobLabel] == "" {
		return decision
	}
	if decision.RequeueAfter = f.Waits.UntilJobSetEnds(); decision.RequeueAfter == 0 {
		decision.Delete = []observe.Deletion{observe.DeletionOf(job.KindOfJobSet(), f.JobSet)}
	}
	return decision
}

// rescheduledJobSet returns the JobSet to write, or nil. A job that runs as it should needs no runtime, which may be gone.
func rescheduledJobSet(f *phase.Facts) *jobset.JobSet {
	wanted := f.SuspendWanted()
	if !job.IsSuspended(f.JobSet) && !wanted {
		return nil
	}
	updated := f.JobSet.DeepCopy()
	updated.Spec.Suspend = ptr.To(wanted)
	if f.Runtime != nil {
		if made, err := job.Resolve(f.TrainJob, *f.Runtime); err == nil {
			made.Requested = f.RequestedAt()
			updated = desired.RescheduledJobSet(made, f.JobSet)
		}
	}
	if apiequality.Semantic.DeepEqual(updated, f.JobSet) {
		return nil
	}
	return updated
}

// missingObjects returns what the job needs and does not have yet, the JobSet last.
func missingObjects(o observe.Observed, made job.Job, random io.Reader) ([]job.Object, error) {
	objects := []job.Object{desired.HostfileConfigMap(made), desired.NetworkPolicy(made, o.ControllerNamespace)}
	if group := desired.PodGroup(made); group != nil {
		objects = append(objects, group)
	}
	objects = slices.DeleteFunc(objects, o.HasOwnObject)
	if !o.HasKeySecret() {
		key, err := desired.SSHAuthSecret(made, random)
		if err != nil {
			return nil, err
		}
		objects = append(objects, key)
	}
	return append(objects, desired.JobSet(made)), nil
}

// outdatedChildren returns what was made for a job that was never started, from another runtime than that of today or by somebody else:
// all of it, where the hostfile's ConfigMap or the key says so.
func outdatedChildren(o observe.Observed) []observe.Deletion {
	today := job.Digest(o.Runtime.Snapshot())
	other := func(child metav1.PartialObjectMetadata) bool {
		ours := job.ClaimOf(o.TrainJob, &child) == job.Own
		return ours && (child.Kind == "ConfigMap" && o.Hostfile != today || child.Kind == job.KindOfSecret().Kind && o.RecordedDigest() != today)
	}
	if o.WasJobSetMade() || !slices.ContainsFunc(o.Children, other) {
		return nil
	}
	return o.ChildrenWithClaim(job.Own)
}

// recreateJobSet deletes a JobSet that is to be made again, once the status tells of it: one that is gone otherwise was deleted by somebody.
func recreateJobSet(f *phase.Facts) Decision {
	if !f.MayRecreate() {
		return Decision{Ours: true, RequeueAfter: phase.CauseRecheck}
	}
	return Decision{Ours: true, Delete: []observe.Deletion{observe.DeletionOf(job.KindOfJobSet(), f.JobSet)}, RequeueAfter: leftoversGone}
}

// missingPolicies returns the policy of a started job that has lost it: its pods cannot reach each other without, where the tenant's
// own policies deny.
func missingPolicies(f *phase.Facts) []job.Object {
	if !f.PolicyGone {
		return nil
	}
	// A policy needs nothing of the runtime, which may be gone.
	made := job.Job{Name: f.TrainJob.Name, Namespace: f.TrainJob.Namespace, UID: f.TrainJob.UID}
	return []job.Object{desired.NetworkPolicy(made, f.ControllerNamespace)}
}

// isTooLarge reports whether an object is larger than the API server takes (3 MiB), or than etcd does (1.5 MiB), whose error the API server
// passes on as one of its own.
func isTooLarge(err error) bool {
	return apierrors.IsRequestEntityTooLargeError(err) || err != nil && strings.Contains(err.Error(), "etcdserver: request is too large")
}

// EndIfRefused returns the decision that ends the job, if what the API server said to the objects of this one is final, or nil.
// Errors that pass, a quota and what a policy forbids are tried again: somebody may change those.
func (d Decision) EndIfRefused(applied error) *Decision {
	message := "the API server does not take an object of the job: "
	switch {
	case isTooLarge(applied):
		message += "variables, command and arguments, which launcher and nodes have a copy of each, are larger than it stores: put what is large into a ConfigMap or a volume: "
	case !apierrors.IsInvalid(applied) && !apierrors.IsBadRequest(applied):
		return nil
	}
	message += applied.Error()
	final := Decision{Ours: true, Delete: slices.Clone(d.keys), End: &phase.JobEnd{Cause: diagnose.Cause{Reason: diagnose.InvalidObject, Message: message}}}
	for _, object := range d.Create {
		if key, ok := object.(*corev1.Secret); ok && key.UID != "" {
			final.Delete = append(final.Delete, observe.Deletion{TypeMeta: job.KindOfSecret(), Name: key.Name, UID: key.UID})
		}
	}
	return &final
}
