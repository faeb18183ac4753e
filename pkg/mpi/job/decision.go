package job

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
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
	// mountExpected is how long pods may have machines and no addresses before we ask why; kubelet tries a volume again for
	// minutes, with its first complaint after a second.
	mountExpected = 20 * time.Second
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
	// Foreign is true when another controller of TrainJobs made the JobSet. Nothing is done about such a job.
	Foreign bool
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

	// waiting is why the job cannot be started yet; end is how it ended; restart is what comes instead of an end. Status
	// reads them. Held says that the job waits for what its pods need, and not for an object of its own.
	waiting *problem
	held    bool
	end     *end
	restart *restart
	// keys are to go should the API server refuse for good what is to be written.
	keys []Deletion
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
	// stop says that the JobSet has not ended: it goes once the end has been told. Early says that it ends by itself in a
	// moment.
	stop, early bool
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
		return o.sweep(), nil
	case o.NamespaceTerminating: // all of the job goes, and nobody has to be told
		return Decision{}, nil
	case o.Owns() && o.JobSet.Labels[mpi.TrainJobLabel] == "":
		return Decision{Foreign: true}, nil
	case o.Owns():
		return follow(o), nil
	case o.JobSetGone(): // whether its runtime is still there or not
		return o.deleted(), nil
	case o.Runtime == nil:
		return wait(ReasonRuntimeNotFound, "%s", noRuntime(o.TrainJob.Spec.RuntimeRef)), nil
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
		return o.fail(refused.Reason, refused.Message), nil
	}
	if err != nil {
		return Decision{}, err
	}
	job.Attempt = o.restarts()
	if taken := o.taken(); len(taken) > 0 {
		return o.fail(ReasonNameTaken, fmt.Sprintf("the name is taken by what does not belong to this TrainJob: delete %s, or give the TrainJob another name", strings.Join(taken, ", "))), nil
	}
	if o.untilDeadline() <= 0 {
		return o.fail(ReasonDeadlineExceeded, deadlineMessage(o.TrainJob)), nil
	}
	sets := o.wanted(job)
	if p := o.impossible(sets); p != nil {
		return o.fail(p.reason, p.message+"; then create the TrainJob again: this one is over, and does not wait for it"), nil
	}
	if leftovers := o.leftovers(); len(leftovers) > 0 || o.lingering() {
		decision := wait(ReasonWaitingForDeletion, "%s `%s` is still being deleted", earlier(job), job.Name)
		decision.Delete = leftovers
		decision.RequeueAfter = leftoversGone
		return decision, nil
	}
	if p := o.held(sets); p != nil {
		return o.hold(p), nil
	}
	outdated := o.outdated()
	remains := o.without(outdated)
	create, err := remains.missing(job, random)
	return Decision{
		Ours:         true,
		Delete:       append(o.claimed(stale), outdated...),
		Create:       create,
		keys:         remains.keys(),
		RequeueAfter: min(podsExpected+causeMissing, o.untilDeadline()),
	}, err
}

// earlier names whose remains are in the way of a job.
func earlier(job Job) string {
	if job.Attempt > 0 {
		return "the earlier attempt of the job"
	}
	return "an earlier job of the name"
}

// hold waits for what the pods need, until the gang times out.
func (o Observed) hold(p *problem) Decision {
	if over := o.gangOver(p); over != nil {
		return o.fail(over.reason, over.message)
	}
	return Decision{Ours: true, waiting: p, held: true, RequeueAfter: o.lookAgain(p)}
}

// follow watches a job that has been started.
func follow(o Observed) Decision {
	if o.condemned() {
		return o.recreate()
	}
	decision := Decision{Ours: true, end: o.end()}
	if o.JobSetGone() && (decision.end == nil || !decision.end.succeeded) {
		return o.deleted()
	}
	if again := o.restart(decision.end); again != nil {
		// The status tells of it first. The JobSet goes in the next pass, so that no restart is forgotten.
		return Decision{Ours: true, restart: again}
	}
	switch decision.end = o.spent(decision.end); {
	case decision.end != nil:
		decision.Delete = o.keys()
		return decision
	case o.Ended():
		decision.RequeueAfter = causeMissing
		return decision
	}
	if p := o.resumeHeld(); p != nil {
		decision.waiting, decision.held = p, true
		decision.RequeueAfter = o.lookAgain(p)
		return decision
	}
	decision.keys = o.keys()
	if !o.suspensionPending() {
		decision.Update = o.rescheduled()
	}
	decision.Create = o.guardedAgain()
	if !suspended(o.JobSet) && withAgent(o.JobSet) {
		decision.Rendezvous = o.rendezvous()
	}
	decision.RequeueAfter = o.nextLook()
	return decision
}

// sweep deletes the JobSet of a job that is over although its JobSet is not, and will not be in a moment. It goes after the status has told the end, never
// before: a job without a JobSet and without an end would be started again.
func (o Observed) sweep() Decision {
	decision := Decision{Ours: o.Owns(), Over: true}
	if !o.Closing() || o.JobSet.Labels[mpi.TrainJobLabel] == "" {
		return decision
	}
	if decision.RequeueAfter = o.ending(); decision.RequeueAfter == 0 {
		decision.Delete = []Deletion{deletion(jobSetType(), o.JobSet)}
	}
	return decision
}

// jobSetEnded says whether the JobSet has succeeded or failed.
func (o Observed) jobSetEnded() bool {
	return o.failed() != nil || jobSetCondition(o.JobSet, jobset.JobSetCompleted) != nil
}

