package job_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
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
	lostNode := verdict(mpi.Verdict{Reason: diagnose.WorkerLost, Message: "Worker 1 was lost", ExitCode: 205, Lost: "demo-node-0-1.demo"})
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
		"Verdict":       {"the agent has all the facts", []corev1.Pod{launcher(died(t0, 7, "Error", exit7))}, mpi.ReasonCommandFailed, []string{"Launcher failed: ", "the command `train` exited with code 7"}},
		"VerdictOOM":    {"a command that fails because the kernel killed a rank failed for memory", []corev1.Pod{launcher(died(t0, 137, "Error", oomBehind))}, diagnose.OOMKilled, []string{"exited with code 137; on demo-node-0-1 the kernel killed"}},
		"NoVerdict":     {"without a verdict there is still an exit code", []corev1.Pod{launcher(died(t0, 3, "Error", "not json"))}, diagnose.LauncherFailed, []string{"exited with code 3"}},
		"Success":       {"a verdict of success does not explain a failed container", []corev1.Pod{launcher(died(t0, 1, "Error", verdict(mpi.Verdict{})))}, diagnose.LauncherFailed, []string{"exited with code 1"}},
		"Signal":        {"signals are named", []corev1.Pod{launcher(died(t0, 139, "Error", ""))}, diagnose.LauncherKilled, []string{"killed by SIGSEGV"}},
		"OOMKilled":     {"the container runtime knows of memory", []corev1.Pod{launcher(died(t0, 137, "OOMKilled", ""))}, diagnose.OOMKilled, []string{"killed by SIGKILL (OOMKilled)"}},
		"NodeFirst":     {"the launcher failed because a node did", []corev1.Pod{launcher(died(t0, 7, "Error", exit7)), node(on("m3"), died(before, 137, "OOMKilled", ""))}, diagnose.OOMKilled, []string{"Worker 1 (pod demo-node-0-1-x7x2p on machine m3)"}},
		"SameSecond":    {"times have no fractions; nodes do not fail because of the launcher", []corev1.Pod{launcher(died(t0, 7, "Error", exit7)), node(died(t0, 1, "Error", ""))}, diagnose.WorkerFailed, []string{"demo-node-0-1"}},
		"LauncherFirst": {"a node that ended later ended because of the launcher", []corev1.Pod{launcher(died(before, 7, "Error", exit7)), node(died(t0, 1, "Error", ""))}, mpi.ReasonCommandFailed, nil},
		"CleanedUp":     {"JobSet deletes the nodes of a failed job: that is no cause", []corev1.Pod{launcher(died(t0, 7, "Error", exit7)), node(deleted, died(before, 143, "Error", ""))}, mpi.ReasonCommandFailed, nil},
		"OOMDeleted":    {"on cgroup v2 the agent is killed with the rank, the launcher sees a lost worker, and kubelet may tell why when JobSet deletes the pod already", []corev1.Pod{launcher(died(t0, 205, "Error", lostNode)), node(deleted, died(before, 137, "OOMKilled", ""))}, diagnose.OOMKilled, []string{"Worker 1"}},
		"LauncherGone":  {"a launcher that is being deleted may still carry the verdict", []corev1.Pod{launcher(deleted, died(t0, 7, "Error", exit7))}, mpi.ReasonCommandFailed, nil},
		"Preempted":     {"", []corev1.Pod{launcher(died(t0, 7, "Error", exit7)), node(deleted, taken("PreemptionByScheduler"))}, diagnose.Preempted, []string{"said by the control plane"}},
		"EvictedByAPI":  {"", []corev1.Pod{node(deleted, taken("EvictionByEvictionAPI"))}, diagnose.Evicted, nil},
		"MachineLost":   {"", []corev1.Pod{node(on("m3"), deleted, taken("DeletionByTaintManager"))}, diagnose.MachineLost, []string{"on machine m3"}},
		"Evicted":       {"kubelet evicts for disk and memory of the machine", []corev1.Pod{node(rejected("Evicted"))}, diagnose.Evicted, []string{"said by kubelet"}},
		"Rejected":      {"", []corev1.Pod{node(rejected("UnexpectedAdmissionError"))}, diagnose.PodRejected, []string{"UnexpectedAdmissionError: said by kubelet"}},
		"Init":          {"", []corev1.Pod{node(initFailed)}, diagnose.InitFailed, []string{"init container `install-agent` exited with code 1"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := phase.DeriveFacts(withPods(started(trainJobOf()), tc.pods...)).End.Cause()
			if got == nil {
				t.Fatalf("%s: no cause found", tc.reason)
			}
			if got.Reason != tc.want {
				t.Errorf("%s: want %s, got %s: %s", tc.reason, tc.want, got.Reason, got.Message)
			}
			for _, words := range tc.says {
				if !strings.Contains(got.Message, words) {
					t.Errorf("%s: want `%s` in: %s", tc.reason, words, got.Message)
				}
			}
		})
	}
	if got := phase.DeriveFacts(withPods(started(trainJobOf()), launcher(ready), node(ready))).End.Cause(); got != nil {
		t.Errorf("pods that run are no cause: %+v", got)
	}
}

