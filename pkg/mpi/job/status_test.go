package job_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
)

// statusOf runs a whole pass.
// statusAfter is the status of a TrainJob after a decision, conditionsBeside what a companion adds to it.
func statusAfter(f *phase.Facts, d decide.Decision, applied error) trainer.TrainJobStatus {
	after, _ := status.Compute(f, d, applied)
	return after
}

func conditionsBeside(f *phase.Facts, d decide.Decision) []metav1.Condition {
	ours, _ := status.ComputeBeside(f, d, nil)
	return ours
}

func statusOf(t *testing.T, o observe.Observed, applied error) trainer.TrainJobStatus {
	t.Helper()
	decision, err := decide.Decide(phase.DeriveFacts(o), bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	return statusAfter(phase.DeriveFacts(o), decision, applied)
}

// inShort writes conditions as `Type=Status/Reason`, in their order.
func inShort(conditions []metav1.Condition) []string {
	short := make([]string, 0, len(conditions))
	for _, c := range conditions {
		short = append(short, c.Type+"="+string(c.Status)+"/"+c.Reason)
	}
	return short
}

func TestStatusConditions(t *testing.T) {
	launcher := podOf(mpi.LauncherJob, 0, address("10.0.0.1"), ready)
	node0, node1 := podOf(mpi.NodeJob, 0, address("10.0.0.2"), ready), podOf(mpi.NodeJob, 1, address("10.0.0.3"), ready)
	allReady := withPods(started(trainJobOf()), launcher, node0, node1)
	gate := func(o observe.Observed, g observe.GateState) observe.Observed {
		o.Gate = &g
		return o
	}
	passed := observe.GateState{Launcher: "launcher-0", Result: &mpi.GateResult{Passed: true}}
	warns := func(warnings ...mpi.JobWarning) observe.GateState {
		return observe.GateState{Launcher: "launcher-0", Result: passed.Result, Warnings: warnings}
	}
	failed := observe.GateState{Launcher: "launcher-0", Result: &mpi.GateResult{Failures: []mpi.NodeFailure{{Name: "demo-node-0-1.demo", Error: "connection refused"}}}}
	doubts := observe.GateState{Launcher: "launcher-0", Result: &mpi.GateResult{Waiting: true, Failures: failed.Result.Failures}}
	fresh := observe.Observed{Now: t0, TrainJob: trainJobOf(), Runtime: runtimeOf(false)}
	noRuntime := fresh
	noRuntime.Runtime = nil
	refused := fresh
	refused.TrainJob = trainJobOf(asks(trainer.Trainer{NumNodes: ptr.To[int32](0)}))
	suspended := fresh
	suspended.TrainJob = trainJobOf(suspend)
	resumed := started(trainJobOf(hasCondition(trainer.TrainJobSuspended, metav1.ConditionTrue, t0.Add(-time.Hour))))
	unscheduled := podOf(mpi.NodeJob, 1, func(pod *corev1.Pod) {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	})
	warned := started(trainJobOf())
	warned.Warnings = []corev1.Event{{InvolvedObject: corev1.ObjectReference{UID: "jobset-uid"}, Reason: "JobCreationFailed", Message: "no"}}
	thrownOut := withPods(started(trainJobOf()), launcher, node0, podOf(mpi.NodeJob, 1, died(t0, 137, "Error", ""), func(pod *corev1.Pod) {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonTerminationByKubelet}}
	}))
	longUnreachable := gate(allReady, observe.GateState{Launcher: "launcher-0", Error: "connection timed out"})
	longUnreachable.Now = t0.Add(time.Minute)
	launcherOver := gate(withPods(started(trainJobOf()), podOf(mpi.LauncherJob, 0, died(t0, 7, "Error", "")), node0, node1), passed)
	refusedTable := gate(allReady, observe.GateState{Launcher: "launcher-0", Error: "the table lacks a node", GaveUp: true})
	saidBefore := func(at time.Time) observe.Observed {
		o := withPods(started(trainJobOf(hasCondition(job.Running, metav1.ConditionTrue, at))), launcher, node0, node1)
		return gate(o, observe.GateState{Launcher: "launcher-0", Error: "connection timed out"})
	}
	completing := gate(withPods(started(trainJobOf()), podOf(mpi.LauncherJob, 0, address("10.0.0.1"), ready, func(pod *corev1.Pod) {
		pod.Status.Conditions[0].Status = corev1.ConditionFalse
		pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	}), node0, node1), passed)
	undecided := jobSetHas(started(trainJobOf(hasCondition(job.Created, metav1.ConditionTrue, t0), hasCondition(job.PodsReady, metav1.ConditionTrue, t0))), jobset.JobSetFailed, t0)
	saidAllReady := allReady
	saidAllReady.TrainJob = trainJobOf(hasCondition(job.PodsReady, metav1.ConditionTrue, t0))
	otherLauncher := gate(allReady, observe.GateState{Launcher: "an-earlier-launcher", Result: &mpi.GateResult{Passed: true}})

	cases := map[string]struct {
		reason  string
		o       observe.Observed
		applied error
		want    []string
	}{
		"NoRuntime":     {"", noRuntime, nil, []string{"Created=False/RuntimeNotFound"}},
		"Refused":       {"", refused, nil, []string{"Created=False/InvalidWorld", "Failed=True/InvalidWorld"}},
		"CreateFailed":  {"errors of the API server belong into the status", fresh, errors.New("create Secret: forbidden"), []string{"Created=False/CreationFailed"}},
		"Created":       {"", fresh, nil, []string{"PodsReady=False/PodsPending", "Running=False/WaitingForPods", "Created=True/JobSetCreated"}},
		"Suspended":     {"STATE reads Suspended", suspended, nil, []string{"PodsReady=False/Suspended", "Running=False/Suspended", "Created=True/JobSetCreated", "Suspended=True/Suspended"}},
		"Resumed":       {"a resumed job must not read Suspended, as it does upstream", resumed, nil, []string{"Suspended=False/Resumed", "PodsReady=False/PodsPending", "Running=False/WaitingForPods", "Created=True/JobSetCreated"}},
		"Unschedulable": {"", withPods(started(trainJobOf()), launcher, node0, unscheduled), nil, []string{"PodsReady=False/Unschedulable", "Running=False/WaitingForNodes", "Created=True/JobSetCreated"}},
		"PodsRefused":   {"", warned, nil, []string{"PodsReady=False/PodsRefused", "Running=False/WaitingForPods", "Created=True/JobSetCreated"}},
		"PodsReady":     {"", allReady, nil, []string{"Running=False/WaitingForNodes", "Created=True/JobSetCreated", "PodsReady=True/PodsReady"}},
		"ThrownOut":     {"a pod that has ended is ready, but not one that was thrown out: it is gone in a moment, and its reason with it", thrownOut, nil, []string{"PodsReady=False/Evicted", "Running=False/WaitingForNodes", "Created=True/JobSetCreated"}},
		"Unreachable":   {"a launcher that just started is given time", gate(allReady, observe.GateState{Launcher: "launcher-0", Error: "connection refused"}), nil, []string{"Running=False/WaitingForNodes", "Created=True/JobSetCreated", "PodsReady=True/PodsReady"}},
		"LongUnreach":   {"", longUnreachable, nil, []string{"Running=False/LauncherUnreachable", "Created=True/JobSetCreated", "PodsReady=True/PodsReady"}},
		"RefusedTable":  {"the controller will not try again", refusedTable, nil, []string{"Running=False/LauncherUnreachable", "Created=True/JobSetCreated", "PodsReady=True/PodsReady"}},
		"SaidBefore":    {"a new controller must not take back what an earlier one heard", saidBefore(t0.Add(-4 * time.Second)), nil, []string{"Created=True/JobSetCreated", "PodsReady=True/PodsReady", "Running=True/GatePassed"}},
		"SaidLongAgo":   {"but not about an earlier launcher", saidBefore(t0.Add(-2 * time.Minute)), nil, []string{"Running=False/WaitingForNodes", "Created=True/JobSetCreated", "PodsReady=True/PodsReady"}},
		"GateFailed":    {"", gate(allReady, failed), nil, []string{"Running=False/ConnectionRefused", "Created=True/JobSetCreated", "PodsReady=True/PodsReady"}},
		"GateDoubts":    {"what seems to be in the way is said before the gate gives up", gate(allReady, doubts), nil, []string{"Running=False/ConnectionRefused", "Created=True/JobSetCreated", "PodsReady=True/PodsReady"}},
		"OtherLauncher": {"what an earlier launcher said does not count", otherLauncher, nil, []string{"Running=False/WaitingForNodes", "Created=True/JobSetCreated", "PodsReady=True/PodsReady"}},
		"Running":       {"STATE reads Running", gate(allReady, passed), nil, []string{"Created=True/JobSetCreated", "PodsReady=True/PodsReady", "Running=True/GatePassed"}},
		"Warned":        {"what agents see go wrong is the reason of a running job", gate(allReady, warns(mpi.JobWarning{Reason: mpi.ReasonLaunchStuck, Message: "x"})), nil, []string{"Created=True/JobSetCreated", "PodsReady=True/PodsReady", "Running=True/LaunchStuck"}},
		"WarnedByUser":  {"an image may answer in the agent's place", gate(allReady, warns(mpi.JobWarning{Reason: "Hello there"})), nil, []string{"Created=True/JobSetCreated", "PodsReady=True/PodsReady", "Running=True/GatePassed"}},
		"LauncherOver":  {"between the end of the launcher and that of the JobSet nothing flaps", launcherOver, nil, []string{"Created=True/JobSetCreated", "PodsReady=True/PodsReady", "Running=True/GatePassed"}},
		"Completing":    {"kubelet first takes back that the pod is ready, then says that it succeeded", completing, nil, []string{"Created=True/JobSetCreated", "PodsReady=True/PodsReady", "Running=True/GatePassed"}},
		"Undecided":     {"while the cause is looked for nothing flaps", undecided, nil, []string{"Created=True/Before", "PodsReady=True/Before"}},
		"Complete":      {"", jobSetHas(allReady, jobset.JobSetCompleted, t0), nil, []string{"PodsReady=False/Finished", "Running=False/Finished", "Created=True/JobSetCreated", "Complete=True/Completed"}},
		"NotYetOver":    {"a job whose key could not be deleted has not ended", jobSetHas(allReady, jobset.JobSetCompleted, t0), errors.New("delete Secret"), []string{"Created=True/JobSetCreated"}},
		"StillRunning":  {"and is what it was", jobSetHas(saidAllReady, jobset.JobSetCompleted, t0), errors.New("delete Secret"), []string{"Created=True/JobSetCreated", "PodsReady=True/Before"}},
		"Failed":        {"", jobSetHas(launcherOver, jobset.JobSetFailed, t0), nil, []string{"PodsReady=False/Finished", "Running=False/Finished", "Created=True/JobSetCreated", "Failed=True/LauncherFailed"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := statusOf(t, tc.o, tc.applied)
			if diff := cmp.Diff(tc.want, inShort(got.Conditions)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if len(got.Conditions) > 8 {
				t.Errorf("upstream's CRD allows 8 conditions, got %d", len(got.Conditions))
			}
			// The next pass, a second later and with nothing new, must have nothing to write.
			again := tc.o
			again.Now = again.Now.Add(time.Second)
			again.TrainJob = again.TrainJob.DeepCopy()
			again.TrainJob.Status = got
			if again.JobSet == nil && apimeta.IsStatusConditionTrue(got.Conditions, job.Created) {
				again.JobSet = started(again.TrainJob).JobSet
			}
			if diff := cmp.Diff(got, statusOf(t, again, tc.applied)); diff != "" {
				t.Errorf("a pass without news changes the status: -before, +after:\n%s", diff)
			}
		})
	}
}

