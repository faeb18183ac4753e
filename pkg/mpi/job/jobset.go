package job

import (
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi"
)

// ReplicatedJob returns the replicated job of a name, or nil.
func ReplicatedJob(spec jobset.JobSetSpec, name string) *jobset.ReplicatedJob {
	for i := range spec.ReplicatedJobs {
		if spec.ReplicatedJobs[i].Name == name {
			return &spec.ReplicatedJobs[i]
		}
	}
	return nil
}

// MainContainer returns the container in which ranks, or the command of the user, run, or nil.
func MainContainer(pod *corev1.PodSpec) *corev1.Container {
	for i := range pod.Containers {
		if pod.Containers[i].Name == mpi.Container {
			return &pod.Containers[i]
		}
	}
	return nil
}

// IsSuspended reports whether a JobSet is to be suspended.
func IsSuspended(jobSet *jobset.JobSet) bool { return ptr.Deref(jobSet.Spec.Suspend, false) }

// TrueCondition returns a condition of a JobSet, nil where it does not hold.
func TrueCondition(jobSet *jobset.JobSet, kind jobset.JobSetConditionType) *metav1.Condition {
	condition := apimeta.FindStatusCondition(jobSet.Status.Conditions, string(kind))
	if condition == nil || condition.Status != metav1.ConditionTrue {
		return nil
	}
	return condition
}

// CountPods returns how many pods the launcher and the nodes of a JobSet are. The JobSet says it and not the runtime,
// which may have changed since.
func CountPods(jobSet *jobset.JobSet) int {
	total := 0
	for _, name := range []string{mpi.LauncherJob, mpi.NodeJob} {
		if rj := ReplicatedJob(jobSet.Spec, name); rj != nil {
			total += int(ptr.Deref(rj.Template.Spec.Parallelism, 1))
		}
	}
	return total
}

// HasAgent reports whether the launcher of a JobSet runs under the agent. The JobSet says it: its runtime may be gone.
func HasAgent(js *jobset.JobSet) bool {
	rj := ReplicatedJob(js.Spec, mpi.LauncherJob)
	if rj == nil {
		return false
	}
	return RunsAgent(MainContainer(&rj.Template.Spec.Template.Spec))
}

// RunsAgent reports whether a container, or nil, runs under the agent.
func RunsAgent(container *corev1.Container) bool {
	return container != nil && len(container.Command) > 0 && container.Command[0] == mpi.AgentBin
}