// TestProblemOf: what kubelet and the scheduler say arrives in package diagnose, which has the tests of the words.
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
	lacksGPUs := func(pod *corev1.Pod) {
		pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{
			"nvidia.com/gpu": resource.MustParse("8"), "cpu": resource.MustParse("2"), "nvidia.com/hostdev": resource.MustParse("1"),
		}}}}
		unschedulable(pod)
		pod.Status.Conditions[0].Message = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
	}
	cases := map[string]struct {
		reason string
		edit   func(*corev1.Pod)
		want   mpi.Reason
		says   string
	}{
		"Unschedulable": {"what is missing is named", unschedulable, diagnose.Unschedulable, "Worker 1 (pod demo-node-0-1-x7x2p) cannot be scheduled: 0/2 nodes are available: 2 Insufficient cpu."},
		"GPUs":          {"with numbers", lacksGPUs, diagnose.Unschedulable, "Insufficient GPUs: requested 8, available 0"},
		"Image":         {"", waitingFor("ErrImagePull", "rpc error: code = Unknown desc = unauthorized"), diagnose.ImagePull, "Failed to pull image 'registry.test/typo:1': authentication required"},
		"Config":        {"", waitingFor("CreateContainerConfigError", `secret "s3" not found`), diagnose.SecretMissing, `secret "s3" not found`},
		"Creating":      {"a container that is being made is no problem", waitingFor("ContainerCreating", ""), "", ""},
		"Ready":         {"", ready, "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := phase.DeriveFacts(withPods(started(trainJobOf()), podOf(mpi.NodeJob, 1, tc.edit))).Start.Problem()
			if got == nil {
				got = &diagnose.Cause{}
			}
			if got.Reason != tc.want || !strings.Contains(got.Text(), tc.says) {
				t.Errorf("%s: want %s with `%s`, got %+v", tc.reason, tc.want, tc.says, got)
			}
		})
	}
}

func TestImagePullErrorStaysWhenKubeletBacksOff(t *testing.T) {
	failing := func(reason, message string) observe.Observed {
		return withPods(started(trainJobOf()), podOf(mpi.LauncherJob, 0, ready), podOf(mpi.NodeJob, 0, ready), podOf(mpi.NodeJob, 1, func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: mpi.Container, Image: "registry.test/typo:1", State: corev1.ContainerState{
				Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message},
			}}}
		}))
	}
	first := failing("ErrImagePull", `failed to resolve reference "registry.test/typo:1": registry.test/typo:1: not found`)
	shown := statusOf(t, first, nil)
	second := failing("ImagePullBackOff", `Back-off pulling image "registry.test/typo:1"`)
	second.TrainJob.Status = shown
	if diff := cmp.Diff(shown, statusOf(t, second, nil)); diff != "" {
		t.Errorf("the condition flaps between the error and the back-off: %s", diff)
	}
}

func TestNoRuntimeSaysWhichKindsThereAre(t *testing.T) {
	for kind, want := range map[string]string{
		"":                       "there is no ClusterTrainingRuntime `openmpi` in this cluster",
		"ClusterTrainingRuntime": "there is no ClusterTrainingRuntime `openmpi` in this cluster",
		"TrainingRuntime":        "there is no TrainingRuntime `openmpi` in the namespace of the TrainJob",
		"Foo":                    "spec.runtimeRef.kind is `Foo`, which is no kind of runtime: allowed are ClusterTrainingRuntime and TrainingRuntime",
	} {
		o := observe.Observed{Now: t0, TrainJob: trainJobOf(func(trainJob *trainer.TrainJob) {
			if kind != "" {
				trainJob.Spec.RuntimeRef.Kind = &kind
			}
		})}
		c := apimeta.FindStatusCondition(statusOf(t, o, nil).Conditions, job.Created)
		if c == nil || c.Reason != string(diagnose.RuntimeNotFound) || !strings.Contains(c.Message, want) {
			t.Errorf("kind %q: %+v", kind, c)
		}
	}
}

