package view

import (
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
)

// trustedRecord returns a record as it is shown, an empty one if there is none or if the status, which users cannot
// write, contradicts it. If Kubeflow Trainer made the JobSet, diagnosed is true: a companion may explain its end.
func trustedRecord(r jobv1.Record, shown []metav1.Condition, diagnosed bool) jobv1.Record {
	isKnown := r.Executor == jobv1.Controller || r.Executor == jobv1.Companion
	switch {
	case r.Version == "":
		return earlierRecord(r)
	case isKnown && slices.Contains(jobv1.AllPhases(), r.Phase) && agrees(r, shown, diagnosed):
		return printableRecord(r)
	}
	return jobv1.Record{}
}

// agrees reports whether a record has the end that the status shows, or none. Of a failure it may only repeat the words
// of the status in parts; the words of a companion stand in the record alone.
func agrees(r jobv1.Record, shown []metav1.Condition, diagnosed bool) bool {
	switch failed := apimeta.FindStatusCondition(shown, trainer.TrainJobFailed); {
	case apimeta.IsStatusConditionTrue(shown, trainer.TrainJobComplete):
		return r.Phase == jobv1.Complete
	case failed == nil || failed.Status != metav1.ConditionTrue:
		return !r.Phase.IsFinal()
	case !r.Phase.IsFinal() || r.Phase == jobv1.Complete || r.Cause == nil:
		return false
	default:
		return diagnosed || r.Cause.Reason == failed.Reason && isPartOf(*r.Cause, failed.Message)
	}
}

// earlierRecord takes from a record of conditions alone, which releases before wrote, who ran the job, and its
// restarts. Only companions leave out Created.
func earlierRecord(r jobv1.Record) jobv1.Record {
	if r.UID == "" {
		return r
	}
	earlier := jobv1.Record{Executor: jobv1.Companion}
	if hasCondition(r.Conditions, job.Created) {
		earlier.Executor = jobv1.Controller
	}
	if number, of := observe.ParsePublishedRestarts(r.Conditions); number > 0 {
		earlier.Restarts = &jobv1.Restarts{Number: number, Of: of}
	}
	return earlier
}

// isPartOf reports whether all words of a cause stand in a text. Long ones are cut, with an ellipsis.
func isPartOf(c jobv1.Cause, text string) bool {
	words := append([]string{strings.TrimRight(c.Message, ".…"), c.Remedy}, c.Lines...)
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, strings.TrimSuffix(w, "…")) })
}

// printableRecord takes what moves the cursor of a terminal out of the words of programs and users.
func printableRecord(r jobv1.Record) jobv1.Record {
	r.Message = printableText(r.Message)
	if r.Cause != nil {
		r.Cause = printableCause(*r.Cause)
	}
	if r.Usage != nil {
		r.Usage.MemoryPod = diagnose.StripEscapes(r.Usage.MemoryPod)
	}
	if a := r.Artifacts; a != nil {
		a.Claim, a.Folder, a.To = diagnose.StripEscapes(a.Claim), diagnose.StripEscapes(a.Folder), diagnose.StripEscapes(a.To)
		a.Reason, a.Message = diagnose.StripEscapes(a.Reason), printableText(a.Message)
	}
	if r.Queue != nil {
		r.Queue.Text = printableText(r.Queue.Text)
	}
	if r.Restarts != nil {
		for i := range r.Restarts.Attempts {
			r.Restarts.Attempts[i].Message = printableText(r.Restarts.Attempts[i].Message)
		}
	}
	return r
}

func printableCause(c jobv1.Cause) *jobv1.Cause {
	c.Reason, c.Message, c.Remedy = diagnose.StripEscapes(c.Reason), printableText(c.Message), printableText(c.Remedy)
	c.Lines = slices.Clone(c.Lines)
	for i := range c.Lines {
		c.Lines[i] = diagnose.StripEscapes(c.Lines[i])
	}
	return &c
}