// A Job may have made another pod in place of one that is still there: as many as are wanted have to be ready.
// The end of a job links to the page of its reason, where the runtime has the address of docs; other conditions do not.
func TestEndLinksToPage(t *testing.T) {
	launcher := podOf(mpi.LauncherJob, 0, died(t0, 7, "Error", ""))
	o := jobSetHas(withPods(started(trainJobOf()), launcher), jobset.JobSetFailed, t0)
	for docs, want := range map[string]string{
		"": "", "lockstep.example.com": "",
		"https://docs.example.com": "https://docs.example.com/failures/LauncherFailed",
	} {
		o.Runtime.Annotations = map[string]string{mpi.DocsAnnotation: docs}
		f := phase.DeriveFacts(o)
		decision, err := decide.Decide(f, bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
		if err != nil {
			t.Fatal(err)
		}
		after, record := status.Compute(f, decision, nil)
		for _, c := range after.Conditions {
			links := strings.Contains(c.Message, ". More: "+want) && want != ""
			if links != (want != "" && c.Type == trainer.TrainJobFailed) || strings.Contains(c.Message, "More: ") != links {
				t.Errorf("docs %q: %s is %s", docs, c.Type, c.Message)
			}
		}
		if record == nil || record.Cause == nil || record.Cause.URL != want {
			t.Errorf("docs %q: the record is %+v", docs, record)
		}
	}
}

func TestMorePodsThanWanted(t *testing.T) {
	o := withPods(started(trainJobOf()), podOf(mpi.LauncherJob, 0, ready), podOf(mpi.NodeJob, 0, ready), podOf(mpi.NodeJob, 1, ready), podOf(mpi.NodeJob, 1))
	if c := apimeta.FindStatusCondition(statusOf(t, o, nil).Conditions, job.PodsReady); c == nil || c.Message != "all 3 pods are ready" {
		t.Errorf("%+v", c)
	}
}

func TestStatusTransitionTimes(t *testing.T) {
	before := t0.Add(-time.Hour)
	o := started(trainJobOf(hasCondition(job.Created, metav1.ConditionTrue, before), hasCondition(job.PodsReady, metav1.ConditionTrue, before)))
	got := statusOf(t, o, nil).Conditions
	if c := apimeta.FindStatusCondition(got, job.Created); !c.LastTransitionTime.Time.Equal(before) || c.Reason != string(job.ReasonJobSetCreated) {
		t.Errorf("a condition that stays keeps its time, not its words: %+v", c)
	}
	if c := apimeta.FindStatusCondition(got, job.PodsReady); !c.LastTransitionTime.Time.Equal(t0) || c.Status != metav1.ConditionFalse {
		t.Errorf("pods that are gone are not ready, whatever was said before: %+v", c)
	}
}

func TestJobsStatus(t *testing.T) {
	o := started(trainJobOf())
	o.JobSet.Status.ReplicatedJobsStatus = []jobset.ReplicatedJobStatus{
		{Name: mpi.NodeJob, Ready: 0, Active: 1}, {Name: mpi.LauncherJob, Ready: 1, Active: 1},
	}
	want := []trainer.JobStatus{
		{Name: mpi.LauncherJob, Ready: ptr.To[int32](1), Active: ptr.To[int32](1), Succeeded: ptr.To[int32](0), Failed: ptr.To[int32](0), Suspended: ptr.To[int32](0)},
		{Name: mpi.NodeJob, Ready: ptr.To[int32](0), Active: ptr.To[int32](1), Succeeded: ptr.To[int32](0), Failed: ptr.To[int32](0), Suspended: ptr.To[int32](0)},
	}
	if diff := cmp.Diff(want, statusOf(t, o, nil).JobsStatus); diff != "" {
		t.Errorf("in the order of the spec, whatever order JobSet writes: -want, +got:\n%s", diff)
	}
}

func TestJobsStatusAfterTheEnd(t *testing.T) {
	o := jobSetHas(started(trainJobOf(hasCondition(trainer.TrainJobComplete, metav1.ConditionTrue, t0))), jobset.JobSetCompleted, t0)
	o.TrainJob.Status.JobsStatus = []trainer.JobStatus{{Name: mpi.NodeJob, Active: ptr.To[int32](1)}}
	o.JobSet.Status.ReplicatedJobsStatus = []jobset.ReplicatedJobStatus{{Name: mpi.NodeJob, Active: 0}}
	got := statusOf(t, o, nil)
	if *got.JobsStatus[0].Active != 0 {
		t.Error("the OpenShift AI dashboard takes a job with an active child for running: the counts must follow the JobSet to the end")
	}
	if diff := cmp.Diff(o.TrainJob.Status.Conditions, got.Conditions); diff != "" {
		t.Errorf("terminal conditions are final: -want, +got:\n%s", diff)
	}
}

func TestStatusKeepsWhatOthersReport(t *testing.T) {
	o := started(trainJobOf(func(trainJob *trainer.TrainJob) {
		trainJob.Status.TrainerStatus = &trainer.TrainerStatus{ProgressPercentage: ptr.To[int32](40)}
	}))
	if got := statusOf(t, o, nil).TrainerStatus; got == nil || *got.ProgressPercentage != 40 {
		t.Errorf("progress is reported by the job itself: %+v", got)
	}
}
