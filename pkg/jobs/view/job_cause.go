package view

import (
	"slices"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
)

// Cause is what keeps a job, or what ended it.
type Cause struct {
	// Reason is the name, as in the condition.
	Reason mpi.Reason `json:"reason"`
	// Text is the message of the condition, word by word. Message, Remedy and Lines are its parts: what happened, what to do, the last lines
	// of the program that failed.
	Text    string   `json:"text"`
	Message string   `json:"message"`
	Remedy  string   `json:"remedy,omitempty"`
	Lines   []string `json:"lines,omitempty"`
	// URL is the page about the reason, empty where there is none.
	URL string `json:"url,omitempty"`
	// Class says whose failure it is, empty where the reason is not documented.
	Class diagnose.ReasonClass `json:"class,omitempty"`
	// Source says whose words these are.
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

func causeOf(reason mpi.Reason, text string, source CauseSource) *Cause {
	parts := diagnose.ParseCause(reason, text)
	entry, _ := diagnose.ReasonDocOf(reason)
	return &Cause{
		Reason: reason, Text: text, Message: parts.Message, Remedy: parts.Remedy, Lines: parts.Lines,
		URL: diagnose.PageURL(reason), Class: entry.Class, Source: source,
	}
}

func causeFromCondition(c *metav1.Condition) *Cause {
	return causeOf(mpi.Reason(c.Reason), c.Message, FromCondition)
}

// findCause returns what keeps the job in its phase, or what ended it, and what is said of a phase that is nobody's fault.
func (s *jobView) findCause(now phase.Phase) (cause *Cause, message string) {
	switch now {
	case phase.Complete:
		return nil, s.condition(trainer.TrainJobComplete).Message
	case phase.Failed, phase.Refused:
		return s.failureCause(), ""
	case phase.Queued, phase.Suspended, phase.Preempted:
		return s.suspensionCause(now)
	case phase.Restarting:
		return causeFromCondition(s.condition(job.Restarting)), ""
	case phase.Creating:
		if c := s.condition(job.Created); c != nil && c.Status == metav1.ConditionFalse {
			return causeFromCondition(c), ""
		}
	case phase.Stopping:
		return nil, ""
	}
	if c := status.ObstacleCondition(s.conditions); c != nil {
		return causeFromCondition(c), ""
	}
	return s.causeFromPods(false), ""
}

// failureCause prefers the diagnosis of a companion to the words of Kubeflow Trainer.
func (s *jobView) failureCause() *Cause {
	if c := s.condition(job.Diagnosed); c != nil && c.Status == metav1.ConditionTrue {
		return causeFromCondition(c)
	}
	if found := s.causeFromPods(true); found != nil {
		return found
	}
	return causeFromCondition(s.condition(trainer.TrainJobFailed))
}

// suspensionCause: that a user holds a job back is not a fault, that Kueue took its room away is one.
func (s *jobView) suspensionCause(now phase.Phase) (*Cause, string) {
	c := s.condition(trainer.TrainJobSuspended)
	switch {
	case c == nil || c.Status != metav1.ConditionTrue:
		return nil, ""
	case now == phase.Preempted:
		return causeFromCondition(c), ""
	}
	return nil, c.Message
}

// causeFromPods is what the pods of a job show that no mpi-controller looks after.
func (s *jobView) causeFromPods(over bool) *Cause {
	if s.executor != Stock || s.JobSet == nil || !s.PodsRead {
		return nil
	}
	facts := phase.DeriveFacts(s.observed)
	found := facts.StartProblem()
	if over {
		found = facts.Cause()
	}
	if found == nil {
		return nil
	}
	return causeOf(found.Reason, printableText(found.Text()), FromPods)
}

// restartCount reads how often the job was started again.
func (s *jobView) restartCount() int { return s.observed.PublishedRestarts() }

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
