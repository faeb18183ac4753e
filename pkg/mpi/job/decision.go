package job

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi"
)

const (
	// podsExpected is how long a job may lack pods before we ask why. Pods appear within a fraction of a second.
	podsExpected = 2 * time.Second
	// podsMissing is how often we ask again.
	podsMissing = 10 * time.Second
	// causeExpected is how long after the end of a JobSet its pods may still lack their last status, because both come by
	// different watches; causeMissing is how often we look.
	causeExpected = 2 * time.Second
	causeMissing  = 200 * time.Millisecond
	// podsGone is how long after the end of its grace a pod may still be there because its kubelet is busy.
	podsGone = 30 * time.Second
	// leftoversGone is when we look again for what an earlier job left, should no watch tell us.
	leftoversGone = time.Second
)

// Decision is what to do about a TrainJob. The zero Decision is to leave it alone, its status included.
type Decision struct {
	// Ours is false when the TrainJob is not for us or has nothing left to do.
	Ours bool
	// Over is true when the job has ended before. Only the counts of its child Jobs still change.
	Over bool
	// Delete holds objects to delete, each only if it still has this UID.
	Delete []Deletion
	// Create holds objects to create after that. The JobSet comes last, and not before all others exist.
	Create []Object
	// Update is the JobSet with another suspension or placement, or nil.
	Update *jobset.JobSet
	// Rendezvous is what to tell the launcher; nil ends an earlier one.
	Rendezvous *Rendezvous
	// RequeueAfter is when to look again although nothing happened; 0 is never.
	RequeueAfter time.Duration

	// waiting is why the job cannot be started yet; end is how it ended. Status reads them.
	waiting *problem
	end     *end
}

// Deletion names an object to delete in the background.
type Deletion struct {
	metav1.TypeMeta
	Name string
	UID  types.UID
}

// end is how a job ended. It is written once everything else of the decision is done.
type end struct {
	succeeded bool
	reason    mpi.Reason
	message   string
}

// Finishes says whether the decision ends the job, and for which reason.
func (d Decision) Finishes() (reason mpi.Reason, finishes bool) {
	if d.end == nil {
		return "", false
	}
	return d.end.reason, true
}

// Decide returns what to do. Random is read when a key is needed, and gives the only errors.
func Decide(o Observed, random io.Reader) (Decision, error) {
	switch {
	case !Active(o.TrainJob):
		return Decision{}, nil
	case Over(o.TrainJob):
		return Decision{Ours: o.Owns(), Over: true}, nil
	case o.Owns():
		return follow(o), nil
	case o.Runtime == nil:
		ref := o.TrainJob.Spec.RuntimeRef
		return wait(ReasonRuntimeNotFound, "there is no %s `%s`: the job starts once it exists",
			ptr.Deref(ref.Kind, trainer.ClusterTrainingRuntimeKind), ref.Name), nil
	case !o.Runtime.Ours():
		return Decision{}, nil
	}
	return start(o, random)
}

// start creates what the job consists of, after what an earlier job of the same name left is gone.
func start(o Observed, random io.Reader) (Decision, error) {
	job, err := Resolve(o.TrainJob, *o.Runtime)
	var refused *Refusal
	if errors.As(err, &refused) {
		return fail(refused.Reason, refused.Message), nil
	}
	if err != nil {
		return Decision{}, err
	}
	if taken := o.taken(); len(taken) > 0 {
		return fail(ReasonNameTaken, fmt.Sprintf("the name is taken by what does not belong to this TrainJob: delete %s, or give the TrainJob another name", strings.Join(taken, ", "))), nil
	}
	if o.untilDeadline() <= 0 {
		return fail(ReasonDeadlineExceeded, deadlineMessage(o.TrainJob)), nil
	}
	if leftovers := o.leftovers(); len(leftovers) > 0 || o.lingering() {
		decision := wait(ReasonWaitingForDeletion, "an earlier job of the name `%s` is still being deleted", job.Name)
		decision.Delete = leftovers
		decision.RequeueAfter = leftoversGone
		return decision, nil
	}
	create, err := o.missing(job, random)
	return Decision{
		Ours:         true,
		Delete:       o.claimed(stale),
		Create:       create,
		RequeueAfter: min(podsExpected+causeMissing, o.untilDeadline()),
	}, err
}

