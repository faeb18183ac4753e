package job

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi"
)

// Observed is everything that a decision may need, read in one pass.
type Observed struct {
	Now time.Time
	// ControllerNamespace is where mpi-controller runs; the pods of the job admit it.
	ControllerNamespace string
	// TrainJob has all its conditions in its status, see Conditions.
	TrainJob *trainer.TrainJob
	// Shown are the conditions that its status has in the cluster.
	Shown []metav1.Condition
	// Runtime is nil when the TrainJob names one that does not exist.
	Runtime *Runtime
	// JobSet is the one with the name of the TrainJob, whoever owns it, or nil.
	JobSet *jobset.JobSet
	// Children are the Secret, the ConfigMap, the NetworkPolicies and the PodGroup under our names, whoever owns them. They are
	// read only where NeedsChildren says so.
	Children []metav1.PartialObjectMetadata
	// ChildJobs are the Jobs under the names that the JobSet gives its Jobs, whoever owns them. They are read with Children as long
	// as JobSet is not ours: JobSet would try again and again to make one whose name is taken.
	ChildJobs []metav1.PartialObjectMetadata
	// PolicyGone says that the NetworkPolicy of a started job is gone.
	PolicyGone bool
	// NamespaceTerminating says that the namespace is being deleted. It is asked only where the JobSet is gone (JobSetGone): it may go
	// before its TrainJob.
	NamespaceTerminating bool
	// hostfile is the digest of the runtime that the hostfile's ConfigMap keeps; AsMade sets it.
	hostfile string
	// Jobs are those that carry the label of the TrainJob.
	Jobs []metav1.PartialObjectMetadata
	// Pods are those that carry the label of the TrainJob.
	Pods []corev1.Pod
	// Gate is what the rendezvous with the launcher brought; nil while it brought nothing.
	Gate *Gate
	// Bounds are what the namespace lets the job have. They are read as long as JobSet is not ours.
	Bounds Bounds
	// Seen is since when facts hold, by the clock of this process; Remember sets it.
	Seen Memory
	// Eviction is why Kueue has just stopped the job, or nil. It is read only where NeedsEviction says so.
	Eviction *Eviction
	// Wait is what is known of the wait of a suspended job in a queue (Line.Wait).
	Wait Wait
	// Warnings are warning events about JobSet, Jobs and pods. They are read only while pods or their addresses are
	// missing, or when a worker was lost and no pod says why.
	Warnings []corev1.Event
}

// Gate is what the launcher's agent said about its wait for the nodes.
type Gate struct {
	// Launcher is the UID of the pod that said it.
	Launcher types.UID
	// Result is nil while the launcher has not answered.
	Result *mpi.GateResult
	// Error says why the launcher cannot be reached.
	Error string
	// GaveUp says that the controller will not try again: the launcher refused, or there is no usable key.
	GaveUp bool
}

// Active says whether a TrainJob is for a TrainJob controller in this cluster (and not for MultiKueue), and is not being
// deleted. Nothing is done about one that is not.
func Active(trainJob *trainer.TrainJob) bool {
	const trainJobController = "trainer.kubeflow.org/trainjob-controller"
	return ptr.Deref(trainJob.Spec.ManagedBy, trainJobController) == trainJobController && trainJob.DeletionTimestamp == nil
}

// Over says whether a TrainJob has a terminal condition.
func Over(trainJob *trainer.TrainJob) bool {
	return terminated(trainJob.Status)
}

// Owns says whether the JobSet is there and belongs to this TrainJob, so that the job has been started.
func (o Observed) Owns() bool { return o.JobSet != nil && claimOf(o.TrainJob, o.JobSet) == own }

// Ended says whether the JobSet has finished, or will in a moment, or the time of the job is over.
func (o Observed) Ended() bool {
	return o.Owns() && (o.jobSetEnded() || !o.suspendWanted() && cmp.Or(o.foretold(), o.overdue()) != nil)
}

// failed returns the JobSet's condition Failed, or nil while it has not failed.
func (o Observed) failed() *metav1.Condition { return jobSetCondition(o.JobSet, jobset.JobSetFailed) }

// suspendWanted says whether the TrainJob asks for suspension.
func (o Observed) suspendWanted() bool { return ptr.Deref(o.TrainJob.Spec.Suspend, false) }

