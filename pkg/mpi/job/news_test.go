package job

import (
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi"
)

func newsPod(role, index string, edits ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "demo-" + role + "-0-" + index, Labels: map[string]string{
		mpi.ReplicatedJobLabel: role, mpi.CompletionIndexLabel: index, mpi.JobSetUIDLabel: "js",
	}}}
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

func onMachine(pod *corev1.Pod) { pod.Spec.NodeName = "node0" }

func addressed(pod *corev1.Pod) {
	onMachine(pod)
	pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, "10.0.0.1"
}

func readyPod(pod *corev1.Pod) {
	addressed(pod)
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
}

func containerWaits(reason string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: mpi.Container, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}}
	}
}

// Nothing that a user must hear of waits, and what decides nothing costs nothing.
func TestNewsOfPod(t *testing.T) {
	node := func(edits ...func(*corev1.Pod)) *corev1.Pod { return newsPod(mpi.NodeJob, "0", edits...) }
	ended := func(code int32) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			readyPod(pod)
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: mpi.Container, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}}}
		}
	}
	cases := map[string]struct {
		reason        string
		before, after *corev1.Pod
		want          News
	}{
		"Made":        {"", nil, node(), Step},
		"Placed":      {"", node(), node(onMachine), Step},
		"Creating":    {"", node(onMachine), node(onMachine, containerWaits("ContainerCreating")), Step},
		"Ready":       {"", node(addressed), node(readyPod), Step},
		"Launcher":    {"all that a job without an agent has to say", newsPod(mpi.LauncherJob, "0", onMachine), newsPod(mpi.LauncherJob, "0", addressed), Matters},
		"Relapse":     {"", node(readyPod), node(addressed), Matters},
		"Image":       {"", node(onMachine), node(onMachine, containerWaits("ErrImagePull")), Matters},
		"ImagePulled": {"the message about it must go", node(onMachine, containerWaits("ErrImagePull")), node(addressed), Matters},
		"Unschedulable": {"", node(), node(func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "no room"}}
		}), Matters},
		"Disrupted": {"", node(readyPod), node(readyPod, func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "PreemptionByScheduler"})
		}), Matters},
		"Deleted":  {"", node(readyPod), node(readyPod, func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }), Matters},
		"Gone":     {"", node(readyPod), nil, Matters},
		"Ended":    {"", node(readyPod), node(ended(1)), Matters},
		"Labelled": {"labels of others decide nothing", node(readyPod), node(readyPod, func(p *corev1.Pod) { p.Labels["team"] = "a" }), NoNews},
		"Heartbeat": {"nor do times of probes", node(readyPod), node(readyPod, func(p *corev1.Pod) {
			p.Status.Conditions[0].LastProbeTime = metav1.Time{Time: time.Unix(1, 0)}
		}), NoNews},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := NewsOfPod(tc.before, tc.after); got != tc.want {
				t.Errorf("%s: want %v, got %v", tc.reason, tc.want, got)
			}
		})
	}
}

// A gang comes a step further with its last pod.
func TestGangStage(t *testing.T) {
	runtime := runtimeOf(false)
	js := &jobset.JobSet{ObjectMeta: metav1.ObjectMeta{UID: "js"}, Spec: runtime.Spec.Template.Spec}
	want := podCount(js)
	for stage := range Ready + 1 {
		pods := [Ready + 1]int{Ready: want - 1}
		pods[stage]++
		if got := GangStage(js, pods); got != stage {
			t.Errorf("want %v, got %v", stage, got)
		}
	}
	if got := GangStage(js, [Ready + 1]int{Ready: want - 1}); got != Made {
		t.Errorf("a pod is missing, got %v", got)
	}
	for stage, change := range map[Stage]func(*corev1.Pod){Made: func(*corev1.Pod) {}, Placed: onMachine, Addressed: addressed, Ready: readyPod} {
		if got := StageOf(newsPod(mpi.NodeJob, "1", change)); got != stage {
			t.Errorf("want %v, got %v", stage, got)
		}
	}
	if got := StageOf(nil); got != Made {
		t.Errorf("a pod that is not there has come nowhere, got %v", got)
	}
}

func TestNewsOfJobSet(t *testing.T) {
	of := func(edit func(*jobset.JobSet)) *jobset.JobSet {
		js := &jobset.JobSet{ObjectMeta: metav1.ObjectMeta{UID: "js", Generation: 1}}
		edit(js)
		return js
	}
	same := func(*jobset.JobSet) {}
	for name, tc := range map[string]struct {
		before, after *jobset.JobSet
		want          News
	}{
		"Same":      {of(same), of(same), NoNews},
		"Restarts":  {of(same), of(func(js *jobset.JobSet) { js.Status.Restarts = 1 }), NoNews},
		"Counts":    {of(same), of(func(js *jobset.JobSet) { js.Status.ReplicatedJobsStatus = []jobset.ReplicatedJobStatus{{Name: "node"}} }), Step},
		"Condition": {of(same), of(func(js *jobset.JobSet) { js.Status.Conditions = []metav1.Condition{{Type: "Completed"}} }), Matters},
		"Spec":      {of(same), of(func(js *jobset.JobSet) { js.Generation = 2 }), Matters},
		"Came":      {nil, of(same), Matters},
		"Went":      {of(same), nil, Matters},
	} {
		if got := NewsOfJobSet(tc.before, tc.after); got != tc.want {
			t.Errorf("%s: want %v, got %v", name, tc.want, got)
		}
	}
}

func TestNewsOfTrainJob(t *testing.T) {
	before := trainJobOf()
	annotated := before.DeepCopy()
	annotated.Annotations = map[string]string{"note": "1"}
	resumed := before.DeepCopy()
	resumed.Generation++
	told := before.DeepCopy()
	told.Status.Conditions = []metav1.Condition{{Type: Created, Status: metav1.ConditionTrue}}
	if NewsOfTrainJob(before, annotated) != NoNews || NewsOfTrainJob(before, resumed) != Matters || NewsOfTrainJob(before, told) != Matters {
		t.Error("spec and conditions are news, annotations are not")
	}
	if !Settled(told) {
		t.Error("nothing follows from a step")
	}
	told.Status.Conditions = append(told.Status.Conditions, metav1.Condition{Type: Restarting, Status: metav1.ConditionTrue})
	if Settled(told) {
		t.Error("the JobSet goes after the restart was told")
	}
	over := before.DeepCopy()
	over.Status.Conditions = []metav1.Condition{{Type: trainer.TrainJobFailed, Status: metav1.ConditionTrue}}
	if Settled(over) || !Done(over, nil) || Done(told, nil) {
		t.Error("the JobSet of a job that is over goes after its end was told, and its pods have nothing to tell")
	}
}