// follow watches a job that has been started.
func follow(o Observed) Decision {
	decision := Decision{Ours: true, end: o.end()}
	switch {
	case decision.end != nil:
		// The key is worth nothing to the job any more, but something to a thief.
		decision.Delete = slices.DeleteFunc(o.claimed(own), func(d Deletion) bool { return d.Kind != "Secret" })
		if decision.end.reason == ReasonDeadlineExceeded {
			decision.Delete = append(decision.Delete, deletion(jobSetType(), o.JobSet))
		}
		return decision
	case o.Ended():
		decision.RequeueAfter = causeMissing
		return decision
	}
	decision.Update = o.rescheduled()
	if !suspended(o.JobSet) {
		decision.Rendezvous = rendezvous(o.TrainJob.Name, o.current(), podCount(o.JobSet))
	}
	decision.RequeueAfter = o.nextLook()
	return decision
}

// rescheduled returns the JobSet to write, or nil. A job that runs as it should needs no runtime, which may be gone.
func (o Observed) rescheduled() *jobset.JobSet {
	wanted := ptr.Deref(o.TrainJob.Spec.Suspend, false)
	if !suspended(o.JobSet) && !wanted {
		return nil
	}
	updated := o.JobSet.DeepCopy()
	updated.Spec.Suspend = ptr.To(wanted)
	if o.Runtime != nil {
		if job, err := Resolve(o.TrainJob, *o.Runtime); err == nil {
			updated = job.Rescheduled(o.JobSet)
		}
	}
	if apiequality.Semantic.DeepEqual(updated.Spec, o.JobSet.Spec) {
		return nil
	}
	return updated
}

// end returns how the job ended, or nil while it has not, or while nobody knows why yet.
func (o Observed) end() *end {
	if condition := jobSetCondition(o.JobSet, jobset.JobSetCompleted); condition != nil {
		return &end{true, ReasonCompleted, "the launcher succeeded: " + condition.Message}
	}
	condition := jobSetCondition(o.JobSet, jobset.JobSetFailed)
	switch {
	case condition == nil && o.untilDeadline() <= 0:
		return &end{false, ReasonDeadlineExceeded, deadlineMessage(o.TrainJob)}
	case condition == nil:
		return nil
	}
	if cause := firstCause(o.all()); cause != nil {
		return &end{false, cause.reason, cause.message}
	}
	if o.Now.Sub(condition.LastTransitionTime.Time) < causeExpected {
		return nil
	}
	return &end{false, ReasonJobSetFailed, "the JobSet failed and no pod shows why, as when one was deleted while it ran: " + condition.Message}
}

// nextLook returns when something may have to be said although nothing happened: pods that do not appear, the deadline.
func (o Observed) nextLook() time.Duration {
	next := o.untilDeadline()
	if suspended(o.JobSet) || len(o.current()) >= podCount(o.JobSet) {
		return finite(next)
	}
	wait := podsMissing
	if age := o.Now.Sub(o.JobSet.CreationTimestamp.Time); age <= podsExpected {
		wait = podsExpected - age + causeMissing
	}
	return finite(min(next, wait))
}

// never is longer than any deadline.
const never = time.Duration(1<<63 - 1)

func finite(d time.Duration) time.Duration {
	if d == never {
		return 0
	}
	return d
}

// untilDeadline returns the time left of activeDeadlineSeconds, which counts from the creation of the TrainJob and again
// from each time it is resumed, as upstream counts it. Without a deadline, or suspended, it is never.
func (o Observed) untilDeadline() time.Duration {
	seconds := o.TrainJob.Spec.ActiveDeadlineSeconds
	if seconds == 0 || ptr.Deref(o.TrainJob.Spec.Suspend, false) {
		return never
	}
	begin := o.TrainJob.CreationTimestamp.Time
	if c := apimeta.FindStatusCondition(o.TrainJob.Status.Conditions, trainer.TrainJobSuspended); c != nil {
		if c.Status == metav1.ConditionTrue {
			// The job is being resumed in this very pass.
			return time.Duration(seconds) * time.Second
		}
		begin = c.LastTransitionTime.Time
	}
	return begin.Add(time.Duration(seconds) * time.Second).Sub(o.Now)
}

