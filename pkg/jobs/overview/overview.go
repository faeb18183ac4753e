package overview

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	"lockstep.dev/lockstep/pkg/cost"
	"lockstep.dev/lockstep/pkg/jobs/view"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
)

// ProfileLabel of a runtime names the kind of its machines (pkg/compile/lower, training_runtime.go).
const ProfileLabel = "lockstep.dev/profile"

// Input holds the objects of a cluster. All but Now may be missing.
type Input struct {
	Now  time.Time
	Jobs []view.JobObjects
	// Pods belong to jobs.
	Pods     []corev1.Pod
	Machines []corev1.Node
	// Tenants are the names of tenants by namespace.
	Tenants map[string]string
	// Runtimes have no namespace; they are here by name.
	Runtimes                   map[string]*job.Runtime
	ClusterQueues, LocalQueues []unstructured.Unstructured
	Workloads                  []kueue.Workload
	Withheld                   []view.Withheld
}

// Overview is a cluster by its jobs. Its JSON is stable.
type Overview struct {
	At       time.Time       `json:"at"`
	Holdings []Holding       `json:"holdings"`
	Machines []MachineKind   `json:"machines"`
	Queues   []ClusterQueue  `json:"queues"`
	Pending  []PendingJob    `json:"pending"`
	Waits    []QueueWaits    `json:"waits"`
	Failures []FailureCount  `json:"failures"`
	Bill     cost.Bill       `json:"bill"`
	Withheld []view.Withheld `json:"withheld"`
}

// Owner names a job and its owner.
type Owner struct {
	Namespace string `json:"namespace"`
	Job       string `json:"job"`
	// Tenant is the namespace if no tenant is known to have it.
	Tenant string `json:"tenant"`
	// Person is the user in the annotation of the job, empty without one.
	Person string `json:"person,omitempty"`
}

// Holding adds up what the pods of a job hold on machines now.
type Holding struct {
	Owner
	Profile string      `json:"profile,omitempty"`
	Phase   jobv1.Phase `json:"phase"`
	// Since is when the first of these pods started on its machine.
	Since        metav1.Time `json:"since"`
	Machines     int         `json:"machines"`
	Pods         int         `json:"pods"`
	MilliCPU     int64       `json:"milliCPU"`
	Accelerators int64       `json:"accelerators"`
}

// MachineKind adds up what the machines of a profile have for pods.
type MachineKind struct {
	Profile      string `json:"profile"`
	Machines     int    `json:"machines"`
	MilliCPU     int64  `json:"milliCPU"`
	Accelerators int64  `json:"accelerators"`
}

// PendingJob is a job that waits in a queue.
type PendingJob struct {
	Owner
	Queue        string `json:"queue"`
	ClusterQueue string `json:"clusterQueue,omitempty"`
	// Position is the place in the queue, from 1; 0 if Kueue does not report it.
	Position int `json:"position,omitempty"`
	// Text describes what the job waits for.
	Text  string      `json:"text,omitempty"`
	Since metav1.Time `json:"since"`
}

// FailureCount counts the failed jobs with a reason.
type FailureCount struct {
	Reason string      `json:"reason"`
	Class  string      `json:"class,omitempty"`
	Count  int         `json:"count"`
	Last   metav1.Time `json:"last"`
	// Latest are the jobs that failed last, at most five.
	Latest []Owner `json:"latest"`
}

// mostLatest bounds FailureCount.Latest.
const mostLatest = 5

// Of judges what was read. The bill covers the month of Now until Now.
func Of(in Input) Overview {
	jobs := make([]view.Job, len(in.Jobs))
	for i, o := range in.Jobs {
		jobs[i] = view.JobOf(o)
	}
	return Overview{
		At: in.Now, Holdings: in.holdings(jobs), Machines: in.machineKinds(), Queues: clusterQueues(in.ClusterQueues),
		Pending: in.pending(jobs), Waits: in.waits(), Failures: in.failures(jobs), Bill: in.bill(jobs),
		Withheld: append([]view.Withheld{}, in.Withheld...),
	}
}

func (in *Input) ownerOf(j *view.Job) Owner {
	tenant := cmp.Or(in.Tenants[j.Namespace], j.Namespace)
	return Owner{Namespace: j.Namespace, Job: j.Name, Tenant: tenant, Person: j.User}
}

// jobKey names a job.
type jobKey struct{ namespace, name string }

// holdings adds up the pods of each job that have a machine and are not over. The longest hold comes first.
func (in *Input) holdings(jobs []view.Job) []Holding {
	pods := map[jobKey][]*corev1.Pod{}
	for i := range in.Pods {
		pod := &in.Pods[i]
		if pod.Spec.NodeName != "" && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			key := jobKey{pod.Namespace, pod.Labels[mpi.JobSetNameLabel]}
			pods[key] = append(pods[key], pod)
		}
	}
	held := []Holding{}
	for i := range jobs {
		own := pods[jobKey{jobs[i].Namespace, jobs[i].Name}]
		if len(own) == 0 {
			continue
		}
		h := Holding{Owner: in.ownerOf(&jobs[i]), Phase: jobs[i].Phase}
		if runtime := in.Jobs[i].Runtime; runtime != nil {
			h.Profile = runtime.Labels[ProfileLabel]
		}
		h.addPods(own)
		held = append(held, h)
	}
	slices.SortFunc(held, func(a, b Holding) int {
		return cmp.Or(a.Since.Compare(b.Since.Time), compareOwners(a.Owner, b.Owner))
	})
	return held
}

