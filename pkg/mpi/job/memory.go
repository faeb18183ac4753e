package job

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"lockstep.dev/lockstep/pkg/mpi"
)

// Fact is something that may hold for a while, and whose age decides.
type Fact struct {
	Kind factKind
	UID  types.UID
}

type factKind string

const (
	// factRuns: a JobSet is there and not suspended.
	factRuns factKind = "runs"
	// factPlaced: all pods of a JobSet have machines.
	factPlaced factKind = "placed"
	// factReady: all pods of a JobSet are ready, or have been.
	factReady factKind = "ready"
	// factUp: all nodes of a JobSet are ready; the launcher may still wait for them in an init container.
	factUp factKind = "up"
	// factFailed: a JobSet has failed.
	factFailed factKind = "failed"
	// factImage: an image of a pod cannot be pulled.
	factImage factKind = "image"
	// factLauncher: the main container of a launcher runs.
	factLauncher factKind = "launcher"
)

// Memory says since when facts hold, by the clock of this process. Ages are never computed from times that other machines
// wrote: their clocks may be minutes off. A controller that has just started has seen nothing, so it waits a little longer.
type Memory map[Fact]time.Time

// Remember sets Seen to the facts that hold in this observation, with the times at which they were first seen.
func (o *Observed) Remember(earlier Memory) {
	o.Seen = Memory{}
	for _, fact := range o.facts() {
		if first, known := earlier[fact]; known {
			o.Seen[fact] = first
			continue
		}
		o.Seen[fact] = o.Now
	}
}

// age returns for how long a fact holds; 0 for one that was not seen before.
func (o Observed) age(kind factKind, uid types.UID) time.Duration {
	first, known := o.Seen[Fact{kind, uid}]
	if !known {
		return 0
	}
	return o.Now.Sub(first)
}

func (o Observed) facts() []Fact {
	if !o.Owns() {
		return nil
	}
	var facts []Fact
	if !suspended(o.JobSet) {
		facts = append(facts, Fact{factRuns, o.JobSet.UID})
	}
	pods := o.current()
	all := len(pods) >= podCount(o.JobSet)
	if all && placed(pods) {
		facts = append(facts, Fact{factPlaced, o.JobSet.UID})
	}
	if all && allReady(pods) {
		facts = append(facts, Fact{factReady, o.JobSet.UID})
	}
	if all && nodesReady(pods) {
		facts = append(facts, Fact{factUp, o.JobSet.UID})
	}
	if o.failed() != nil {
		facts = append(facts, Fact{factFailed, o.JobSet.UID})
	}
	for _, pod := range pods {
		if failing, _ := pulling(pod); failing {
			facts = append(facts, Fact{factImage, pod.UID})
		}
		if isLauncher(pod) && mainRuns(pod) {
			facts = append(facts, Fact{factLauncher, pod.UID})
		}
	}
	return facts
}

func mainRuns(pod *corev1.Pod) bool {
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name == mpi.Container && status.State.Running != nil {
			return true
		}
	}
	return false
}
