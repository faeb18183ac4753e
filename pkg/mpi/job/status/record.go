package status

import (
	"encoding/json"
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// newRecord returns the record of a job with these conditions, given the causes of this pass by their conditions.
func newRecord(
	f *phase.Facts, d decide.Decision, all []metav1.Condition, causes map[string]diagnose.Cause,
) jobv1.Record {
	before := f.Record()
	r := jobv1.Record{
		Version: jobv1.Version, UID: f.TrainJob.UID, Executor: jobv1.Controller, Phase: f.State().Phase,
		World: before.World, Queue: queueOf(f, before.Queue), Restarts: restartsOf(f, before.Restarts),
		Conditions: RecordedConditions(all),
	}
	if f.Beside {
		r.Executor = jobv1.Companion
	}
	if d.End != nil {
		r.Phase = phase.AtEnd(d.End.Reason, d.End.Succeeded, f.WasJobSetMade())
	}
	if r.Since = before.Since; before.Phase != r.Phase || r.Since.IsZero() {
		r.Since = metav1.NewTime(f.Now)
	}
	r.Started = startedAt(f, r.Phase, all, before.Started)
	if c, isFault := Explanation(r.Phase, all); isFault {
		r.Cause = causeOf(*c, causes, before.Cause)
	} else if c != nil {
		r.Message = c.Message
	}
	if f.OwnsJobSet() && !job.IsFinished(f.TrainJob) {
		r.Pods = &jobv1.Pods{Ready: min(observe.CountReadyOnce(f.Current), f.Want), Want: f.Want}
	}
	if r.World == nil && f.Runtime != nil {
		r.World = WorldOf(f.TrainJob, *f.Runtime)
	}
	r.Usage = usageOf(f, r, before, all)
	return r
}

// startedAt is when the command began: by the condition Running, or, if it ended before that was seen, by the
// container of the launcher.
func startedAt(f *phase.Facts, p jobv1.Phase, all []metav1.Condition, before metav1.Time) metav1.Time {
	switch c := apimeta.FindStatusCondition(all, job.Running); {
	case c != nil && c.Status == metav1.ConditionTrue:
		return c.LastTransitionTime
	case !p.IsFinal() && p != jobv1.Stopping:
		return metav1.Time{}
	case !before.IsZero() || !p.IsFinal():
		return before
	}
	return observe.MainContainerStart(observe.LauncherOf(f.All))
}

// Explanation returns the condition that explains a phase, or nil, and whether that is a fault.
func Explanation(p jobv1.Phase, all []metav1.Condition) (c *metav1.Condition, isFault bool) {
	isTrue := func(kind string) *metav1.Condition {
		if c := apimeta.FindStatusCondition(all, kind); c != nil && c.Status == metav1.ConditionTrue {
			return c
		}
		return nil
	}
	switch p {
	case jobv1.Complete:
		return isTrue(trainer.TrainJobComplete), false
	case jobv1.Failed, jobv1.Refused:
		if c = isTrue(job.Diagnosed); c == nil {
			c = isTrue(trainer.TrainJobFailed)
		}
	case jobv1.Queued, jobv1.Suspended:
		return isTrue(trainer.TrainJobSuspended), false
	case jobv1.Preempted:
		c = isTrue(trainer.TrainJobSuspended)
	case jobv1.Restarting:
		c = isTrue(job.Restarting)
	case jobv1.Stopping:
	default:
		c = apimeta.FindStatusCondition(all, job.Created)
		if p != jobv1.Creating || c == nil || c.Status != metav1.ConditionFalse {
			c = ObstacleCondition(all)
		}
	}
	return c, c != nil
}

// causeOf is the cause behind a condition: of this pass, of the record before if its words are the same, or the
// words of another controller.
func causeOf(c metav1.Condition, causes map[string]diagnose.Cause, before *jobv1.Cause) *jobv1.Cause {
	if cause, known := causes[c.Type]; known {
		return RecordedCause(cause)
	}
	if before != nil && before.Reason == c.Reason && observe.CauseOf(*before).Text() == c.Message {
		return before
	}
	return RecordedCause(diagnose.Cause{Reason: mpi.Reason(c.Reason), Message: c.Message})
}

// RecordedCause returns a cause as a record has it.
func RecordedCause(c diagnose.Cause) *jobv1.Cause {
	entry, _ := diagnose.ReasonDocOf(c.Reason)
	return &jobv1.Cause{
		Reason: string(c.Reason), Message: c.Message, Remedy: c.Remedy, Lines: c.Lines, Class: string(entry.Class),
		URL: c.URL, Pod: c.Pod, Machine: c.Machine, Rank: c.Rank, ExitCode: c.ExitCode, Signal: c.Signal,
	}
}

// WorldOf returns the size of a job, nil if it cannot be made.
func WorldOf(trainJob *trainer.TrainJob, runtime job.Runtime) *jobv1.World {
	made, err := job.Resolve(trainJob, runtime)
	if err != nil {
		return nil // the refusal of the job explains it
	}
	w := made.World
	return &jobv1.World{
		Nodes: w.Nodes, SlotsPerNode: w.SlotsPerNode, Slots: w.Ranks(), LauncherRunsRanks: w.LauncherRunsRanks,
	}
}

func queueOf(f *phase.Facts, before *jobv1.Queue) *jobv1.Queue {
	name := f.TrainJob.Labels[kueue.QueueLabel]
	switch {
	case name == "":
		return nil
	case !f.Wait.Known && before != nil && before.Name == name && f.SuspendWanted():
		return before
	}
	q := jobv1.Queue{Name: name}
	if f.SuspendWanted() {
		q.Position, q.Length, q.Text = f.Wait.Position, f.Wait.Length, strings.TrimPrefix(f.Wait.Text, "; ")
	}
	return &q
}

// restartsOf adds the attempt that fails in this pass.
func restartsOf(f *phase.Facts, before *jobv1.Restarts) *jobv1.Restarts {
	again := f.State().Restart
	if again == nil {
		number := f.PublishedRestarts()
		if number == 0 || before != nil && before.Number == number || f.Runtime == nil {
			return before
		}
		return &jobv1.Restarts{Number: number, Of: f.Runtime.RestartBudget()}
	}
	r := jobv1.Restarts{Number: again.Number, Of: again.Of}
	if before != nil {
		r.Attempts = slices.Clone(before.Attempts)
	}
	failed := again.Failure
	r.Attempts = append(r.Attempts, jobv1.Attempt{
		Number: again.Number - 1, Ended: metav1.NewTime(f.Now), Reason: string(failed.Reason), Message: failed.Message,
		Pod: failed.Pod, Machine: failed.Machine,
	})
	r.Attempts = r.Attempts[max(0, len(r.Attempts)-jobv1.MaxAttempts):]
	return &r
}

// recordedMessages is how much of each message a record has; less if there is no room for more.
var recordedMessages = []int{4 << 10, 1 << 10, 128}

// EncodeRecord returns a record in JSON, with its messages clipped, or nothing if even that does not fit beside the
// other annotations.
func EncodeRecord(trainJob *trainer.TrainJob, r jobv1.Record) string {
	for _, limit := range recordedMessages {
		text, err := json.Marshal(clippedRecord(r, limit))
		if err != nil {
			panic(err) // strings, numbers and times
		}
		others := job.MergeMaps(trainJob.Annotations, map[string]string{jobv1.Annotation: string(text)})
		if len(text) <= jobv1.MaxBytes && validation.ValidateAnnotationsSize(others) == nil {
			return string(text)
		}
	}
	return ""
}

func clippedRecord(r jobv1.Record, limit int) jobv1.Record {
	r.Message = ClipMessage(r.Message, limit)
	r.Conditions = slices.Clone(r.Conditions)
	for i := range r.Conditions {
		r.Conditions[i].Message = ClipMessage(r.Conditions[i].Message, limit)
	}
	if r.Cause != nil {
		c := *r.Cause
		c.Message, c.Remedy, c.Lines = ClipMessage(c.Message, limit), ClipMessage(c.Remedy, limit), slices.Clone(c.Lines)
		for i := range c.Lines {
			c.Lines[i] = ClipMessage(c.Lines[i], limit)
		}
		r.Cause = &c
	}
	if r.Queue != nil {
		q := *r.Queue
		q.Text = ClipMessage(q.Text, limit)
		r.Queue = &q
	}
	if r.Restarts != nil {
		again := *r.Restarts
		again.Attempts = slices.Clone(again.Attempts)
		for i := range again.Attempts {
			again.Attempts[i].Message = ClipMessage(again.Attempts[i].Message, min(limit, 256))
		}
		r.Restarts = &again
	}
	return r
}
