package observe

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// ObservedFact is something that may hold for a while, and whose age decides.
type ObservedFact struct {
	Kind FactKind
	UID  types.UID
}

// FactKind is the kind of a fact.
type FactKind string

// The kinds of facts.
const (
	// FactRuns: a JobSet is there and not suspended.
	FactRuns FactKind = "runs"
	// FactPlaced: all pods of a JobSet have machines.
	FactPlaced FactKind = "placed"
	// FactReady: all pods of a JobSet are ready, or have been.
	FactReady FactKind = "ready"
	// FactUp: all nodes of a JobSet are ready; the launcher may still wait for them in an init container.
	FactUp FactKind = "up"
	// FactFailed: a JobSet has failed.
	FactFailed FactKind = "failed"
	// FactImage: an image of a pod cannot be pulled.
	FactImage FactKind = "image"
	// FactPolicy: the NetworkPolicy of a TrainJob, which may be another owner's, was there.
	FactPolicy FactKind = "policy"
	// FactLauncher: the main container of a launcher runs.
	FactLauncher FactKind = "launcher"
)

// History says since when facts hold, by the clock of this process. Ages are never computed from times that other machines
// wrote: their clocks may be minutes off. A controller that has just started has seen nothing, so it waits a little longer.
type History map[ObservedFact]time.Time

// RememberSince sets History to the facts that hold in this observation, with the times at which they were first seen.
func (o *Observed) RememberSince(earlier History) {
	o.History = History{}
	policy := ObservedFact{FactPolicy, o.TrainJob.UID}
	if _, seen := earlier[policy]; seen || o.hasPolicy() {
		o.History[policy] = o.Now
	}
	for _, fact := range o.currentFacts() {
		if first, known := earlier[fact]; known {
			o.History[fact] = first
			continue
		}
		o.History[fact] = o.Now
	}
}

// FactSince returns since when a fact holds, as this process saw it.
func (o Observed) FactSince(kind FactKind, uid types.UID) (since time.Time, known bool) {
	since, known = o.History[ObservedFact{kind, uid}]
	return since, known
}

// FactAge returns for how long a fact holds; 0 for one that was not seen before.
func (o Observed) FactAge(kind FactKind, uid types.UID) time.Duration {
	since, known := o.FactSince(kind, uid)
	if !known {
		return 0
	}
	return o.Now.Sub(since)
}

func (o Observed) currentFacts() []ObservedFact {
	if !o.OwnsJobSet() {
		return nil
	}
	var facts []ObservedFact
	if !job.IsSuspended(o.JobSet) {
		facts = append(facts, ObservedFact{FactRuns, o.JobSet.UID})
	}
	pods := CurrentPods(o.AllPods())
	all := len(pods) >= job.CountPods(o.JobSet)
	if all && ArePlaced(pods) {
		facts = append(facts, ObservedFact{FactPlaced, o.JobSet.UID})
	}
	if all && WereReadyOnce(pods) {
		facts = append(facts, ObservedFact{FactReady, o.JobSet.UID})
	}
	if all && areNodesReady(pods) {
		facts = append(facts, ObservedFact{FactUp, o.JobSet.UID})
	}
	if o.JobSetFailed() != nil {
		facts = append(facts, ObservedFact{FactFailed, o.JobSet.UID})
	}
	for _, pod := range pods {
		if failing, _ := IsPullFailing(pod); failing {
			facts = append(facts, ObservedFact{FactImage, pod.UID})
		}
		if isLauncher(pod) && mainContainerRuns(pod) {
			facts = append(facts, ObservedFact{FactLauncher, pod.UID})
		}
	}
	return facts
}

func mainContainerRuns(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(status corev1.ContainerStatus) bool {
		return status.Name == mpi.Container && status.State.Running != nil
	})
}