// An API group that Kubeflow Trainer does not know is not that of a runtime, whatever bears the name in Trainer's.
func TestRuntimesOfAnotherGroupAreNone(t *testing.T) {
	for group, known := range map[string]bool{trainer.GroupVersion.Group: true, "foo.io": false, "": false} {
		trainJob := trainJobOf(func(trainJob *trainer.TrainJob) { trainJob.Spec.RuntimeRef.APIGroup = &group })
		if job.NamesTrainerRuntime(trainJob.Spec.RuntimeRef) != known {
			t.Errorf("group %q: want %v", group, known)
		}
		message := phase.DeriveFacts(observe.Observed{TrainJob: trainJob}).State().Waiting.Text()
		if said := strings.Contains(message, "spec.runtimeRef.apiGroup is `"+group+"`, which has no runtimes: allowed is trainer.kubeflow.org"); said == known {
			t.Errorf("group %q: %s", group, message)
		}
	}
	if !job.NamesTrainerRuntime(trainer.RuntimeRef{Name: "openmpi"}) {
		t.Error("the group is Trainer's by default")
	}
}

func TestRefusalIsStable(t *testing.T) {
	o := started(trainJobOf())
	o.Jobs = []metav1.PartialObjectMetadata{childOf("batch/v1", "Job", "demo-node-0", "j1", nil)}
	event := func(about types.UID, reason, message string) corev1.Event {
		return corev1.Event{InvolvedObject: corev1.ObjectReference{UID: about}, Reason: reason, Message: message}
	}
	refusal := func(warnings ...corev1.Event) *diagnose.Cause {
		o.Warnings = warnings
		return phase.DeriveFacts(o).Start.Problem()
	}
	first := refusal(
		event("j1", "FailedCreate", `Error creating: pods "demo-node-0-0-x7x2p" is forbidden: violates PodSecurity "restricted:latest"`),
		event("j9", "FailedCreate", "about an earlier job"),
		event("j1", "BackOff", "something else"),
	)
	second := refusal(
		event("j1", "FailedCreate", `(combined from similar events): Error creating: pods "demo-node-0-0-9bzq4" is forbidden: violates PodSecurity "restricted:latest"`),
	)
	if first == nil || second == nil || first.Text() != second.Text() {
		t.Fatalf("two attempts must give one message: %+v, %+v", first, second)
	}
	if first.Reason != diagnose.PodSecurityDenied || !strings.Contains(first.Text(), `pods "demo-node-0-0" is forbidden: violates PodSecurity`) {
		t.Errorf("the API server's words must be there: %+v", first)
	}
	if got := refusal(); got != nil {
		t.Errorf("no events, no refusal: %+v", got)
	}
}

// TestDeletedPodIsRemembered: a pod that somebody deletes is gone before the JobSet has failed because of it.
func TestDeletedPodIsRemembered(t *testing.T) {
	running := []corev1.Pod{podOf(mpi.LauncherJob, 0, ready), podOf(mpi.NodeJob, 0, ready), podOf(mpi.NodeJob, 1, ready)}
	o := withPods(started(trainJobOf(hasCondition(job.PodsReady, metav1.ConditionTrue, t0.Add(-time.Minute)))), running...)
	deleted(&o.Pods[2])
	seen := statusOf(t, o, nil)
	if c := apimeta.FindStatusCondition(seen.Conditions, job.PodsReady); c.Reason != string(diagnose.PodDeleted) || !strings.Contains(c.Message, "Worker 1 (pod demo-node-0-1-x7x2p) was deleted") {
		t.Fatalf("nobody notes it: %+v", c)
	}
	blaming := verdict(mpi.Verdict{Reason: diagnose.WorkerLost, Message: "Worker 1 was lost", ExitCode: 1, Lost: "demo-node-0-1.demo"})
	o.TrainJob.Status = seen
	o.Pods = []corev1.Pod{podOf(mpi.LauncherJob, 0, died(t0.Add(-time.Second), 1, "Error", blaming)), running[1]}
	if c := apimeta.FindStatusCondition(statusOf(t, o, nil).Conditions, job.PodsReady); c.Reason != string(diagnose.PodDeleted) {
		t.Errorf("forgotten before the JobSet failed: %+v", c)
	}
	o = jobSetHas(o, jobset.JobSetFailed, t0)
	o.TrainJob.Status = statusOf(t, o, errors.New("delete Secret: the API server is away"))
	failed := statusOf(t, o, nil)
	if c := apimeta.FindStatusCondition(failed.Conditions, trainer.TrainJobFailed); c == nil || c.Reason != string(diagnose.PodDeleted) || !strings.Contains(c.Message, "Worker 1") {
		t.Errorf("the deleted pod is the cause, not the node that the launcher lost: %+v", c)
	}
}

