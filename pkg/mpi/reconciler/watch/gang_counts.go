package watch

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
)

// gangCounts counts the launcher and the nodes of each JobSet, by its UID, in each stage, from event to event: going through all pods of a
// job for each of their events would be quadratic, in the one goroutine that hears of the pods of all jobs. No other touches it.
type gangCounts map[types.UID][observe.StageReady + 1]int

// replacePod counts a pod as what it is and no more as what it was; nil is one that is not there.
func (g gangCounts) replacePod(before, after *corev1.Pod) {
	g.addPod(before, -1)
	g.addPod(after, 1)
}

func (g gangCounts) addPod(pod *corev1.Pod, n int) {
	if pod == nil || pod.DeletionTimestamp != nil {
		return
	}
	if _, ours := observe.PodCountOf(*pod); !ours {
		return
	}
	of := types.UID(pod.Labels[mpi.JobSetUIDLabel])
	counts := g[of]
	counts[observe.StageOf(pod)] += n
	if counts == ([observe.StageReady + 1]int{}) {
		delete(g, of)
		return
	}
	g[of] = counts
}
