package observe

import (
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// PublishedCondition returns the condition of a kind that the TrainJob has from an earlier pass, or nil.
func (o Observed) PublishedCondition(kind string) *metav1.Condition {
	return apimeta.FindStatusCondition(o.TrainJob.Status.Conditions, kind)
}

// HasPublishedCondition reports whether the TrainJob has a condition that is true.
func (o Observed) HasPublishedCondition(kind string) bool {
	return apimeta.IsStatusConditionTrue(o.TrainJob.Status.Conditions, kind)
}

// PublishedPodLoss returns the pod that an earlier pass saw being taken away (phase.Run.PodDisruption).
func (o Observed) PublishedPodLoss() []diagnose.Cause {
	c := o.PublishedCondition(job.PodsReady)
	if c == nil || c.Status != metav1.ConditionFalse || !diagnose.MustBeRecorded(mpi.Reason(c.Reason)) {
		return nil
	}
	lost := diagnose.Cause{Reason: mpi.Reason(c.Reason), Message: c.Message}
	if r, _ := jobv1.Read(o.TrainJob.Annotations, o.TrainJob.UID); r.Cause != nil {
		// Users may write the record: it divides the words of the condition, and adds none.
		divided := CauseOf(*r.Cause)
		if divided.Text() == c.Message {
			lost.Message, lost.Remedy, lost.Lines = divided.Message, divided.Remedy, divided.Lines
		}
	}
	return []diagnose.Cause{diagnose.NotedEarlier(lost, c.LastTransitionTime.Time)}
}

// CauseOf returns a recorded cause as package diagnose has it.
func CauseOf(c jobv1.Cause) diagnose.Cause {
	return diagnose.Cause{
		Reason: mpi.Reason(c.Reason), Message: c.Message, Remedy: c.Remedy, Lines: c.Lines, URL: c.URL,
		Pod: c.Pod, Machine: c.Machine, Rank: c.Rank, ExitCode: c.ExitCode, Signal: c.Signal,
	}
}

// RestartFormat begins the message of the condition Restarting. Between two JobSets it is the only trace of the number
// that outlives this process and that users cannot write: the status has no field for it.
const RestartFormat = "restart %d of %d"

// PublishedRestarts returns how often the job was started again, or is being so.
func (o Observed) PublishedRestarts() int {
	number, _ := ParsePublishedRestarts(o.TrainJob.Status.Conditions)
	return number
}

// ParsePublishedRestarts reads from conditions how often a job was started again, and how often its runtime allowed that then; 0 and 0 where it never was.
func ParsePublishedRestarts(conditions []metav1.Condition) (number, limit int) {
	if c := apimeta.FindStatusCondition(conditions, job.Restarting); c != nil {
		n, err := fmt.Sscanf(c.Message, RestartFormat, &number, &limit) //nolint:forbidigo // no field of the status has it
		if n != 2 || err != nil {
			return 0, 0
		}
	}
	return number, limit
}

// JobSetGone reports whether the job had a JobSet, which is gone or going, and not because of us: before we delete one that is to be made
// again, the status says so (MayRecreate). Somebody else deleted it, and the run is lost. To make it again would run the job a second
// time from its beginning, which nobody has asked for. A job that is suspended, is to be, or waits to be resumed has nothing to lose:
// its JobSet is made again.
func (o Observed) JobSetGone() bool {
	going := o.OwnsJobSet() && o.JobSet.DeletionTimestamp != nil && !o.JobSetEnded()
	made := o.HasPublishedCondition(job.Created)
	return made && !o.SuspendWanted() && !o.MayRecreate() && (going || o.JobSet == nil)
}

// MayRecreate reports whether the status tells that the job has no pods for now, so that its JobSet may go and come again.
func (o Observed) MayRecreate() bool {
	running := o.PublishedCondition(job.Running)
	return o.HasPublishedCondition(job.Restarting) || running == nil || running.Status == metav1.ConditionFalse &&
		(running.Reason == string(job.ReasonSuspended) || running.Reason == string(job.ReasonRestarting))
}

// SuspendedByHand reports whether somebody has suspended the JobSet of a job that runs, and not the TrainJob. The job goes on from its
// beginning, as with Kubeflow Trainer: spec.suspend of the TrainJob is what counts.
func (o Observed) SuspendedByHand() bool {
	return o.OwnsJobSet() && job.IsSuspended(o.JobSet) && !o.SuspendWanted() && !o.JobSetEnded() &&
		o.HasPublishedCondition(job.Running)
}

// IsStopping reports whether the JobSet is suspended, or has not yet said that it is no more: what becomes of its pods is its own doing.
func (o Observed) IsStopping() bool {
	return job.IsSuspended(o.JobSet) || job.TrueCondition(o.JobSet, jobset.JobSetSuspended) != nil
}

// LacksPolicies reports whether this process has never seen the NetworkPolicy of the job, whatever its record shows.
func (o Observed) LacksPolicies() bool {
	_, seen := o.FactSince(FactPolicy, o.TrainJob.UID)
	return !seen
}

// EndPublished reports whether the end of a job has been told.
func (o Observed) EndPublished() bool {
	c := o.PublishedCondition(job.Running)
	return c != nil && c.Reason == string(job.ReasonFinished) && job.IsFinished(o.TrainJob)
}

// BegunAt is when the job was asked to run: created, resumed or restarted.
func (o Observed) BegunAt() time.Time {
	begin := o.RequestedAt()
	if c := o.PublishedCondition(job.Restarting); c != nil && c.LastTransitionTime.After(begin) {
		begin = c.LastTransitionTime.Time
	}
	// A gang that waits for its data has not been asked for yet.
	if made := o.fetchedAt(); made.After(begin) {
		begin = made
	}
	return earlier(begin, o.Now)
}

// RequestedAt is when the user, or a queue, asked for the job: it was created or resumed. A job that is being resumed in this
// very pass begins now, and no job begins later.
func (o Observed) RequestedAt() time.Time {
	c := o.PublishedCondition("Suspended")
	switch {
	case c == nil:
		return earlier(o.TrainJob.CreationTimestamp.Time, o.Now)
	case c.Status == metav1.ConditionTrue:
		return o.Now
	}
	return earlier(c.LastTransitionTime.Time, o.Now)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// resumedAt returns when the job was resumed last, or its JobSet, which somebody may have suspended alone; zero for one that was
// never suspended or is so now.
func (o Observed) resumedAt() time.Time {
	var resumed time.Time
	if o.SuspendWanted() {
		return resumed
	}
	if c := o.PublishedCondition(trainer.TrainJobSuspended); c != nil {
		resumed = o.RequestedAt()
	}
	c := apimeta.FindStatusCondition(o.JobSet.Status.Conditions, string(jobset.JobSetSuspended))
	if c == nil || c.Status != metav1.ConditionFalse {
		return resumed
	}
	if c.LastTransitionTime.After(resumed) {
		return c.LastTransitionTime.Time
	}
	return resumed
}

// resumeTold is how long before JobSet says that it has resumed its Jobs their first pods may have been made, and how long after it
// Jobs may still end the pods of the suspension, which they do by themselves; in whole seconds, as all these times are written.
const resumeTold = time.Second

// ClocksApart is how far the clock of a machine may be from ours for its times to be compared.
const ClocksApart = time.Minute

// IsResuming reports whether a suspended job is to run again: its pods are made anew, so bounds matter as before the first ones.
func (o Observed) IsResuming() bool {
	return o.OwnsJobSet() && job.IsSuspended(o.JobSet) && !o.SuspendWanted() && !o.JobSetEnded()
}
