package diagnose

import (
	"slices"
	"syscall"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
)

// whoEndedWorker returns what is known of who ended a worker that the launcher lost, as a reason and the rest of a sentence, or nothing.
//
// A daemon that died of SIGTERM on a node whose agent did not send it, and that answered afterwards, was ended from inside of its pod:
// kubelet and whoever shuts a machine down send it to the agent too, and an agent that was told to end answers nobody any more. An agent
// itself ends with code 0 when it is told to and never by itself. By whom, nothing tells: a deletion, a disruption or an eviction is said
// before it, but a machine that shuts down without the grace of kubelet sends the same signal and says nothing
// (https://kubernetes.io/docs/concepts/cluster-administration/node-shutdown/), and so does kubelet of a probe that failed. Those
// may end several pods or one, and the status of the others on that machine is as old as its kubelet's last word.
func whoEndedWorker(verdict mpi.Verdict, pod Pod, found bool, all []Pod) (reason mpi.Reason, words string) {
	switch {
	case verdict.Reason != WorkerLost || verdict.Stopped != "":
		return "", ""
	case daemonEndedAlone(verdict):
		return WorkerKilled, "; its agent was not told to end, so nobody deleted or evicted the pod: a process of the job sent the daemon SIGTERM, or somebody in the pod"
	case found && agentToldToEnd(pod) && !wasDeletedFirst(pod, all):
		return WorkerLost, "; its agent was told to end (SIGTERM), and nobody had deleted or evicted the pod: its machine is being shut down, a liveness probe failed, " +
			"or a process of the job or somebody in the pod sent it"
	}
	return "", ""
}

// agentToldToEnd reports whether the agent of a pod ended because it was told to, and nobody had said that the pod goes.
func agentToldToEnd(pod Pod) bool {
	end := pod.mainEnd()
	return end != nil && end.Code == 0 && end.Signal == 0 && end.Reason == "Completed" && pod.Disruption == nil && pod.Reason == "" &&
		(pod.Deleted.IsZero() || end.At.Truncate(time.Second).Before(pod.Deleted.Truncate(time.Second)))
}

// wasDeletedFirst reports whether a pod was deleted before those of other workers, and so not with them, because the job had failed. All these
// times are the API server's; that of an end is a machine's, whose clock may be behind.
func wasDeletedFirst(pod Pod, all []Pod) bool {
	return !pod.Deleted.IsZero() && slices.ContainsFunc(all, func(other Pod) bool {
		return !other.isLauncher() && other.Name != pod.Name && (other.Deleted.IsZero() || other.Deleted.After(pod.Deleted))
	})
}

func daemonEndedAlone(verdict mpi.Verdict) bool {
	for _, report := range verdict.Nodes {
		if report.Name == verdict.Lost {
			return report.Error == "" && report.DaemonAgo > 0 && report.LastExitCode == 128+int(syscall.SIGTERM)
		}
	}
	return false
}
