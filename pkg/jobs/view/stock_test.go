package view

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// stock is a job of plain Kubeflow Trainer with one pod of a node.
func stock(edit func(*corev1.Pod)) JobObjects {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a-node-0-0-x", Labels: map[string]string{mpi.JobSetUIDLabel: "set", mpi.ReplicatedJobLabel: mpi.NodeJob}}}
	edit(&pod)
	set := &jobset.JobSet{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "set"}}
	set.Spec.ReplicatedJobs = []jobset.ReplicatedJob{{Name: mpi.NodeJob, Replicas: 1}}
	return JobObjects{Now: now, TrainJob: &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "job"}}, JobSet: set, Pods: []corev1.Pod{pod}, PodsRead: true}
}

// TestStock: of a job that no mpi-controller looks after is said what its pods show, and that nobody knows more.
func TestStock(t *testing.T) {
	waits := JobOf(stock(func(pod *corev1.Pod) {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/2 nodes are available"}}
	}))
	if waits.Phase != jobv1.Scheduling || waits.Cause == nil || waits.Cause.Reason != string(diagnose.Unschedulable) || waits.Cause.Source != FromPods {
		t.Errorf("a job that waits is %s because of %+v", waits.Phase, waits.Cause)
	}
	if len(waits.Unknown) == 0 || !strings.Contains(waits.Unknown[0].Why, "no mpi-controller") {
		t.Errorf("it does not say what it cannot know: %v", waits.Unknown)
	}
	runs := JobOf(stock(func(pod *corev1.Pod) {
		pod.Spec.NodeName = "m"
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: mpi.Container, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now.Add(-time.Minute))}}}}
	}))
	if runs.Phase != jobv1.Running || runs.Executor != jobv1.Stock || runs.Duration(now) != time.Minute || len(runs.Nodes) != 1 || runs.Nodes[0].Machine != "m" {
		t.Errorf("a job that runs is %s, run by %s for %s on %+v", runs.Phase, runs.Executor, runs.Duration(now), runs.Nodes)
	}
}

// A job that was resumed has been on its way since then, whatever it did before.
func TestResumedJob(t *testing.T) {
	at := func(before time.Duration) metav1.Time { return metav1.NewTime(now.Add(-before)) }
	o := stock(func(pod *corev1.Pod) { pod.Spec.NodeName = "m" })
	o.JobSet.CreationTimestamp = at(time.Hour)
	o.TrainJob.Status.Conditions = []metav1.Condition{
		{Type: job.PodsReady, Status: metav1.ConditionFalse, Reason: "Suspended", LastTransitionTime: at(time.Minute)},
		{Type: trainer.TrainJobSuspended, Status: metav1.ConditionFalse, LastTransitionTime: at(time.Second)},
	}
	if j := JobOf(o); j.Phase != jobv1.Pulling || j.Since == nil || !j.Since.Time.Equal(at(time.Second).Time) {
		t.Errorf("it is %s since %v", j.Phase, j.Since)
	}
}

