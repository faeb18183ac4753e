package phase

import (
	"sync"

	corev1 "k8s.io/api/core/v1"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
)

// Facts follow from an observation, which must not change any more: they hold the one answer to each question that
// decisions, status, events and metrics ask. Each value knows those before it, and none after it:
//
//	Start ← {Run, Waits} ← End ← Facts
type Facts struct {
	*seen
	Start Start
	Run   Run
	Waits Waits
	End   *End

	record func() jobv1.Record
	state  func() JobState
}

// Start answers whether the pods of a job may be made, the first time or again, and what keeps them from running.
type Start struct{ *seen }

// Run answers how far a started job is, and what takes its pods away.
type Run struct {
	*seen
	start Start
}

// Waits answers for how long: until a deadline, or until the next look at a job of which no watch may tell.
type Waits struct {
	*seen
	start Start
}

// End answers why and how a job ends, also before its JobSet has ended, and what is left to do after that.
type End struct {
	*seen
	start Start
	run   Run
	waits Waits

	cause func() *diagnose.Cause
	found func() *JobEnd
}

// seen is an observation with its pods in order.
type seen struct {
	observe.Observed
	// All are the launcher and the nodes of this JobSet, launcher first, then nodes by index; Current those that stay.
	All, Current []*corev1.Pod
	// Want is how many there should be.
	Want int

	// evidence is what package diagnose looks at in All.
	evidence func() []diagnose.Pod
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
	// Fetching is what the job needs before it is made: its data. Then Waiting says so. Nil otherwise.
	Fetching *Fetching
	// Leftovers are what an earlier job or attempt left, and is in the way of this one.
	Leftovers []observe.Deletion
	// Job is what a job that is to be made now is made from, or nil.
	Job *job.Job
}

// DeriveFacts returns the facts of an observation. Each is computed when it is first asked for, and then kept: questions about what else has
// to be read come before all has been read that an answer needs.
func DeriveFacts(o observe.Observed) *Facts {
	s := &seen{Observed: o, All: o.AllPods()}
	s.Current = observe.CurrentPods(s.All)
	if o.JobSet != nil {
		s.Want = job.CountPods(o.JobSet)
	}
	s.evidence = sync.OnceValue(func() []diagnose.Pod { return s.evidenceOf(s.All) })
	start := Start{s}
	end := &End{seen: s, start: start, run: Run{s, start}, waits: Waits{s, start}}
	end.cause = sync.OnceValue(end.findCause)
	end.found = sync.OnceValue(end.findEnd)
	f := &Facts{seen: s, Start: start, Run: end.run, Waits: end.waits, End: end}
	f.record = sync.OnceValue(func() jobv1.Record {
		record, _ := jobv1.Read(f.TrainJob.Annotations, f.TrainJob.UID)
		return record
	})
	f.state = sync.OnceValue(f.findState)
	return f
}

// Record returns the record in the annotations of the TrainJob. Users may write them: it decides nothing.
func (f *Facts) Record() jobv1.Record { return f.record() }

// State returns the phase of the job with what made it so. All has to be read by then.
func (f *Facts) State() JobState { return f.state() }
