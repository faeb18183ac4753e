package diagnose

import (
	"slices"
	"syscall"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
)

// endedInside returns who ended a worker that the launcher lost, where that was not the platform, as the rest of a sentence, or
// nothing. Two things show it. The agent of a node ends with code 0 when it is told to and never by itself, and whoever takes a pod
// away says so first: a deletion, a disruption or a reason in the status. And a daemon that died of SIGTERM on a node whose agent
// did not send it, and that answered afterwards, is not one whose pod was asked to stop.
func endedInside(verdict mpi.Verdict, pod Pod, found bool, all []Pod) string {
	switch {
	case verdict.Reason != WorkerLost || verdict.Stopped != "":
		return ""
	case found && agentEndedAlone(pod) && !deletedFirst(pod, all):
		return "; its agent was told to end, and nobody had deleted or evicted the pod: a process of the job sent it SIGTERM, or somebody in the pod or on its machine"
	case daemonEndedAlone(verdict):
		return "; its agent was not told to end, so nobody deleted or evicted the pod: a process of the job sent the daemon SIGTERM, or somebody in the pod"
	}
	return ""
}

func agentEndedAlone(pod Pod) bool {
	end := pod.mainEnd()
	return end != nil && end.Code == 0 && end.Signal == 0 && end.Reason == "Completed" && pod.Disruption == nil && pod.Reason == "" &&
		(pod.Deleted.IsZero() || end.At.Truncate(time.Second).Before(pod.Deleted.Truncate(time.Second)))
}

// deletedFirst says whether a pod was deleted before those of other workers, and so not with them, because the job had failed. All these
// times are the API server's; that of an end is a machine's, whose clock may be behind.
func deletedFirst(pod Pod, all []Pod) bool {
	return !pod.Deleted.IsZero() && slices.ContainsFunc(all, func(other Pod) bool {
		return !other.isLauncher() && other.Name != pod.Name && (other.Deleted.IsZero() || other.Deleted.After(pod.Deleted))
	})
}

func daemonEndedAlone(verdict mpi.Verdict) bool {
	for _, report := range verdict.Nodes {
		if report.Name == verdict.Lost {
			return report.Error == "" && report.LastExitCode == 128+int(syscall.SIGTERM)
		}
	}
	return false
}