// TestNewJob: a job without a controller is reported after some time, or at its end.
func TestNewJob(t *testing.T) {
	for name, c := range map[string]struct {
		age    time.Duration
		failed bool
		want   int
	}{
		"new":            {age: PickUpTime - time.Second},
		"old":            {age: PickUpTime, want: 1},
		"new and failed": {age: time.Second, failed: true, want: 1},
	} {
		o := stock(func(*corev1.Pod) {})
		o.Runtime = &job.Runtime{Labels: map[string]string{mpi.FrameworkLabel: "mpi"}}
		o.Runtime.Spec.MLPolicy = &trainer.MLPolicy{}
		o.Runtime.Spec.MLPolicy.MPI = &trainer.MPIMLPolicySource{}
		o.TrainJob.CreationTimestamp = metav1.NewTime(now.Add(-c.age))
		if c.failed {
			failed := metav1.Condition{Type: trainer.TrainJobFailed, Status: metav1.ConditionTrue, Reason: "JobSetFailed"}
			o.TrainJob.Status.Conditions = []metav1.Condition{failed}
		}
		if got := JobOf(o).Unknown; len(got) != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestFromJobs: a long list has Jobs and no pods.
func TestFromJobs(t *testing.T) {
	made := func(role string, ready int32) batchv1.Job {
		j := batchv1.Job{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{mpi.ReplicatedJobLabel: role, mpi.TrainJobLabel: "a"}}}
		j.Spec.Parallelism, j.Status.Ready, j.Status.Active = ptr.To[int32](2), &ready, 2
		j.Status.StartTime = ptr.To(metav1.NewTime(now.Add(-time.Minute)))
		return j
	}
	created := metav1.Condition{Type: "Created", Status: metav1.ConditionTrue, Reason: "JobSetCreated"}
	for name, c := range map[string]struct {
		ready   int32
		suspend bool
		reason  string
		want    jobv1.Phase
	}{
		"too few":       {1, false, "", jobv1.Scheduling},
		"all":           {2, false, "", jobv1.Starting},
		"being stopped": {2, true, "", jobv1.Stopping},
		"of an image":   {0, false, string(diagnose.ImagePull), jobv1.Pulling},
	} {
		trainJob := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "job", Labels: map[string]string{mpi.TrainJobLabel: "a"}}}
		trainJob.Spec.Suspend = &c.suspend
		trainJob.Status.Conditions = []metav1.Condition{created}
		if c.reason != "" {
			trainJob.Status.Conditions = append(trainJob.Status.Conditions, metav1.Condition{Type: "PodsReady", Status: metav1.ConditionFalse, Reason: c.reason, Message: "no"})
		}
		j := JobOf(JobObjects{Now: now, TrainJob: trainJob, Jobs: []batchv1.Job{made(mpi.LauncherJob, c.ready), made(mpi.NodeJob, c.ready)}})
		if j.Phase != c.want || j.Pods == nil || j.Pods.Ready != int(2*c.ready) || j.Pods.Want != 4 || j.Executor != jobv1.Controller {
			t.Errorf("%s: %s with %+v, run by %s, want %s", name, j.Phase, j.Pods, j.Executor, c.want)
		}
	}
}

// TestQueueAndProgress: the wait is told as the record does, otherwise as Workloads say; progress as the program does.
func TestQueueAndProgress(t *testing.T) {
	trainJob := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "job", Labels: map[string]string{kueue.QueueLabel: "lockstep"}, CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))}}
	trainJob.Spec.Suspend = ptr.To(true)
	trainJob.Status.TrainerStatus = &trainer.TrainerStatus{ProgressPercentage: ptr.To[int32](42)}
	o := JobObjects{Now: now, TrainJob: trainJob, Workloads: []kueue.Workload{{Job: "job", Queue: "lockstep", Created: now.Add(-time.Hour)}}}
	if j := JobOf(o); j.Phase != jobv1.Queued || !strings.HasPrefix(j.Queue.Text, "waits in queue `lockstep`") || j.Columns(now).Progress != "42%" {
		t.Errorf("it is %s in %+v, at %s", j.Phase, j.Queue, j.Columns(now).Progress)
	}
	trainJob.Annotations = map[string]string{jobv1.Annotation: `{"version":"v1","uid":"job","executor":"mpi-controller","phase":"Queued","queue":{"name":"lockstep","position":2,"length":20,"text":"waits"}}`}
	if j := JobOf(o); j.Queue.Position != 2 || j.Queue.Length != 20 || j.Columns(now).Queue != "lockstep #2" {
		t.Errorf("it stands at %+v", j.Queue)
	}
}

// TestHeadings: there is a cell below each heading.
func TestHeadings(t *testing.T) {
	if h, c := len(ColumnHeadings()), len(ListColumns{}.Cells()); h != c {
		t.Errorf("%d headings, %d cells", h, c)
	}
}