// TestPodGivenUpIsNoDeletion: Kubernetes deletes the pods of a Job whose containers it has started again too often, and they are
// gone before the JobSet has failed.
func TestPodGivenUpIsNoDeletion(t *testing.T) {
	crashed := func(name string, restarts int32) []corev1.ContainerStatus {
		return []corev1.ContainerStatus{{
			Name: name, RestartCount: restarts,
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error", FinishedAt: metav1.NewTime(t0)}},
			State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		}}
	}
	again := func(restarts int32) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			ready(pod)
			pod.Spec.RestartPolicy, pod.Status.ContainerStatuses = corev1.RestartPolicyOnFailure, crashed(mpi.Container, restarts)
		}
	}
	initAgain := func(restarts int32) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			ready(pod)
			pod.Spec.RestartPolicy, pod.Status.InitContainerStatuses = corev1.RestartPolicyOnFailure, crashed("fetch", restarts)
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: mpi.Container, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}}}
		}
	}
	over := func(phase corev1.PodPhase) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Status.Phase = phase }
	}
	launcher := func(edits ...func(*corev1.Pod)) []corev1.Pod {
		return []corev1.Pod{podOf(mpi.LauncherJob, 0, append(edits, deleted)...), podOf(mpi.NodeJob, 0, ready, deleted), podOf(mpi.NodeJob, 1, ready)}
	}
	nodes := func(edits ...[]func(*corev1.Pod)) []corev1.Pod {
		pods := []corev1.Pod{podOf(mpi.LauncherJob, 0, ready)}
		for i, e := range edits {
			pods = append(pods, podOf(mpi.NodeJob, i, e...))
		}
		return pods
	}
	type edits = []func(*corev1.Pod)
	cases := map[string]struct {
		reason string
		limit  *int32
		pods   []corev1.Pod
		want   mpi.Reason
	}{
		"Default":      {"six are allowed where the Job says nothing", nil, launcher(again(6)), diagnose.LauncherFailed},
		"NotYet":       {"somebody deleted it", nil, launcher(again(5)), diagnose.PodDeleted},
		"Limit":        {"", ptr.To[int32](2), launcher(again(2)), diagnose.LauncherFailed},
		"NoRestart":    {"the first restart is one too many", ptr.To[int32](0), launcher(again(1)), diagnose.LauncherFailed},
		"TwoNodes":     {"the restarts of a Job are those of all its pods", nil, nodes(edits{again(4), deleted}, edits{again(2), deleted}), diagnose.WorkerFailed},
		"FourNodes":    {"", nil, nodes(edits{again(2), deleted}, edits{again(2), deleted}, edits{again(2), deleted}, edits{again(2), deleted}), diagnose.WorkerFailed},
		"OneByOne":     {"the other pods are asked to go in a moment", nil, nodes(edits{again(2), deleted}, edits{again(2)}, edits{again(2)}, edits{again(2)}), diagnose.WorkerFailed},
		"Ending":       {"what ends because it is being deleted counts", nil, nodes(edits{again(4), over(corev1.PodFailed), deleted}, edits{again(2), deleted}), diagnose.WorkerFailed},
		"Ended":        {"what has ended does not", nil, nodes(edits{again(4), over(corev1.PodSucceeded)}, edits{again(2), deleted}), diagnose.PodDeleted},
		"OtherJob":     {"the launcher is a Job of its own", nil, append(nodes(edits{again(3), deleted})[1:], podOf(mpi.LauncherJob, 0, again(3))), diagnose.PodDeleted},
		"FewRestarts":  {"somebody deleted one", nil, nodes(edits{again(2), deleted}, edits{again(1)}, edits{again(1)}, edits{again(1)}), diagnose.PodDeleted},
		"Init":         {"the main container never ran", nil, launcher(initAgain(6)), diagnose.InitFailed},
		"InitTwoNodes": {"", nil, nodes(edits{initAgain(4), deleted}, edits{initAgain(2), deleted}), diagnose.InitFailed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			size := asks(trainer.Trainer{NumNodes: ptr.To(int32(len(tc.pods) - 1))})
			o := withPods(started(trainJobOf(size, hasCondition(job.PodsReady, metav1.ConditionTrue, t0.Add(-time.Minute)))), tc.pods...)
			o.JobSet = o.JobSet.DeepCopy()
			for _, part := range []string{mpi.LauncherJob, mpi.NodeJob} {
				job.ReplicatedJob(o.JobSet.Spec, part).Template.Spec.BackoffLimit = tc.limit
			}
			o.TrainJob.Status = statusOf(t, o, nil)
			o.Pods = nil
			failed := apimeta.FindStatusCondition(statusOf(t, jobSetHas(o, jobset.JobSetFailed, t0), nil).Conditions, trainer.TrainJobFailed)
			if failed == nil || mpi.Reason(failed.Reason) != tc.want {
				t.Fatalf("%s: want %s, got %+v", tc.reason, tc.want, failed)
			}
			if tc.want != diagnose.PodDeleted && !strings.Contains(failed.Message, "exited with code 3") {
				t.Errorf("how it ended must be there: %s", failed.Message)
			}
		})
	}
}

