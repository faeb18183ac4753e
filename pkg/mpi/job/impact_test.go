package job_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
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
		want          observe.ChangeImpact
	}{
		"Made":        {"", nil, node(), observe.ImpactStep},
		"Placed":      {"", node(), node(onMachine), observe.ImpactStep},
		"Creating":    {"", node(onMachine), node(onMachine, containerWaits("ContainerCreating")), observe.ImpactStep},
		"Ready":       {"", node(addressed), node(readyPod), observe.ImpactStep},
		"Launcher":    {"all that a job without an agent has to say", newsPod(mpi.LauncherJob, "0", onMachine), newsPod(mpi.LauncherJob, "0", addressed), observe.ImpactNow},
		"Relapse":     {"", node(readyPod), node(addressed), observe.ImpactNow},
		"Image":       {"", node(onMachine), node(onMachine, containerWaits("ErrImagePull")), observe.ImpactNow},
		"ImagePulled": {"the message about it must go", node(onMachine, containerWaits("ErrImagePull")), node(addressed), observe.ImpactNow},
		"Unschedulable": {"", node(), node(func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "no room"}}
		}), observe.ImpactNow},
		"Disrupted": {"", node(readyPod), node(readyPod, func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "PreemptionByScheduler"})
		}), observe.ImpactNow},
		"Deleted":  {"", node(readyPod), node(readyPod, func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }), observe.ImpactNow},
		"Gone":     {"", node(readyPod), nil, observe.ImpactNow},
		"Ended":    {"", node(readyPod), node(ended(1)), observe.ImpactNow},
		"Labelled": {"labels of others decide nothing", node(readyPod), node(readyPod, func(p *corev1.Pod) { p.Labels["team"] = "a" }), observe.NoImpact},
		"Heartbeat": {"nor do times of probes", node(readyPod), node(readyPod, func(p *corev1.Pod) {
			p.Status.Conditions[0].LastProbeTime = metav1.Time{Time: time.Unix(1, 0)}
		}), observe.NoImpact},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := observe.ImpactOfPod(tc.before, tc.after); got != tc.want {
				t.Errorf("%s: want %v, got %v", tc.reason, tc.want, got)
			}
		})
	}
}

// A gang comes a step further with its last pod.
func TestGangStage(t *testing.T) {
	runtime := runtimeOf(false)
	js := &jobset.JobSet{ObjectMeta: metav1.ObjectMeta{UID: "js"}, Spec: runtime.Spec.Template.Spec}
	want := job.CountPods(js)
	for stage := range observe.StageReady + 1 {
		pods := [observe.StageReady + 1]int{observe.StageReady: want - 1}
		pods[stage]++
		if got := observe.GangStage(js, pods); got != stage {
			t.Errorf("want %v, got %v", stage, got)
		}
	}
	if got := observe.GangStage(js, [observe.StageReady + 1]int{observe.StageReady: want - 1}); got != observe.StageMade {
		t.Errorf("a pod is missing, got %v", got)
	}
	for stage, change := range map[observe.PodStage]func(*corev1.Pod){observe.StageMade: func(*corev1.Pod) {}, observe.StagePlaced: onMachine, observe.StageAddressed: addressed, observe.StageReady: readyPod} {
		if got := observe.StageOf(newsPod(mpi.NodeJob, "1", change)); got != stage {
			t.Errorf("want %v, got %v", stage, got)
		}
	}
	if got := observe.StageOf(nil); got != observe.StageMade {
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
		want          observe.ChangeImpact
	}{
		"Same":      {of(same), of(same), observe.NoImpact},
		"Restarts":  {of(same), of(func(js *jobset.JobSet) { js.Status.Restarts = 1 }), observe.NoImpact},
		"Counts":    {of(same), of(func(js *jobset.JobSet) { js.Status.ReplicatedJobsStatus = []jobset.ReplicatedJobStatus{{Name: "node"}} }), observe.ImpactStep},
		"Condition": {of(same), of(func(js *jobset.JobSet) { js.Status.Conditions = []metav1.Condition{{Type: "Completed"}} }), observe.ImpactNow},
		"Spec":      {of(same), of(func(js *jobset.JobSet) { js.Generation = 2 }), observe.ImpactNow},
		"Came":      {nil, of(same), observe.ImpactNow},
		"Went":      {of(same), nil, observe.ImpactNow},
	} {
		if got := observe.ImpactOfJobSet(tc.before, tc.after); got != tc.want {
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
	told.Status.Conditions = []metav1.Condition{{Type: job.Created, Status: metav1.ConditionTrue}}
	if observe.ImpactOfTrainJob(before, annotated) != observe.NoImpact || observe.ImpactOfTrainJob(before, resumed) != observe.ImpactNow || observe.ImpactOfTrainJob(before, told) != observe.ImpactNow {
		t.Error("spec and conditions are news, annotations are not")
	}
	if !observe.IsSettled(told) {
		t.Error("nothing follows from a step")
	}
	told.Status.Conditions = append(told.Status.Conditions, metav1.Condition{Type: job.Restarting, Status: metav1.ConditionTrue})
	if observe.IsSettled(told) {
		t.Error("the JobSet goes after the restart was told")
	}
	over := before.DeepCopy()
	over.Status.Conditions = []metav1.Condition{{Type: trainer.TrainJobFailed, Status: metav1.ConditionTrue}}
	if observe.IsSettled(over) || !observe.PodsTellNothing(over, nil) || observe.PodsTellNothing(told, nil) {
		t.Error("the JobSet of a job that is over goes after its end was told, and its pods have nothing to tell")
	}
}