func deadlineMessage(trainJob *trainer.TrainJob) string {
	return fmt.Sprintf("the job took longer than its activeDeadlineSeconds of %d", trainJob.Spec.ActiveDeadlineSeconds)
}

// taken names the objects under our names that are somebody else's.
func (o Observed) taken() []string {
	var names []string
	for _, child := range o.Children {
		if claimOf(o.TrainJob, &child) == foreign {
			names = append(names, child.Kind+" `"+child.Name+"`")
		}
	}
	if o.JobSet != nil && claimOf(o.TrainJob, o.JobSet) == foreign {
		names = append(names, "JobSet `"+o.JobSet.Name+"`")
	}
	return names
}

// leftovers returns a JobSet of an earlier TrainJob and the Jobs of any earlier JobSet of this name. The new JobSet must
// not come before they are gone: it would want Jobs of the same names. The garbage collector would delete the Jobs too,
// but not before it has come by.
func (o Observed) leftovers() []Deletion {
	var deletions []Deletion
	if o.JobSet != nil {
		deletions = append(deletions, deletion(jobSetType(), o.JobSet))
	}
	for _, job := range o.Jobs {
		owner := metav1.GetControllerOf(&job)
		if owner != nil && owner.Kind == "JobSet" && owner.Name == o.TrainJob.Name {
			deletions = append(deletions, deletion(metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}, &job))
		}
	}
	return deletions
}

// lingering says whether pods of an earlier job of this name are still there. As long as one is on a machine, its kubelet
// keeps the Secret of the earlier job, because that is immutable, and would mount it into our pods under the same name:
// they would get a key that nobody else has. A pod long past its grace is on a machine that does not answer, and where
// no pod of ours will be.
func (o Observed) lingering() bool {
	return slices.ContainsFunc(o.Pods, func(pod corev1.Pod) bool {
		owner := metav1.GetControllerOf(&pod)
		ours := owner != nil && owner.Kind == "Job" && strings.HasPrefix(owner.Name, o.TrainJob.Name+"-")
		return ours && (pod.DeletionTimestamp == nil || o.Now.Sub(pod.DeletionTimestamp.Time) < podsGone)
	})
}

func (o Observed) claimed(claim claim) []Deletion {
	var deletions []Deletion
	for _, child := range o.Children {
		if claimOf(o.TrainJob, &child) == claim {
			deletions = append(deletions, deletion(child.TypeMeta, &child))
		}
	}
	return deletions
}

// missing returns what the job needs and does not have yet, the JobSet last.
func (o Observed) missing(job Job, random io.Reader) ([]Object, error) {
	objects := []Object{job.HostfileConfigMap(), job.NetworkPolicy(), job.RendezvousPolicy(o.ControllerNamespace)}
	objects = slices.DeleteFunc(objects, o.has)
	secret := metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: "Secret"}}
	secret.Name = mpi.SSHAuthSecretName(job.Name)
	if !o.has(&secret) {
		key, err := job.SSHAuthSecret(random)
		if err != nil {
			return nil, err
		}
		objects = append(objects, key)
	}
	return append(objects, job.JobSet()), nil
}

func (o Observed) has(object Object) bool {
	return slices.ContainsFunc(o.Children, func(child metav1.PartialObjectMetadata) bool {
		return child.Kind == object.GetObjectKind().GroupVersionKind().Kind && child.Name == object.GetName() && claimOf(o.TrainJob, &child) == own
	})
}

func deletion(kind metav1.TypeMeta, object metav1.Object) Deletion {
	return Deletion{TypeMeta: kind, Name: object.GetName(), UID: object.GetUID()}
}

func wait(reason mpi.Reason, format string, args ...any) Decision {
	return Decision{Ours: true, waiting: &problem{reason, fmt.Sprintf(format, args...)}}
}

func fail(reason mpi.Reason, message string) Decision {
	return Decision{Ours: true, end: &end{false, reason, message}}
}
