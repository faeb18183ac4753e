package job

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"lockstep.dev/lockstep/pkg/mpi"
)

// Rendezvous is a launcher and the addresses that it waits for.
type Rendezvous struct {
	// TrainJob is the UID of the job's TrainJob: a key that belongs to another one is not for this launcher.
	TrainJob types.UID
	// Launcher is the UID of the pod; another launcher needs another rendezvous.
	Launcher types.UID
	// Table holds every pod of the job, the launcher first.
	Table mpi.HostTable
}

// upAfter is how long all nodes are ready before their launcher is told that they must be listening. It waits longer itself
// before it believes that (package agent).
const upAfter = 2 * time.Second

// rendezvous returns what to tell the launcher, or nil.
func (o Observed) rendezvous() *Rendezvous {
	found := rendezvous(o.TrainJob.Name, o.current(), podCount(o.JobSet))
	if found != nil {
		found.TrainJob = o.TrainJob.UID
		found.Table.Up = o.up() && o.age(factUp, o.JobSet.UID) >= upAfter
	}
	return found
}

func (o Observed) up() bool {
	_, up := o.Seen[Fact{factUp, o.JobSet.UID}]
	return up
}

// untilUp is the time until a launcher that has not passed its gate is to be told that its nodes are up, or never.
func (o Observed) untilUp() time.Duration {
	age := o.age(factUp, o.JobSet.UID)
	if !o.up() || age >= upAfter || o.Gate != nil && o.Gate.Result != nil {
		return never
	}
	return upAfter - age
}

// rendezvous returns nil until every pod has an address, and again once the launcher is over.
func rendezvous(trainJob string, pods []*corev1.Pod, want int) *Rendezvous {
	launcher := launcherOf(pods)
	if launcher == nil || terminal(launcher) || len(pods) != want {
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

func hostName(trainJob string, pod *corev1.Pod) string {
	return mpi.HostName(trainJob, pod.Labels[mpi.ReplicatedJobLabel], int32(podIndex(pod)))
}
