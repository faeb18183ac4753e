package job

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"lockstep.dev/lockstep/pkg/mpi"
)

func verdict(v mpi.Verdict) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func TestFirstCause(t *testing.T) {
	exit7 := verdict(mpi.Verdict{Reason: mpi.ReasonCommandFailed, Message: "the command `train` exited with code 7", ExitCode: 7})
	oomBehind := verdict(mpi.Verdict{
		Reason: mpi.ReasonCommandFailed, Message: "the command `train` exited with code 137; on demo-node-0-1 the kernel killed", ExitCode: 137,
		OOMKills: 2,
	})
	taken := func(reason string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
				Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason, Message: "said by the control plane",
				LastTransitionTime: metav1.NewTime(t0.Add(-time.Second)),
			})
		}
	}
	rejected := func(reason string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Status.Phase, pod.Status.Reason, pod.Status.Message = corev1.PodFailed, reason, "said by kubelet"
		}
	}
	initFailed := func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodFailed
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "install-agent", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", FinishedAt: metav1.NewTime(t0)},
		}}}
	}
	before := t0.Add(-time.Second)
	launcher := func(edits ...func(*corev1.Pod)) corev1.Pod { return podOf(mpi.LauncherJob, 0, edits...) }
	node := func(edits ...func(*corev1.Pod)) corev1.Pod { return podOf(mpi.NodeJob, 1, edits...) }

	cases := map[string]struct {
		reason string
		pods   []corev1.Pod
		want   mpi.Reason
		says   []string
	}{
		"Verdict":       {"the agent has all the facts", []corev1.Pod{launcher(died(t0, 7, "Error", exit7))}, mpi.ReasonCommandFailed, []string{"launcher pod demo-launcher-0-0-x7x2p", "the command `train` exited with code 7"}},
		"VerdictOOM":    {"a command that fails because the kernel killed a rank failed for memory", []corev1.Pod{launcher(died(t0, 137, "Error", oomBehind))}, ReasonOOMKilled, []string{"exited with code 137; on demo-node-0-1 the kernel killed"}},
		"NoVerdict":     {"without a verdict there is still an exit code", []corev1.Pod{launcher(died(t0, 3, "Error", "not json"))}, ReasonLauncherFailed, []string{"exited with code 3"}},
		"Success":       {"a verdict of success does not explain a failed container", []corev1.Pod{launcher(died(t0, 1, "Error", verdict(mpi.Verdict{})))}, ReasonLauncherFailed, []string{"exited with code 1"}},
		"Signal":        {"signals are named", []corev1.Pod{launcher(died(t0, 139, "Error", ""))}, ReasonLauncherFailed, []string{"killed by signal 11"}},
		"OOMKilled":     {"the container runtime knows of memory", []corev1.Pod{launcher(died(t0, 137, "OOMKilled", ""))}, ReasonOOMKilled, []string{"killed by signal 9 (OOMKilled)"}},
		"NodeFirst":     {"the launcher failed because a node did", []corev1.Pod{launcher(died(t0, 7, "Error", exit7)), node(on("m3"), died(before, 137, "OOMKilled", ""))}, ReasonOOMKilled, []string{"node pod demo-node-0-1-x7x2p on machine m3"}},
		"SameSecond":    {"times have no fractions; nodes do not fail because of the launcher", []corev1.Pod{launcher(died(t0, 7, "Error", exit7)), node(died(t0, 1, "Error", ""))}, ReasonNodeFailed, []string{"demo-node-0-1"}},
		"LauncherFirst": {"a node that ended later ended because of the launcher", []corev1.Pod{launcher(died(before, 7, "Error", exit7)), node(died(t0, 1, "Error", ""))}, mpi.ReasonCommandFailed, nil},
		"CleanedUp":     {"JobSet deletes the nodes of a failed job: that is no cause", []corev1.Pod{launcher(died(t0, 7, "Error", exit7)), node(deleted, died(before, 143, "Error", ""))}, mpi.ReasonCommandFailed, nil},
		"LauncherGone":  {"a launcher that is being deleted may still carry the verdict", []corev1.Pod{launcher(deleted, died(t0, 7, "Error", exit7))}, mpi.ReasonCommandFailed, nil},
		"Preempted":     {"", []corev1.Pod{launcher(died(t0, 7, "Error", exit7)), node(deleted, taken("PreemptionByScheduler"))}, ReasonPreempted, []string{"said by the control plane"}},
		"EvictedByAPI":  {"", []corev1.Pod{node(deleted, taken("EvictionByEvictionAPI"))}, ReasonEvicted, nil},
		"MachineLost":   {"", []corev1.Pod{node(on("m3"), deleted, taken("DeletionByTaintManager"))}, ReasonMachineLost, []string{"on machine m3"}},
		"Evicted":       {"kubelet evicts for disk and memory of the machine", []corev1.Pod{node(rejected("Evicted"))}, ReasonEvicted, []string{"said by kubelet"}},
		"Rejected":      {"", []corev1.Pod{node(rejected("UnexpectedAdmissionError"))}, ReasonPodRejected, []string{"UnexpectedAdmissionError: said by kubelet"}},
		"Init":          {"", []corev1.Pod{node(initFailed)}, ReasonInitFailed, []string{"init container `install-agent` exited with code 1"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := firstCause(tc.pods)
			if got == nil {
				t.Fatalf("%s: no cause found", tc.reason)
			}
			if got.reason != tc.want {
				t.Errorf("%s: want %s, got %s: %s", tc.reason, tc.want, got.reason, got.message)
			}
			for _, words := range tc.says {
				if !strings.Contains(got.message, words) {
					t.Errorf("%s: want `%s` in: %s", tc.reason, words, got.message)
				}
			}
		})
	}
	if got := firstCause([]corev1.Pod{launcher(ready), node(ready)}); got != nil {
		t.Errorf("pods that run are no cause: %+v", got)
	}
}

