package job

import (
	"fmt"
	"strconv"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// Restarting is the condition of a job that was started again after a fault of the infrastructure. It is true from the
// fault until the new JobSet exists. Its message begins with `restart N of M: `, and that is where the number of restarts is
// kept. The JobSet has the number after which it was made, and no user may write that: it says how many are left.
const Restarting = "Restarting"

// ReasonRestarting: the job is being started again. ReasonRestarted: it was.
const (
	ReasonRestarting mpi.Reason = "Restarting"
	ReasonRestarted  mpi.Reason = "Restarted"
)

const (
	// maxRestarts bounds mpi.RestartsAnnotation: a job that loses its machines more often has another problem.
	maxRestarts = 10
	// attemptAnnotation on a JobSet says after how many restarts it was made. A JobSet of fewer restarts than the status
	// tells of is what the restart is about: it goes.
	attemptAnnotation = "lockstep.dev/attempt"
)

// restart is a JobSet that failed, and is to be made again.
type restart struct {
	number, of int
	reason     mpi.Reason
	cause      string
}

func (r restart) message() string {
	return fmt.Sprintf(restartFormat, r.number, r.of) + ": " + r.cause
}

const restartFormat = "restart %d of %d"

// Restarts returns the budget of the runtime, 0 when it has none or one that is not a number.
func (r Runtime) Restarts() int {
	budget, err := strconv.Atoi(r.Annotations[mpi.RestartsAnnotation])
	if err != nil {
		return 0
	}
	return max(0, min(budget, maxRestarts))
}

// restarts returns how often the job was started again, or is being so.
func (o Observed) restarts() int {
	var number, of int
	if c := apimeta.FindStatusCondition(o.TrainJob.Status.Conditions, Restarting); c != nil {
		if n, err := fmt.Sscanf(c.Message, restartFormat, &number, &of); n != 2 || err != nil {
			return 0
		}
	}
	return number
}

// attempt returns after how many restarts a JobSet was made.
func attempt(jobSet metav1.Object) int {
	number, err := strconv.Atoi(jobSet.GetAnnotations()[attemptAnnotation])
	if err != nil {
		return 0
	}
	return number
}

// condemned says whether the JobSet is to go, so that it can be made again: the status tells of a restart after it, or it
// failed while it was being suspended. Then its launcher has lost its nodes a moment before it was ended itself, which is
// no failure of the job: Kueue would otherwise turn a preempted job into a failed one.
func (o Observed) condemned() bool {
	return attempt(o.JobSet) < o.restarts() || o.failed() != nil && suspended(o.JobSet)
}

// restart returns what to do about a failure that is not the job's own, or nil.
func (o Observed) restart(e *end) *restart {
	if e == nil || e.succeeded || e.stop || o.Runtime == nil || !diagnose.Infrastructure(e.reason) {
		return nil
	}
	number, budget := attempt(o.JobSet)+1, o.Runtime.Restarts()
	if number > budget {
		return nil
	}
	return &restart{number, budget, e.reason, e.message}
}

// spent adds to the message of an end that the budget is used up.
func (o Observed) spent(e *end) *end {
	if e == nil || e.succeeded || attempt(o.JobSet) == 0 || !diagnose.Infrastructure(e.reason) {
		return e
	}
	said, lines, _ := strings.Cut(e.message, "\n")
	said += fmt.Sprintf(" (restarts: %d, which is all that the runtime allows)", attempt(o.JobSet))
	e.message = strings.TrimSuffix(said+"\n"+lines, "\n")
	return e
}

// restarting carries the condition Restarting on: it tells of the restart that this decision begins, or of the last one.
func (d Decision) restarting(c *conditions, o Observed) {
	earlier := apimeta.FindStatusCondition(o.TrainJob.Status.Conditions, Restarting)
	switch {
	case d.restart != nil:
		c.add(Restarting, true, d.restart.reason, d.restart.message())
	case earlier == nil:
	case d.end == nil && !o.startedAgain():
		c.add(Restarting, true, mpi.Reason(earlier.Reason), earlier.Message)
	default:
		c.add(Restarting, false, ReasonRestarted, earlier.Message)
	}
}

// startedAgain says whether the JobSet of the last restart exists.
func (o Observed) startedAgain() bool { return o.Owns() && attempt(o.JobSet) >= o.restarts() }

// stopped returns the counts of child Jobs after the JobSet was deleted: nothing is active any more, and dashboards take a
// job with something active for a running one.
func stopped(statuses []trainer.JobStatus) []trainer.JobStatus {
	result := make([]trainer.JobStatus, 0, len(statuses))
	for _, s := range statuses {
		s.Failed = ptr.To(ptr.Deref(s.Failed, 0) + ptr.Deref(s.Active, 0))
		s.Active, s.Ready = ptr.To[int32](0), ptr.To[int32](0)
		result = append(result, s)
	}
	return result
}
