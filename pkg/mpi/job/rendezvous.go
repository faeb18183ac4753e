package job

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"lockstep.dev/lockstep/pkg/mpi"
)

// Rendezvous is a launcher and the addresses that it waits for.
type Rendezvous struct {
	// Launcher is the UID of the pod; another launcher needs another rendezvous.
	Launcher types.UID
	// Table holds every pod of the job, the launcher first.
	Table mpi.HostTable
}

// rendezvous returns nil until every pod has an address, and again once the launcher is over.
func rendezvous(trainJob string, pods []corev1.Pod, want int) *Rendezvous {
	launcher := launcherOf(pods)
	if launcher == nil || terminal(*launcher) || len(pods) != want {
		return nil
	}
	result := &Rendezvous{Launcher: launcher.UID}
	for _, pod := range pods {
		if pod.Status.PodIP == "" {
			return nil
		}
		result.Table.Hosts = append(result.Table.Hosts, mpi.HostAddress{Name: hostName(trainJob, pod), Address: pod.Status.PodIP})
	}
	return result
}

func hostName(trainJob string, pod corev1.Pod) string {
	return mpi.HostName(trainJob, pod.Labels[mpi.ReplicatedJobLabel], int32(podIndex(pod)))
}
