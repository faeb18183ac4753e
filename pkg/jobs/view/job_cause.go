package view

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
)

// Cause is what keeps a job from running, or what ended it.
type Cause struct {
	jobv1.Cause
	// Text is the whole message: what happened, what to do, and the last lines of the program that failed.
	Text string `json:"text"`
	// Source is the origin of the words.
	Source CauseSource `json:"source"`
}

// CauseSource is where a cause comes from.
type CauseSource string

// The sources.
const (
	// FromCondition: a condition of the TrainJob says it; Condition in the type's name, its words unchanged.
	FromCondition CauseSource = "condition"
	// FromPods: nobody said it. It is what the pods show to whoever reads them, and may change while they do.
	FromPods CauseSource = "pods"
)

// pageURL is the page about a reason, by what the runtime has: users may write the record.
func (s *jobView) pageURL(reason string) string {
	if s.Runtime == nil {
		return ""
	}
	return diagnose.PageURL(s.Runtime.Annotations[mpi.DocsAnnotation], mpi.Reason(reason))
}

func (s *jobView) newCause(c jobv1.Cause, text string, source CauseSource) *Cause {
	c.URL = s.pageURL(c.Reason)
	return &Cause{Cause: c, Text: text, Source: source}
}

// causeFromCondition has all words in its message: only the controller knows their parts.
func (s *jobView) causeFromCondition(c *metav1.Condition) *Cause {
	entry, _ := diagnose.ReasonDocOf(mpi.Reason(c.Reason))
	cause := jobv1.Cause{Reason: c.Reason, Message: c.Message, Class: string(entry.Class)}
	return s.newCause(cause, c.Message, FromCondition)
}

// findCause returns what keeps the job in its phase, or what ended it, and what explains a phase that is nobody's
// fault: from the record, otherwise from the conditions and the pods.
func (s *jobView) findCause(now jobv1.Phase) (cause *Cause, message string) {
	c, isFault := status.Explanation(now, s.conditions)
	switch {
	case now == s.record.Phase && s.record.Cause != nil:
		told := *s.record.Cause
		told.URL = ""
		text := observe.CauseOf(told).Text()
		if c != nil && c.Reason == told.Reason {
			text = c.Message
		}
		return s.newCause(told, text, FromCondition), ""
	case now == jobv1.Failed || now == jobv1.Refused:
		if found := s.causeFromPods(true); found != nil && !s.conditionIsTrue(job.Diagnosed) {
			return found, ""
		}
	case c == nil:
		if now == jobv1.Stopping || now == jobv1.Complete {
			return nil, ""
		}
		return s.causeFromPods(false), ""
	case !isFault:
		return nil, c.Message
	}
	return s.causeFromCondition(c), ""
}

// causeFromPods is what the pods of a job show that no mpi-controller looks after.
func (s *jobView) causeFromPods(over bool) *Cause {
	if s.executor != jobv1.Stock || s.JobSet == nil || !s.PodsRead {
		return nil
	}
	facts := phase.DeriveFacts(s.observed)
	found := facts.Start.Problem()
	if over {
		found = facts.End.Cause()
	}
	if found == nil {
		return nil
	}
	return s.newCause(*printableCause(*status.RecordedCause(*found)), printableText(found.Text()), FromPods)
}

// inLifeOrder puts conditions into the order of a job's life; those of others come last.
func inLifeOrder(conditions []metav1.Condition) []metav1.Condition {
	place := func(c metav1.Condition) int {
		if i := slices.Index(job.ConditionOrder, c.Type); i >= 0 {
			return i
		}
		return len(job.ConditionOrder)
	}
	result := slices.Clone(conditions)
	slices.SortStableFunc(result, func(a, b metav1.Condition) int {
		if d := place(a) - place(b); d != 0 {
			return d
		}
		return strings.Compare(a.Type, b.Type)
	})
	return result
}
