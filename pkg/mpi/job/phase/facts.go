package phase

import (
	"sync"

	corev1 "k8s.io/api/core/v1"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
)

// Facts is what follows from an observation: the one answer to each question that decisions, status, events and metrics ask. What was
// observed must not change any more.
type Facts struct {
	observe.Observed
	// All are the launcher and the nodes of this JobSet, launcher first, then nodes by index; Current those that are not being deleted.
	All, Current []*corev1.Pod
	// Want is how many there should be.
	Want int

	cause  func() *diagnose.Cause
	record func() jobv1.Record
	// allEvidence is what package diagnose looks at.
	allEvidence func() []diagnose.Pod
	end         func() *JobEnd
	state       func() JobState
}

// JobState is the phase of a job with what made it so.
type JobState struct {
	Phase jobv1.Phase
	// Foreign is true when another controller of TrainJobs made the JobSet.
	Foreign bool
	// End is how the job ends in this pass, nil while it does not.
	End *JobEnd
	// Restart is what comes instead of an end, or nil.
	Restart *JobRestart
	// Unexplained is true when the JobSet has ended, and the pods may show in a moment why.
	Unexplained bool
	// Waiting is what keeps the job from being made, or nil; Held is true where that is what its pods need, and not an object of its own.
	Waiting *diagnose.Cause
	Held    bool
	// Leftovers are what an earlier job or attempt left, and is in the way of this one.
	Leftovers []observe.Deletion
	// Job is what a job that is to be made now is made from, or nil.
	Job *job.Job
}

// DeriveFacts returns the facts of an observation. Each is computed when it is first asked for, and then kept: questions about what else has
// to be read come before all has been read that an answer needs.
func DeriveFacts(o observe.Observed) *Facts {
	f := &Facts{Observed: o, All: o.AllPods()}
	f.Current = observe.CurrentPods(f.All)
	if o.JobSet != nil {
		f.Want = job.CountPods(o.JobSet)
	}
	f.allEvidence = sync.OnceValue(func() []diagnose.Pod { return f.evidenceOf(f.All) })
	f.cause = sync.OnceValue(f.findCause)
	f.record = sync.OnceValue(func() jobv1.Record {
		record, _ := jobv1.Read(f.TrainJob.Annotations, f.TrainJob.UID)
		return record
	})
	f.end = sync.OnceValue(f.findEnd)
	f.state = sync.OnceValue(f.findState)
	return f
}

// Evidence returns what package diagnose looks at in all pods of the job.
func (f *Facts) Evidence() []diagnose.Pod { return f.allEvidence() }

func (f *Facts) currentEvidence() []diagnose.Pod {
	if len(f.Current) == len(f.All) {
		return f.allEvidence()
	}
	return f.evidenceOf(f.Current)
}

// Cause returns what went wrong first, or nil when nothing shows why the job failed.
func (f *Facts) Cause() *diagnose.Cause { return f.cause() }

// Record returns the record in the annotations of the TrainJob. Users may write them: it decides nothing.
func (f *Facts) Record() jobv1.Record { return f.record() }

// State returns the phase of the job with what made it so. All has to be read by then.
func (f *Facts) State() JobState { return f.state() }
