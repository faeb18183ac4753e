package v1

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Annotation of a TrainJob holds its Record in JSON. Before version 1 it held UID and Conditions alone: Read takes both
// forms.
const Annotation = "lockstep.dev/conditions"

// Version of the Record. Releases before it wrote none.
const Version = "v1"

// MaxBytes is the most that a Record has in JSON, 16 KiB.
const MaxBytes = 16 << 10

// Record is all that mpi-controller knows of one TrainJob.
type Record struct {
	// Version is Version, or empty in a record of an earlier release, which has UID and Conditions only.
	Version string `json:"version,omitempty"`
	// UID belongs to the TrainJob. A copy of a TrainJob has its annotations too, and begins without a record.
	UID types.UID `json:"uid"`
	// Executor runs the job.
	Executor Executor `json:"executor,omitempty"`
	// Phase is the stage of the job, Since when it came there by the clock of the controller.
	Phase Phase       `json:"phase,omitempty"`
	Since metav1.Time `json:"since,omitzero"`
	// Started is when the command of the latest attempt began, zero before.
	Started metav1.Time `json:"started,omitzero"`
	// Cause keeps the job in its phase, or ended it; nil if nothing is wrong.
	Cause *Cause `json:"cause,omitempty"`
	// Message explains a phase without a cause: who holds the job back, or what failed in spite of the success.
	Message string `json:"message,omitempty"`
	// Queue is the local queue of Kueue that a suspended job waits in, or nil.
	Queue *Queue `json:"queue,omitempty"`
	// Restarts lists earlier attempts; nil if there were none.
	Restarts *Restarts `json:"restarts,omitempty"`
	// Pods counts launcher and nodes while there are any. It lags behind by up to half a minute.
	Pods *Pods `json:"pods,omitempty"`
	// World is the size of the job; nil if its runtime is unknown.
	World *World `json:"world,omitempty"`
	// Usage is how much the job has used; nil before its command ran.
	Usage *Usage `json:"usage,omitempty"`
	// Artifacts are the folder that outlives the pods; nil if the job has none.
	Artifacts *Artifacts `json:"artifacts,omitempty"`
	// Conditions are all of the job but the ends and suspensions that its status shows.
	Conditions []metav1.Condition `json:"conditions"`
}

// Executor is the program that runs a job.
type Executor string

// The executors.
const (
	// Controller: mpi-controller runs the job.
	Controller Executor = "mpi-controller"
	// Companion: Kubeflow Trainer runs the job, and mpi-controller stands beside it and diagnoses its end.
	Companion Executor = "kubeflow-trainer with mpi-controller"
	// Stock: Kubeflow Trainer runs the job, or no controller has taken it yet. No Record has it.
	Stock Executor = "kubeflow-trainer"
)

// Cause keeps a job from running, or ended it.
type Cause struct {
	// Reason is the name of a closed list, or another program's: docs/failures has a page for each.
	Reason string `json:"reason"`
	// Message describes the fault in one line, Remedy what to do about it.
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"`
	// Lines are the last lines of the program that failed, without secrets.
	Lines []string `json:"lines,omitempty"`
	// Class names whose failure it is: infrastructure, application, request or hand; empty if the reason has no page.
	Class string `json:"class,omitempty"`
	// URL is the address of the page about the reason, if the message links to it.
	URL string `json:"url,omitempty"`
	// Pod is the name of the pod that failed, Machine the Kubernetes node under it, if they are known.
	Pod     string `json:"pod,omitempty"`
	Machine string `json:"machine,omitempty"`
	// Rank is the first rank that failed, from 0; nil if none is known.
	Rank *int `json:"rank,omitempty"`
	// ExitCode belongs to the program that failed, 128+n after signal n; 0 if there is none.
	ExitCode int `json:"exitCode,omitempty"`
	// Signal ended it, for example SIGKILL, or none.
	Signal string `json:"signal,omitempty"`
}

// Queue is a local queue of Kueue, seen from a job.
type Queue struct {
	Name string `json:"name"`
	// Position counts from 1, and Length is how many jobs wait, 20 for more; 0 if Kueue does not report them.
	Position int `json:"position,omitempty"`
	Length   int `json:"length,omitempty"`
	// Text describes position, missing resources and the wait of other jobs; empty for a job that does not wait.
	Text string `json:"text,omitempty"`
}

// Restarts counts how often a job was started again.
type Restarts struct {
	// Number is the latest restart, from 1; Of is how many the runtime allows.
	Number int `json:"number"`
	Of     int `json:"of"`
	// Attempts are the last failures, at most MaxAttempts, oldest first.
	Attempts []Attempt `json:"attempts,omitempty"`
}

// MaxAttempts is how many failed attempts a Record keeps.
const MaxAttempts = 8

// Attempt is one start of a job that failed.
type Attempt struct {
	// Number counts from 0.
	Number int `json:"number"`
	// Ended is when its failure was noticed.
	Ended metav1.Time `json:"ended"`
	// Reason and Message come from its cause.
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Pod     string `json:"pod,omitempty"`
	Machine string `json:"machine,omitempty"`
}

// Pods counts pods: how many are ready, or have been, of those wanted.
type Pods struct {
	Ready int `json:"ready"`
	Want  int `json:"want"`
}

// World is the size of an MPI job: Nodes with SlotsPerNode ranks each, Slots together.
type World struct {
	Nodes        int32 `json:"nodes"`
	SlotsPerNode int32 `json:"slotsPerNode"`
	Slots        int32 `json:"slots"`
	// LauncherRunsRanks is true if the launcher is the first of the nodes.
	LauncherRunsRanks bool `json:"launcherRunsRanks,omitempty"`
}

// Read returns the record in the annotations of an object with this UID, and whether there is one. Users may write
// annotations: an unreadable record, or one of another object, is none.
func Read(annotations map[string]string, uid types.UID) (record Record, found bool) {
	text := annotations[Annotation]
	if text == "" || uid == "" || json.Unmarshal([]byte(text), &record) != nil || record.UID != uid {
		return Record{}, false
	}
	return record, true
}
