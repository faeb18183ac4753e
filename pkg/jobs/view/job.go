package view

import (
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
)

// Job is what one job is. Its JSON is stable: fields are added, and none changes its meaning.
type Job struct {
	Name      string    `json:"name"`
	Namespace string    `json:"namespace"`
	UID       types.UID `json:"uid"`
	// User is who says that he submitted it, see UserAnnotation; empty where nobody does.
	User    string  `json:"user,omitempty"`
	Runtime Runtime `json:"runtime"`
	// Executor is who runs the job.
	Executor jobv1.Executor `json:"executor,omitempty"`
	// Phase is where the job is in its life, Since when it came there, nil where nobody says. State is the word of Kubeflow's API for it.
	Phase jobv1.Phase  `json:"phase"`
	State string       `json:"state,omitempty"`
	Since *metav1.Time `json:"since,omitempty"`
	// Cause is what keeps the job, or what ended it, or nil.
	Cause *Cause `json:"cause,omitempty"`
	// Message is what is said of a phase that needs no cause: why it is suspended, what failed in spite of the success.
	Message string `json:"message,omitempty"`
	// World is the size of an MPI job, nil where it cannot be known.
	World *jobv1.World `json:"world,omitempty"`
	// Usage is how much the job has used, nil before its command ran.
	Usage *jobv1.Usage `json:"usage,omitempty"`
	// Artifacts are the folder that outlives the pods and its copy, nil before the end and without one.
	Artifacts *jobv1.Artifacts `json:"artifacts,omitempty"`
	// Launcher is nil while there is none, and for frameworks without one; Nodes are in the order of their indices.
	Launcher *Pod  `json:"launcher,omitempty"`
	Nodes    []Pod `json:"nodes,omitempty"`
	// Pods counts launcher and nodes; nil where nobody says how many there are, and for a job that is over: JobSet has taken some of its pods
	// away, and nobody waits for the others.
	Pods *jobv1.Pods `json:"pods,omitempty"`
	// Queue is the local queue of Kueue that the job names, or nil.
	Queue *jobv1.Queue `json:"queue,omitempty"`
	// Restarts is how often the job was started again.
	// RestartsAllowed is how often its runtime allowed that, and Attempts are the last failures.
	Restarts        int             `json:"restarts,omitempty"`
	RestartsAllowed int             `json:"restartsAllowed,omitempty"`
	Attempts        []jobv1.Attempt `json:"attempts,omitempty"`
	Progress        *Progress       `json:"progress,omitempty"`
	Times           JobTimes        `json:"times"`
	// LogsURL is where the logs of a job that is over are kept, where the platform says it.
	LogsURL string `json:"logsURL,omitempty"`
	// Conditions are all that are known, those of the status and those that the controller records, in the order of a job's life.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Unknown says what cannot be known, and why.
	Unknown []Withheld `json:"unknown,omitempty"`
}

// UserAnnotation of a TrainJob is the name of the user who submitted it, as `kubectl mpi` writes it into each job that it makes. Users may write annotations: it
// serves to find one's own jobs, and proves nothing.
const UserAnnotation = mpi.UserAnnotation

// Runtime is what a job is made from.
type Runtime struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Framework is what the runtime says of itself: `mpi`, `torch`; empty where the runtime is not known.
	Framework string `json:"framework,omitempty"`
	// MPI reports whether it is an MPI runtime. Implementation and Version are those of a compiled one: `OpenMPI`, `5.0.7`.
	MPI            bool   `json:"mpi"`
	Implementation string `json:"implementation,omitempty"`
	Version        string `json:"version,omitempty"`
}

// Progress is how far the program reports to be.
type Progress struct {
	Percent          *int32           `json:"percent,omitempty"`
	RemainingSeconds *int32           `json:"remainingSeconds,omitempty"`
	Metrics          []trainer.Metric `json:"metrics,omitempty"`
	Updated          metav1.Time      `json:"updated,omitzero"`
}

// JobOf returns what a job is.
func JobOf(o JobObjects) Job {
	s := newJobView(o)
	j := Job{
		Name: o.TrainJob.Name, Namespace: o.TrainJob.Namespace, UID: o.TrainJob.UID,
		User:    diagnose.StripEscapes(o.TrainJob.Annotations[UserAnnotation]),
		Runtime: runtimeOf(o.TrainJob, o.Runtime), Executor: s.executor,
		Conditions: inLifeOrder(s.conditions), Progress: progressOf(o.TrainJob), World: s.world, Queue: s.findQueue(),
		Usage: s.record.Usage, Artifacts: s.record.Artifacts,
	}
	if again := s.record.Restarts; again != nil {
		j.Restarts, j.RestartsAllowed, j.Attempts = again.Number, again.Of, again.Attempts
	}
	j.Phase, j.Since = s.findPhase()
	j.State = j.Phase.State()
	j.Cause, j.Message = s.findCause(j.Phase)
	j.Launcher, j.Nodes = s.viewPods()
	if !j.IsFinished() {
		j.Pods = s.countReady()
	}
	j.Times = s.findTimes(j.Phase)
	if j.IsFinished() && j.Phase != jobv1.Refused {
		j.LogsURL = s.logsURL(j.Times)
	}
	j.Unknown = s.findUnknown(j)
	return j
}

