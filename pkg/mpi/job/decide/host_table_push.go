package decide

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// HostTablePush is a launcher and the addresses that it waits for.
type HostTablePush struct {
	// TrainJob is the UID of the job's TrainJob: a key that belongs to another one is not for this launcher.
	TrainJob types.UID
	// Launcher is the UID of the pod; another launcher needs another push.
	Launcher types.UID
	// Table holds every pod of the job, the launcher first.
	Table mpi.HostTable
}

// hostTablePushOf returns what to tell the launcher, or nil.
func hostTablePushOf(f *phase.Facts) *HostTablePush {
	found := hostTableOf(f.TrainJob.Name, f.Current, f.Want)
	if found != nil {
		found.TrainJob = f.TrainJob.UID
		found.Table.Up = f.Start.AreNodesUp() && f.FactAge(observe.FactUp, f.JobSet.UID) >= phase.NodesUpAfter
	}
	return found
}

// hostTableOf returns nil until every pod has an address, and again once the launcher is over.
func hostTableOf(trainJob string, pods []*corev1.Pod, want int) *HostTablePush {
	launcher := observe.LauncherOf(pods)
	if launcher == nil || observe.IsTerminal(launcher) || len(pods) != want {
		return nil
	}
	result := &HostTablePush{Launcher: launcher.UID}
	for _, pod := range pods {
		if pod.Status.PodIP == "" {
			return nil
		}
		result.Table.Hosts = append(result.Table.Hosts, mpi.HostAddress{Name: hostName(trainJob, pod), Address: pod.Status.PodIP})
	}
	return result
}

func hostName(trainJob string, pod *corev1.Pod) string {
	return mpi.HostName(trainJob, pod.Labels[mpi.ReplicatedJobLabel], int32(observe.PodIndex(pod)))
}
