package phase

import (
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
)

// FetchRecheck is when to look again at Jobs that fetch: their conditions come later than the pods that the watch
// shows.
const FetchRecheck = 2 * time.Second

// Fetching lists the steps towards the data of a job.
type Fetching struct {
	Create []job.Object
	// Update are Jobs with another suspension.
	Update []*batchv1.Job
	// Delete is left by an earlier job of the name.
	Delete []observe.Deletion
}

// fetchState is the state of a job whose data is not all there, or nil. Missing objects are reported as
// for any other pod.
func (f *Facts) fetchState(made job.Job, phase jobv1.Phase) *JobState {
	if len(f.Bounds.Missing) > 0 && !f.SuspendWanted() {
		return nil
	}
	todo, waits := &Fetching{}, []string(nil)
	var trouble *diagnose.Cause
	for _, wanted := range desired.FetchJobs(made) {
		have, claim := f.Fetch(wanted.Name)
		switch {
		case have == nil && f.SuspendWanted() && made.Queue == nil: // resumed, it is made
		case have == nil:
			if short := f.roomForFetch(wanted); short != nil {
				return &JobState{Phase: phase, Waiting: short, Held: true}
			}
			todo.Create = append(todo.Create, wanted)
		case claim == job.Foreign:
			state := f.failState(diagnose.NameTaken, "the name is taken by another owner's object: delete "+
				job.NameWithOwner("Job", have)+", or give the TrainJob another name")
			return &state
		case claim == job.Stale, have.DeletionTimestamp != nil:
			todo.Delete = append(todo.Delete, observe.DeletionOf(observe.KindOfFetch(), have))
		case f.isFetched(have):
			continue
		case observe.FetchCondition(have, batchv1.JobFailed) != nil:
			state := f.endState(&JobEnd{Cause: f.fetchFailure(have)})
			return &state
		default:
			if made.Queue == nil && ptr.Deref(have.Spec.Suspend, false) != made.Suspended {
				again := have.DeepCopy()
				again.Spec.Suspend = ptr.To(made.Suspended)
				todo.Update = append(todo.Update, again)
			}
			if why := f.fetchTrouble(have); trouble == nil {
				trouble = why
			}
		}
		waits = append(waits, f.describeFetch(made, wanted))
	}
	if waits == nil {
		return nil
	}
	if phase == jobv1.Creating {
		phase = jobv1.Fetching
	}
	message := "the job waits for its " + strings.Join(waits, " and its ")
	why := &diagnose.Cause{Reason: job.ReasonFetchingData, Message: message}
	if trouble != nil {
		why.Reason, why.Message = trouble.Reason, why.Message+": "+trouble.Message
	}
	return &JobState{Phase: phase, Waiting: why, Fetching: todo}
}

// describeFetch names the data, its source and the Job.
func (f *Facts) describeFetch(made job.Job, wanted *batchv1.Job) string {
	step := wanted.Labels[mpi.AncestorLabel]
	text := strings.TrimSuffix(step, "-initializer")
	for _, d := range made.Data {
		if d.Step == step && d.URI != "" {
			text += " from " + d.URI
		}
	}
	return text + " (`kubectl logs job/" + wanted.Name + "` shows how far it is)"
}

// roomForFetch explains why the namespace has no room for a pod that fetches, or is nil.
func (f *Facts) roomForFetch(wanted *batchv1.Job) *diagnose.Cause {
	if ptr.Deref(wanted.Spec.Suspend, false) {
		return nil
	}
	sets := []desired.PodSet{{Name: wanted.Labels[mpi.AncestorLabel], Count: 1, Spec: wanted.Spec.Template.Spec}}
	sets = podSetsWithDefaults(sets, f.Bounds.Limits)
	if why := f.Start.permanentHoldCause(sets); why != nil {
		return why
	}
	return f.Start.holdBeforePodsCause(sets)
}

// isFetched reports whether a Job has brought its data. Its pod shows it a moment earlier.
func (f *Facts) isFetched(made *batchv1.Job) bool {
	if observe.FetchCondition(made, batchv1.JobComplete) != nil {
		return true
	}
	for _, pod := range f.FetchPods(made) {
		if pod.Status.Phase == corev1.PodSucceeded {
			return true
		}
	}
	return false
}

// fetchFailure is why a Job has given up.
func (f *Facts) fetchFailure(made *batchv1.Job) diagnose.Cause {
	pods := f.FetchPods(made)
	for i := len(pods) - 1; i >= 0; i-- {
		if why := observe.FetchFailure(pods[i]); why != nil {
			return *why
		}
	}
	return diagnose.Cause{Reason: diagnose.DataFetchFailed, Message: observe.FetchCondition(made, batchv1.JobFailed).Message}
}

// fetchTrouble explains why a Job has not fetched so far, or is nil.
func (f *Facts) fetchTrouble(made *batchv1.Job) *diagnose.Cause {
	pods := f.FetchPods(made)
	if len(pods) == 0 {
		return nil
	}
	last := pods[len(pods)-1]
	if why := f.Start.problemOf(last); why != nil && !observe.IsTerminal(last) {
		return why
	}
	for i := len(pods) - 1; i >= 0; i-- {
		if why := observe.FetchFailure(pods[i]); why != nil {
			why.Message += "; it is tried again"
			return why
		}
	}
	return nil
}