// NeedsChildren says whether a decision may need Children and what else is read from the API server: the job is to be made,
// resumed, restarted or ended.
func (o Observed) NeedsChildren() bool {
	return !o.Owns() || suspended(o.JobSet) || o.Ended() || o.JobSetGone() || o.stuck() != nil
}

// MissingPods says whether a started job lacks pods for longer than it takes to create them, which is when warnings
// matter.
func (o Observed) MissingPods() bool {
	return o.Owns() && !suspended(o.JobSet) && !o.Ended() &&
		o.age(factRuns, o.JobSet.UID) > podsExpected && len(o.current()) < podCount(o.JobSet)
}

// Unmounted says whether a pod has a machine but no address for longer than a kubelet takes to mount volumes and to connect it,
// which is when warnings matter, too: nothing in its status says what is missing.
func (o Observed) Unmounted() bool {
	return o.Owns() && !suspended(o.JobSet) && !o.Ended() && o.age(factPlaced, o.JobSet.UID) > mountExpected && o.unaddressed()
}

func (o Observed) unaddressed() bool {
	return slices.ContainsFunc(o.current(), func(pod *corev1.Pod) bool { return StageOf(pod) == Placed })
}

func suspended(jobSet *jobset.JobSet) bool { return ptr.Deref(jobSet.Spec.Suspend, false) }

func jobSetCondition(jobSet *jobset.JobSet, kind jobset.JobSetConditionType) *metav1.Condition {
	condition := apimeta.FindStatusCondition(jobSet.Status.Conditions, string(kind))
	if condition == nil || condition.Status != metav1.ConditionTrue {
		return nil
	}
	return condition
}

// podCount returns how many pods the launcher and the nodes of a JobSet are. The JobSet says it and not the runtime,
// which may have changed since.
func podCount(jobSet *jobset.JobSet) int {
	total := 0
	for _, name := range []string{mpi.LauncherJob, mpi.NodeJob} {
		if rj := replicatedJob(jobSet.Spec, name); rj != nil {
			total += int(ptr.Deref(rj.Template.Spec.Parallelism, 1))
		}
	}
	return total
}

// current returns the launcher and the nodes of this JobSet that are there to stay, launcher first, then nodes by index. They are
// those of Pods, and not to be changed.
func (o Observed) current() []*corev1.Pod {
	return slices.DeleteFunc(o.all(), func(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil })
}

// all returns the same including pods that are being deleted. Pods of an earlier JobSet of this name are not among them, and
// not those that a suspension took away.
func (o Observed) all() []*corev1.Pod {
	if o.JobSet == nil {
		return nil
	}
	resumed := o.resumed()
	places := make([]place, 0, len(o.Pods))
	for i := range o.Pods {
		pod := &o.Pods[i]
		role := pod.Labels[mpi.ReplicatedJobLabel]
		if pod.Labels[mpi.JobSetUIDLabel] == string(o.JobSet.UID) && (role == mpi.LauncherJob || role == mpi.NodeJob) && !stoppedBefore(pod, resumed) {
			places = append(places, placeOf(pod))
		}
	}
	slices.SortFunc(places, place.compare)
	pods := make([]*corev1.Pod, len(places))
	for i, p := range places {
		pods[i] = p.pod
	}
	return pods
}

// place is a pod with what it is sorted by, so that labels are not looked up at each comparison.
type place struct {
	pod *corev1.Pod
	// rank is the index of a node, and less for a launcher.
	rank int
}

func placeOf(pod *corev1.Pod) place {
	if isLauncher(pod) {
		return place{pod, -1}
	}
	return place{pod, podIndex(pod)}
}

func (p place) compare(other place) int {
	if p.rank != other.rank {
		return cmp.Compare(p.rank, other.rank)
	}
	return cmp.Compare(p.pod.Name, other.pod.Name)
}

func podIndex(pod *corev1.Pod) int {
	index, err := strconv.Atoi(pod.Labels[mpi.CompletionIndexLabel])
	if err != nil {
		return 0
	}
	return index
}

func isLauncher(pod *corev1.Pod) bool { return pod.Labels[mpi.ReplicatedJobLabel] == mpi.LauncherJob }

func launcherOf(pods []*corev1.Pod) *corev1.Pod {
	if len(pods) > 0 && isLauncher(pods[0]) {
		return pods[0]
	}
	return nil
}

func terminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