func compareOwners(a, b Owner) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Job, b.Job))
}

func (h *Holding) addPods(pods []*corev1.Pod) {
	machines := map[string]bool{}
	for _, pod := range pods {
		from := pod.CreationTimestamp
		if pod.Status.StartTime != nil {
			from = *pod.Status.StartTime
		}
		if h.Since.IsZero() || from.Before(&h.Since) {
			h.Since = from
		}
		machines[pod.Spec.NodeName] = true
		cpu, accelerators := countResources(desired.PodRequests(pod.Spec))
		h.MilliCPU, h.Accelerators = h.MilliCPU+cpu, h.Accelerators+accelerators
	}
	h.Pods, h.Machines = len(pods), len(machines)
}

// countResources returns thousandths of processors, and accelerators.
func countResources(list corev1.ResourceList) (milliCPU, accelerators int64) {
	for name, amount := range list {
		if observe.IsAccelerator(string(name)) {
			accelerators += amount.Value()
		}
	}
	return list.Cpu().MilliValue(), accelerators
}

// machineKinds counts the machines on which the runtimes of each profile may run.
func (in *Input) machineKinds() []MachineKind {
	selectors := map[string]labels.Selector{}
	for _, runtime := range in.Runtimes {
		part := job.ReplicatedJob(runtime.Spec.Template.Spec, mpi.NodeJob)
		if profile := runtime.Labels[ProfileLabel]; profile != "" && part != nil {
			selectors[profile] = labels.SelectorFromSet(part.Template.Spec.Template.Spec.NodeSelector)
		}
	}
	kinds := []MachineKind{}
	if len(in.Machines) == 0 {
		return kinds
	}
	for _, profile := range slices.Sorted(maps.Keys(selectors)) {
		kind := MachineKind{Profile: profile}
		for i := range in.Machines {
			if machine := &in.Machines[i]; selectors[profile].Matches(labels.Set(machine.Labels)) {
				cpu, accelerators := countResources(machine.Status.Allocatable)
				kind.Machines++
				kind.MilliCPU, kind.Accelerators = kind.MilliCPU+cpu, kind.Accelerators+accelerators
			}
		}
		kinds = append(kinds, kind)
	}
	return kinds
}

// pending returns the jobs that wait, queue by queue, in the order of their positions.
func (in *Input) pending(jobs []view.Job) []PendingJob {
	queues := in.clusterQueueNames()
	waiting := []PendingJob{}
	for i := range jobs {
		j := &jobs[i]
		if j.Queue == nil || j.Phase != jobv1.Queued && j.Phase != jobv1.Preempted {
			continue
		}
		waiting = append(waiting, PendingJob{
			Owner: in.ownerOf(j), Queue: j.Queue.Name, ClusterQueue: queues[jobKey{j.Namespace, j.Queue.Name}],
			Position: j.Queue.Position, Text: j.Queue.Text, Since: j.Times.Created,
		})
	}
	slices.SortFunc(waiting, func(a, b PendingJob) int {
		return cmp.Or(cmp.Compare(a.ClusterQueue, b.ClusterQueue), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Queue, b.Queue),
			cmp.Compare(cmp.Or(a.Position, math.MaxInt), cmp.Or(b.Position, math.MaxInt)),
			a.Since.Compare(b.Since.Time), cmp.Compare(a.Job, b.Job))
	})
	return waiting
}

// failures counts jobs by the reason that ended them, the most frequent first.
func (in *Input) failures(jobs []view.Job) []FailureCount {
	var failed []*view.Job
	for i := range jobs {
		if j := &jobs[i]; j.Phase == jobv1.Failed || j.Phase == jobv1.Refused {
			failed = append(failed, j)
		}
	}
	slices.SortStableFunc(failed, func(a, b *view.Job) int { return endOf(b).Compare(endOf(a).Time) })
	counts := []FailureCount{}
	for _, j := range failed {
		reason, class := string(j.Phase), ""
		if j.Cause != nil {
			reason, class = j.Cause.Reason, j.Cause.Class
		}
		at := slices.IndexFunc(counts, func(c FailureCount) bool { return c.Reason == reason })
		if at < 0 {
			at = len(counts)
			counts = append(counts, FailureCount{Reason: reason, Class: class, Last: endOf(j)})
		}
		if counts[at].Count++; len(counts[at].Latest) < mostLatest {
			counts[at].Latest = append(counts[at].Latest, in.ownerOf(j))
		}
	}
	slices.SortStableFunc(counts, func(a, b FailureCount) int { return cmp.Compare(b.Count, a.Count) })
	return counts
}

// endOf returns when a job ended, or its creation if nothing reports the end.
func endOf(j *view.Job) metav1.Time {
	if j.Times.Ended != nil {
		return *j.Times.Ended
	}
	return j.Times.Created
}