func TestProblemOf(t *testing.T) {
	waitingFor := func(reason, message string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
				Name: mpi.Container, Image: "registry.test/typo:1",
				State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
			}}
		}
	}
	unschedulable := func(pod *corev1.Pod) {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/2 nodes are available: 2 Insufficient cpu.",
		}}
	}
	cases := map[string]struct {
		reason string
		edit   func(*corev1.Pod)
		want   *problem
	}{
		"Unschedulable": {"what is missing is named", unschedulable, &problem{ReasonUnschedulable, "node pod demo-node-0-1-x7x2p cannot be scheduled: 0/2 nodes are available: 2 Insufficient cpu."}},
		"PullError":     {"", waitingFor("ErrImagePull", "rpc error 1"), &problem{ReasonImagePull, "node pod demo-node-0-1-x7x2p: image `registry.test/typo:1` of container `node` cannot be pulled"}},
		"PullBackOff":   {"the same words as for the error, so that the condition does not flap", waitingFor("ImagePullBackOff", "Back-off 10s"), &problem{ReasonImagePull, "node pod demo-node-0-1-x7x2p: image `registry.test/typo:1` of container `node` cannot be pulled"}},
		"Config":        {"", waitingFor("CreateContainerConfigError", `secret "s3" not found`), &problem{ReasonContainerConfig, "node pod demo-node-0-1-x7x2p: container `node` cannot be made: secret \"s3\" not found"}},
		"Creating":      {"a container that is being made is no problem", waitingFor("ContainerCreating", ""), nil},
		"Ready":         {"", ready, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := problemOf(podOf(mpi.NodeJob, 1, tc.edit))
			switch {
			case got == nil && tc.want == nil:
			case got == nil || tc.want == nil || *got != *tc.want:
				t.Errorf("%s: want %+v, got %+v", tc.reason, tc.want, got)
			}
		})
	}
}

func TestRefusalIsStable(t *testing.T) {
	o := started(trainJobOf())
	o.Jobs = []metav1.PartialObjectMetadata{childOf("batch/v1", "Job", "demo-node-0", "j1", nil)}
	event := func(about types.UID, reason, message string) corev1.Event {
		return corev1.Event{InvolvedObject: corev1.ObjectReference{UID: about}, Reason: reason, Message: message}
	}
	first := refusal([]corev1.Event{
		event("j1", "FailedCreate", `Error creating: pods "demo-node-0-0-x7x2p" is forbidden: violates PodSecurity "restricted:latest"`),
		event("j9", "FailedCreate", "about an earlier job"),
		event("j1", "BackOff", "something else"),
	}, o.JobSet, o.Jobs)
	second := refusal([]corev1.Event{
		event("j1", "FailedCreate", `(combined from similar events): Error creating: pods "demo-node-0-0-9bzq4" is forbidden: violates PodSecurity "restricted:latest"`),
	}, o.JobSet, o.Jobs)
	if first == nil || second == nil || *first != *second {
		t.Fatalf("two attempts must give one message: %+v, %+v", first, second)
	}
	if !strings.Contains(first.message, `pods "demo-node-0-0" is forbidden: violates PodSecurity`) {
		t.Errorf("the API server's words must be there: %s", first.message)
	}
	if got := refusal(nil, o.JobSet, o.Jobs); got != nil {
		t.Errorf("no events, no refusal: %+v", got)
	}
}