func runtimeOf(trainJob *trainer.TrainJob, found *job.Runtime) Runtime {
	r := Runtime{Kind: ptr.Deref(trainJob.Spec.RuntimeRef.Kind, trainer.ClusterTrainingRuntimeKind), Name: trainJob.Spec.RuntimeRef.Name}
	if found != nil {
		r.Framework, r.MPI = found.Labels[mpi.FrameworkLabel], found.IsMPI()
		r.Implementation, r.Version = found.Labels[mpi.ImplementationLabel], found.Labels[mpi.VersionLabel]
	}
	return r
}

func progressOf(trainJob *trainer.TrainJob) *Progress {
	said := trainJob.Status.TrainerStatus
	if said == nil {
		return nil
	}
	return &Progress{Percent: said.ProgressPercentage, RemainingSeconds: said.EstimatedRemainingSeconds, Metrics: said.Metrics, Updated: said.LastUpdatedTime}
}

// Slots is how many ranks the job may have, as text, or `-`.
func (j Job) Slots() string {
	if j.World == nil {
		return none
	}
	return strconv.Itoa(int(j.World.Slots))
}

// IsFinished reports whether the job is over.
func (j Job) IsFinished() bool { return j.Phase.IsFinal() }

// Succeeded reports whether the job is over and did what was asked.
func (j Job) Succeeded() bool { return j.Phase == jobv1.Complete }

// Duration is how long the job has run, or ran; 0 for one that has not started.
func (j Job) Duration(now time.Time) time.Duration {
	if j.Times.Started == nil {
		return 0
	}
	end := now
	if j.Times.Ended != nil {
		end = j.Times.Ended.Time
	}
	return max(0, end.Sub(j.Times.Started.Time))
}

// jobView is a job with the objects that belong to it.
type jobView struct {
	JobObjects
	// record is the one of mpi-controller; without a phase if there is none.
	record jobv1.Record
	// conditions are all that are known.
	conditions []metav1.Condition
	executor   jobv1.Executor
	world      *jobv1.World
	// observed is the same for the packages that judge it; all are the pods of the JobSet, launcher first.
	observed observe.Observed
	all      []*corev1.Pod
}

func newJobView(o JobObjects) *jobView {
	written, _ := jobv1.Read(o.TrainJob.Annotations, o.TrainJob.UID)
	s := &jobView{
		JobObjects: o,
		conditions: printable(status.MergeStatusConditions(written.Conditions, o.TrainJob.Status.Conditions)),
	}
	made, ours := s.findMaker()
	s.record = trustedRecord(written, o.TrainJob.Status.Conditions, made && !ours)
	s.executor, s.world = s.findExecutor(made, ours), s.record.World
	if s.world == nil && o.Runtime != nil && o.Runtime.IsMPI() {
		s.world = status.WorldOf(o.TrainJob, *o.Runtime)
	}
	if s.executor == jobv1.Controller || !made && s.isOver() {
		// Only companions record these types. An executor publishes its cause in the status.
		s.conditions = slices.DeleteFunc(s.conditions, func(c metav1.Condition) bool {
			return c.Type == job.Diagnosed || c.Type == job.Guarded
		})
	}
	trainJob := *o.TrainJob
	trainJob.Status.Conditions = s.conditions
	s.observed = observe.Observed{Now: o.Now, TrainJob: &trainJob, Runtime: o.Runtime, JobSet: o.JobSet, Pods: o.Pods}
	s.all = s.observed.AllPods()
	return s
}

// printable returns conditions without what moves the cursor of a terminal: users and programs write much of them.
func printable(conditions []metav1.Condition) []metav1.Condition {
	conditions = slices.Clone(conditions)
	for i := range conditions {
		c := &conditions[i]
		c.Type, c.Reason = diagnose.StripEscapes(c.Type), diagnose.StripEscapes(c.Reason)
		c.Message = printableText(c.Message)
	}
	return conditions
}

func printableText(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = diagnose.StripEscapes(lines[i])
	}
	return strings.Join(lines, "\n")
}

// findMaker reports whether the JobSet of a job or its Jobs are there, and whether our controller made them: it labels
// them, and users write neither.
func (s *jobView) findMaker() (made, ours bool) {
	if s.JobSet != nil {
		return true, s.JobSet.Labels[mpi.TrainJobLabel] != ""
	}
	isOurs := func(made batchv1.Job) bool { return made.Labels[mpi.TrainJobLabel] != "" }
	return len(s.Jobs) > 0, slices.ContainsFunc(s.Jobs, isOurs)
}

// findExecutor goes by the maker of the JobSet. Without a JobSet the record and the label of the TrainJob serve, which
// users may write.
func (s *jobView) findExecutor(made, ours bool) jobv1.Executor {
	labelled := s.TrainJob.Labels[mpi.TrainJobLabel] == s.TrainJob.Name
	switch {
	case made && ours:
		return jobv1.Controller
	case made && s.record.Executor == jobv1.Controller:
		return jobv1.Stock
	case s.record.Executor != "":
		return s.record.Executor
	case labelled && !made:
		return jobv1.Controller
	}
	return jobv1.Stock
}

// queueName is the queue that a job names.
func queueName(trainJob *trainer.TrainJob) string { return trainJob.Labels[kueue.QueueLabel] }
