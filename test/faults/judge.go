package main

import (
	"context"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/jobs/view"
	"lockstep.dev/lockstep/pkg/mpi"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
)

// ending is how long a job may take to end once its fault was named.
const ending = time.Minute

// waits is what Row.Ended says of a job that is not to end.
const waits = "waits"

// seen is what the conditions say.
type seen struct {
	condition, reason, message string
	final                      bool
}

// judge watches until the fault is named, and then until the job has ended, if it is to, and fills the row.
func (t *attempt) judge(ctx context.Context, row *Row, at time.Time) {
	first := t.watch(ctx, t.fault.limit()+max(0, time.Until(at)), func(s seen) bool { return s.final || t.right(s) })
	// Kubernetes keeps the creation to the second, so that a deadline may come up to a second early.
	row.Seconds = max(0, time.Since(at).Seconds())
	row.Condition, row.Reason, row.Message = first.condition, first.reason, first.message
	why := ""
	if first.condition == mpijob.Running {
		why, row.Why = first.reason, t.why(ctx)
	}
	end := first
	if !first.final && !t.fault.Waits {
		end = t.watch(ctx, ending, func(s seen) bool { return s.final })
	}
	row.Right = t.right(first) && t.rightEnd(end) && row.Why == why
	row.Lacks = t.lacks(first.message)
	switch {
	case end.final:
		row.Ended = end.condition
	case t.fault.Waits:
		row.Ended = waits
	}
	if end.final && !first.final {
		row.EndReason, row.EndMessage, row.EndSeconds = end.reason, end.message, time.Since(at).Seconds()
		row.Lacks = t.lacks(end.message)
	}
}

// watch reads the conditions until enough is seen, and returns what was seen last.
func (t *attempt) watch(ctx context.Context, limit time.Duration, enough func(seen) bool) seen {
	var last seen
	_ = until(ctx, limit, "", func(ctx context.Context) (bool, error) {
		s, err := t.see(ctx)
		if err == nil {
			last = s
		}
		return enough(s), err
	})
	return last
}

// right reports whether what is told names the fault, and whom it hit.
func (t *attempt) right(s seen) bool {
	if len(t.fault.Want) == 0 {
		return s.condition == trainer.TrainJobComplete
	}
	return slices.Contains(t.reasons(s.final), mpi.Reason(s.reason)) && t.lacks(s.message) == ""
}

// reasons are those that are right at the end, or before.
func (t *attempt) reasons(final bool) []mpi.Reason {
	if !final && t.fault.Warns != "" {
		return []mpi.Reason{t.fault.Warns}
	}
	return t.fault.Want
}

// why returns the reason that `kubectl mpi why` gives the user, empty for none.
func (t *attempt) why(ctx context.Context) string {
	// Some jobs are in a namespace without a tenant, which no editor may read.
	objects, err := fetch.ReadJob(ctx, t.admin.Client, client.ObjectKeyFromObject(t.job))
	if err != nil {
		return ""
	}
	if cause := view.JobOf(objects).Cause; cause != nil {
		return cause.Reason
	}
	return ""
}

// rightEnd reports whether the job ended as it must: by its fault, unless it is to survive it or to wait.
func (t *attempt) rightEnd(s seen) bool {
	switch {
	case len(t.fault.Want) == 0:
		return t.right(s)
	case t.fault.Waits:
		return !s.final
	}
	return s.final && t.right(s)
}

// lacks returns the words that a message must hold and does not, empty for none. A job that survives need not say anything.
func (t *attempt) lacks(message string) string {
	if len(t.fault.Want) == 0 {
		return ""
	}
	for _, words := range t.fault.Says {
		if !strings.Contains(strings.ToLower(message), strings.ToLower(words)) {
			return words
		}
	}
	return t.target.lacks(message)
}

// benign are reasons of conditions that say nothing of a fault.
var benign = []string{"PodsPending", "WaitingForPods", "WaitingForNodes", "Finished", "WaitingForDeletion", "JobSetCreated"}

// see reads the conditions: the final one, else one with a right reason, else one that says what is wrong.
func (t *attempt) see(ctx context.Context) (seen, error) {
	job := &trainer.TrainJob{}
	if err := t.admin.Client.Get(ctx, client.ObjectKeyFromObject(t.job), job); err != nil {
		return seen{}, err
	}
	for _, c := range job.Status.Conditions {
		if (c.Type == trainer.TrainJobFailed || c.Type == trainer.TrainJobComplete) && c.Status == metav1.ConditionTrue {
			return seen{condition: c.Type, reason: c.Reason, message: c.Message, final: true}, nil
		}
	}
	var told seen
	for _, c := range status.AllConditions(job) {
		s := seen{condition: c.Type, reason: c.Reason, message: c.Message}
		switch {
		case c.Type == trainer.TrainJobFailed || c.Type == trainer.TrainJobComplete || c.Type == trainer.TrainJobSuspended:
		case t.fault.Want != nil && t.right(s):
			return s, nil
		case c.Status == "False" && !slices.Contains(benign, c.Reason):
			told = s
		}
	}
	return told, nil
}