// The pods of a Job that was given up go one after the other, and those that are left do not show any more why.
func TestWhatWasGivenUpExplainsTheRest(t *testing.T) {
	later := func(o observe.Observed) observe.Observed {
		o.Now = t0.Add(2 * time.Second)
		return o
	}
	again := func(pod *corev1.Pod) {
		ready(pod)
		pod.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
		pod.Status.ContainerStatuses[0].RestartCount = 6
		pod.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error", FinishedAt: metav1.NewTime(t0)}
	}
	o := later(started(trainJobOf(hasCondition(job.PodsReady, metav1.ConditionTrue, t0.Add(-time.Minute)))))
	o = withPods(o, podOf(mpi.LauncherJob, 0, ready), podOf(mpi.NodeJob, 0, again, deleted), podOf(mpi.NodeJob, 1, ready, deleted))
	o.TrainJob.Status = statusOf(t, o, nil)
	o.Pods = []corev1.Pod{o.Pods[0], o.Pods[2]}
	failed := apimeta.FindStatusCondition(statusOf(t, jobSetHas(o, jobset.JobSetFailed, o.Now), nil).Conditions, trainer.TrainJobFailed)
	if failed == nil || mpi.Reason(failed.Reason) != diagnose.WorkerFailed || !strings.Contains(failed.Message, "Worker 0") {
		t.Errorf("nobody deleted worker 1: %+v", failed)
	}
}

func TestEndOfAJobIsNoDeletion(t *testing.T) {
	for name, launcher := range map[string]corev1.Pod{
		"success": podOf(mpi.LauncherJob, 0, died(t0, 0, "Completed", verdict(mpi.Verdict{}))),
		"failure": podOf(mpi.LauncherJob, 0, died(t0, 7, "Error", verdict(mpi.Verdict{Reason: mpi.ReasonCommandFailed, ExitCode: 7}))),
	} {
		t.Run(name, func(t *testing.T) {
			o := withPods(started(trainJobOf()), launcher, podOf(mpi.NodeJob, 0, ready, deleted), podOf(mpi.NodeJob, 1, ready, deleted))
			if got := phase.DeriveFacts(o).Run.PodDisruption(); got != nil {
				t.Errorf("JobSet deletes the nodes: %+v", got)
			}
		})
	}
}