// rescheduled returns the JobSet to write, or nil. A job that runs as it should needs no runtime, which may be gone.
func (o Observed) rescheduled() *jobset.JobSet {
	wanted := o.suspendWanted()
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
	if apiequality.Semantic.DeepEqual(updated, o.JobSet) {
		return nil
	}
	return updated
}

// end returns how the job ended, or nil while it has not, or while nobody knows why yet.
func (o Observed) end() *end {
	if condition := jobSetCondition(o.JobSet, jobset.JobSetCompleted); condition != nil {
		return o.succeeded()
	}
	condition := o.failed()
	switch {
	case condition == nil && o.suspendWanted():
		return nil
	case condition == nil:
		return cmp.Or(o.foretold(), o.overdue(), o.stuck())
	}
	cause, early := o.cause(), o.age(factFailed, o.JobSet.UID) < causeExpected
	switch {
	case early && (cause == nil || cause.Provisional()):
		return nil
	case cause != nil:
		return &end{reason: cause.Reason, message: cause.Text()}
	}
	return &end{reason: ReasonJobSetFailed, message: "the JobSet failed and no pod shows why, as when one was deleted while it ran: " + condition.Message}
}

// overdue returns the end of a job whose time is over although its JobSet has not ended, or nil.
func (o Observed) overdue() *end {
	if o.untilDeadline() <= 0 {
		return &end{reason: ReasonDeadlineExceeded, message: deadlineMessage(o.TrainJob), stop: true}
	}
	if over := o.overtime(); over != nil && o.cause().Reason == over.Reason {
		return &end{reason: over.Reason, message: over.Text(), stop: true}
	}
	return nil
}

// nextLook returns when something may have to be said although nothing happened: pods that do not appear, the deadline. What is
// long over is nothing to wait for: a companion ends no job because of it.
func (o Observed) nextLook() time.Duration {
	next := never
	for _, until := range []time.Duration{o.untilDeadline(), o.untilGang(), o.untilImage(), o.untilUp()} {
		if until > 0 {
			next = min(next, until)
		}
	}
	switch {
	case suspended(o.JobSet):
		return finite(next)
	case len(o.current()) < podCount(o.JobSet):
		next = min(next, o.untilLate(factRuns, podsExpected))
	case o.unaddressed():
		next = min(next, o.untilLate(factPlaced, mountExpected))
	}
	return finite(next)
}

// untilLate returns when to ask why something is not there that was expected within a time of a fact, again and again.
func (o Observed) untilLate(since factKind, expected time.Duration) time.Duration {
	if age := o.age(since, o.JobSet.UID); age <= expected {
		return expected - age + causeMissing
	}
	return podsMissing
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
	return o.asked().Add(time.Duration(seconds) * time.Second).Sub(o.Now)
}

func deadlineMessage(trainJob *trainer.TrainJob) string {
	return fmt.Sprintf("the job took longer than its activeDeadlineSeconds of %d", trainJob.Spec.ActiveDeadlineSeconds)
}

// taken names the objects under our names that are somebody else's, and whose they are.
func (o Observed) taken() []string {
	var names []string
	for _, child := range o.Children {
		if claimOf(o.TrainJob, &child) == foreign {
			names = append(names, called(child.Kind, &child))
		}
	}
	for _, child := range o.ChildJobs {
		if !ofJobSet(o.TrainJob, &child) {
			names = append(names, called("Job", &child))
		}
	}
	if o.JobSet != nil && claimOf(o.TrainJob, o.JobSet) == foreign {
		names = append(names, called(jobSetType().Kind, o.JobSet))
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
		if ofJobSet(o.TrainJob, &job) {
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
	return !o.hasKey() && slices.ContainsFunc(o.Pods, func(pod corev1.Pod) bool {
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

// without returns the same when these children are gone.
func (o Observed) without(gone []Deletion) Observed {
	o.Children = slices.DeleteFunc(slices.Clone(o.Children), func(child metav1.PartialObjectMetadata) bool {
		return slices.ContainsFunc(gone, func(d Deletion) bool { return d.UID == child.UID })
	})
	return o
}

// missing returns what the job needs and does not have yet, the JobSet last.
func (o Observed) missing(job Job, random io.Reader) ([]Object, error) {
	objects := []Object{job.HostfileConfigMap(), job.NetworkPolicy(o.ControllerNamespace)}
	if group := job.PodGroup(); group != nil {
		objects = append(objects, group)
	}
	objects = slices.DeleteFunc(objects, o.has)
	if !o.hasKey() {
		key, err := job.SSHAuthSecret(random)
		if err != nil {
			return nil, err
		}
		objects = append(objects, key)
	}
	return append(objects, job.JobSet()), nil
}

// hasKey says whether this job has its key already: then an earlier attempt had the same.
func (o Observed) hasKey() bool { return len(o.keys()) > 0 }

func secretType() metav1.TypeMeta { return metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"} }

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

// fail ends a job that has no JobSet. An earlier pass may have made its key.
func (o Observed) fail(reason mpi.Reason, message string) Decision {
	return Decision{Ours: true, Delete: o.keys(), end: &end{reason: reason, message: message}}
}

// keys returns the key of the job, where it has one. It is worth nothing to a job that is over, but something to a thief.
func (o Observed) keys() []Deletion {
	return slices.DeleteFunc(o.claimed(own), func(d Deletion) bool { return d.Kind != secretType().Kind })
}
