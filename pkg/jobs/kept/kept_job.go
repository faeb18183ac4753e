// Package kept has the types of the history's API, and the client that reads it. What this package must not know: how
// the history stores jobs, commands, and terminals.
package kept

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/jobs/view"
	"lockstep.dev/lockstep/pkg/mpi"
)

// GroupVersion names the API. It serves Resource, with the subresource `log`.
var GroupVersion = schema.GroupVersion{Group: "history.lockstep.dev", Version: "v1alpha1"}

// Resource and Kind are the names of what it serves.
const (
	Resource = "keptjobs"
	Kind     = "KeptJob"
)

// Job is a TrainJob that is kept, with its labels and UID, under another name: several TrainJobs may have had one name.
type Job struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// TrainJob is the name of the job, User the value of its annotation lockstep.dev/user.
	TrainJob string `json:"trainJob"`
	User     string `json:"user,omitempty"`
	// State is Complete, Failed, or empty of a job that was deleted before its end or still runs. Ended is when it
	// ended or was deleted, nil while it runs.
	State string       `json:"state,omitempty"`
	Ended *metav1.Time `json:"ended,omitempty"`
	Log   Log          `json:"log"`
	// Objects are not in a list.
	Objects *Objects `json:"objects,omitempty"`
}

// Log is the output of all containers of a job.
type Log struct {
	// Bytes is how much of the disk it takes. Whole: it was read to its end. Cut: its beginning was taken away because
	// of a limit. Note is a sentence about other lines that are missing.
	Bytes int64  `json:"bytes"`
	Whole bool   `json:"whole"`
	Cut   bool   `json:"cut,omitempty"`
	Note  string `json:"note,omitempty"`
}

// IsComplete reports whether no line is known to be missing.
func (l *Log) IsComplete() bool { return l.Whole && !l.Cut && l.Note == "" }

// JobList is a list of them.
type JobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Job `json:"items"`
}

// Objects are the job as it last was, without what looks like a secret. Pods has all that it ever had, and of their
// specs only what a reader of a job looks at.
type Objects struct {
	TrainJob *trainer.TrainJob `json:"trainJob"`
	Pods     []corev1.Pod      `json:"pods,omitempty"`
	Events   []fetch.JobEvent  `json:"events,omitempty"`
}

// View returns the last attempt of a kept job with its objects, as a reader of a live job gets it, without a runtime.
func (j *Job) View(now time.Time) view.JobObjects {
	last := 0
	for i := range j.Objects.Pods {
		last = max(last, AttemptOf(&j.Objects.Pods[i]))
	}
	o := view.JobObjects{Now: now, TrainJob: j.Objects.TrainJob, PodsRead: true}
	for _, pod := range j.Objects.Pods {
		if AttemptOf(&pod) == last {
			o.Pods = append(o.Pods, pod)
			o.JobSet = jobSetOf(&pod)
		}
	}
	return o
}

// jobSetOf returns as much of the JobSet of a pod as its labels name.
func jobSetOf(pod *corev1.Pod) *jobset.JobSet {
	set := &jobset.JobSet{}
	set.Name, set.UID = pod.Labels[mpi.JobSetNameLabel], types.UID(pod.Labels[mpi.JobSetUIDLabel])
	if of, ours := pod.Labels[mpi.TrainJobLabel]; ours {
		set.Labels = map[string]string{mpi.TrainJobLabel: of}
	}
	return set
}

// NameOf is the name under which a TrainJob is kept.
func NameOf(trainJob *trainer.TrainJob) string {
	uid, _, _ := strings.Cut(string(trainJob.UID), "-")
	return trainJob.Name + "-" + uid
}

// Fields are for field selectors.
func (j *Job) Fields() fields.Set {
	return fields.Set{
		"metadata.name":      j.Name,
		"metadata.namespace": j.Namespace,
		"trainJob":           j.TrainJob,
		"user":               j.User,
	}
}

// stampForm is how the time stands before each line that is kept: as kubelet writes it, in UTC.
const stampForm = "2006-01-02T15:04:05.000000000Z"

// FormatLine writes a line as it is kept: its time, `pod/container`, and what was printed.
func FormatLine(at time.Time, source, text string) string {
	return at.UTC().Format(stampForm) + " " + source + " " + text + "\n"
}

// ParseLine reads a line of FormatLine, with or without its end.
func ParseLine(line string) (at time.Time, source, text string) {
	stamp, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	at, _ = time.Parse(stampForm, stamp)
	source, text, _ = strings.Cut(rest, " ")
	return at, source, text
}