func TestSuspendedJobLosesNoPods(t *testing.T) {
	o := withPods(started(trainJobOf(suspend)), podOf(mpi.NodeJob, 0, ready, deleted))
	if got := phase.DeriveFacts(o).Run.PodDisruption(); got != nil {
		t.Errorf("whoever suspends a job wants its pods gone: %+v", got)
	}
}

// The pods that a suspension takes away may still be there when the job is resumed: they are not what it loses, and their end is
// not its.
func TestPodsOfTheTimeBeforeASuspension(t *testing.T) {
	resumedAt := t0.Add(-20 * time.Second)
	resumed := hasCondition(trainer.TrainJobSuspended, metav1.ConditionFalse, resumedAt)
	made := func(at time.Time) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.CreationTimestamp = metav1.NewTime(at) }
	}
	before, since := made(t0.Add(-time.Hour)), made(t0.Add(-15*time.Second))
	told := verdict(mpi.Verdict{Reason: diagnose.CommandKilled, ExitCode: 143, Stopped: "SIGTERM"})
	cases := map[string]struct {
		reason string
		job    func(*trainer.TrainJob)
		pod    corev1.Pod
		want   mpi.Reason
	}{
		"Old":        {"", resumed, podOf(mpi.NodeJob, 0, before, deletedAt(resumedAt.Add(-5*time.Second))), ""},
		"ClockApart": {"", resumed, podOf(mpi.NodeJob, 0, before, deletedAt(resumedAt.Add(10*time.Second))), ""},
		"OldEnd":     {"", resumed, podOf(mpi.LauncherJob, 0, before, died(t0.Add(-21*time.Second), 143, "Error", told), deletedAt(resumedAt.Add(-5*time.Second))), ""},
		"JustBegun":  {"kubelet deletes what has stopped once more", resumed, podOf(mpi.NodeJob, 0, made(resumedAt), deletedAfterStop(resumedAt.Add(6*time.Second))), ""},
		"LongBegun":  {"also much later", resumed, podOf(mpi.NodeJob, 0, since, deletedAfterStop(t0.Add(time.Minute))), diagnose.PodDeleted},
		"New":        {"", resumed, podOf(mpi.NodeJob, 0, since, deletedAt(t0)), diagnose.PodDeleted},
		"Stayed":     {"it was resumed before anybody took its pods", hasCondition(trainer.TrainJobSuspended, metav1.ConditionFalse, t0.Add(-30*time.Minute)), podOf(mpi.NodeJob, 0, before, deletedAt(t0)), diagnose.PodDeleted},
		"Never":      {"", trainJobAged(time.Hour), podOf(mpi.NodeJob, 0, made(t0.Add(-time.Hour)), deletedAt(t0)), diagnose.PodDeleted},
		"Young":      {"a job that was never suspended lost it soon", trainJobAged(30 * time.Second), podOf(mpi.NodeJob, 0, made(t0.Add(-29*time.Second)), deletedAt(t0)), diagnose.PodDeleted},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := withPods(started(trainJobOf(tc.job)), tc.pod)
			var lost mpi.Reason
			if c := phase.DeriveFacts(o).Run.PodDisruption(); c != nil {
				lost = c.Reason
			}
			cause := phase.DeriveFacts(o).End.Cause()
			if lost != tc.want || (cause != nil) != (tc.want != "") {
				t.Errorf("%s: want `%s`, lost `%s` because of %+v", tc.reason, tc.want, lost, cause)
			}
		})
	}
}

// deletedAfterStop is a pod that kubelet has deleted without grace, because it has stopped within its grace of 30 s.
func deletedAfterStop(at time.Time) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.TerminationGracePeriodSeconds = ptr.To[int64](30)
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = ptr.To(metav1.NewTime(at)), ptr.To[int64](0)
	}
}

func trainJobAged(age time.Duration) func(*trainer.TrainJob) {
	return func(trainJob *trainer.TrainJob) { trainJob.CreationTimestamp = metav1.NewTime(t0.Add(-age)) }
}

func TestDeletionAsked(t *testing.T) {
	pod := podOf(mpi.NodeJob, 0, deleted)
	pod.DeletionGracePeriodSeconds = ptr.To[int64](30)
	if got := observe.DeletionAsked(&pod); !got.Equal(t0.Add(-30 * time.Second)) {
		t.Errorf("the timestamp is when the grace is over: %s", got)
	}
}
