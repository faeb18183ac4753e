package job

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// deletedAt is a pod whose deletion was asked for at a time, with 30 s of grace.
func deletedAt(at time.Time) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = ptr.To(metav1.NewTime(at.Add(30*time.Second))), ptr.To[int64](30)
	}
}

// limited is a job whose runtime allows one hour, and whose JobSet was made an hour before t0.
func limited(pods ...corev1.Pod) Observed {
	o := started(trainJobOf()).with(pods...)
	o.Runtime = restartable("2")
	o.JobSet = o.JobSet.DeepCopy()
	o.JobSet.CreationTimestamp = metav1.NewTime(t0.Add(-time.Hour))
	replicatedJob(o.JobSet.Spec, mpi.LauncherJob).Template.Spec.ActiveDeadlineSeconds = ptr.To[int64](3600)
	return o
}

// The Job controller enforces the maxDuration of a runtime: it deletes the launcher, which is no fault of the infrastructure.
func TestMaxDurationOfTheRuntime(t *testing.T) {
	node0, node1 := podOf(mpi.NodeJob, 0, ready), podOf(mpi.NodeJob, 1, ready)
	launcher := func(edits ...func(*corev1.Pod)) corev1.Pod {
		return podOf(mpi.LauncherJob, 0, append([]func(*corev1.Pod){ready}, edits...)...)
	}
	stopped := verdict(mpi.Verdict{Reason: diagnose.CommandKilled, Message: "the command was killed by SIGTERM", ExitCode: 143, Stopped: "SIGTERM"})
	slowClock := limited(launcher(deletedAt(t0)), node0, node1)
	slowClock.Now = t0.Add(-time.Minute)
	resumed := limited(launcher(deletedAt(t0)), node0, node1)
	resumed.JobSet.Status.Conditions = []metav1.Condition{{Type: string(jobset.JobSetSuspended), Status: metav1.ConditionFalse, LastTransitionTime: metav1.NewTime(t0.Add(-30 * time.Minute))}}
	resuming := resumed
	resuming.JobSet = resumed.JobSet.DeepCopy()
	resuming.JobSet.Status.Conditions[0].Status = metav1.ConditionTrue
	suspending := limited(launcher(deletedAt(t0)), node0, node1)
	suspending.TrainJob = trainJobOf(suspend)
	unlimited := limited(launcher(deletedAt(t0)), node0, node1)
	replicatedJob(unlimited.JobSet.Spec, mpi.LauncherJob).Template.Spec.ActiveDeadlineSeconds = nil
	later := t0.Add(time.Minute)
	failed := func(o Observed, at time.Time) Observed {
		o = o.jobSetHas(jobset.JobSetFailed, at)
		o.Now = later
		return o
	}
	again := limited(launcher(deletedAt(t0)), node0, node1)
	again.JobSet.Spec.FailurePolicy = &jobset.FailurePolicy{MaxRestarts: 3}
	cases := map[string]struct {
		reason       string
		o            Observed
		end, restart mpi.Reason
	}{
		"Deleted":      {"it is told at once, and nothing else before", limited(launcher(deletedAt(t0)), node0, node1), ReasonDeadlineExceeded, ""},
		"SlowClock":    {"the clock of the API server decides, which both times are of", slowClock, ReasonDeadlineExceeded, ""},
		"Stopped":      {"the agent says that it was stopped", failed(limited(launcher(died(t0.Add(time.Second), 143, "Error", stopped), deletedAt(t0)), node0, node1), t0.Add(2*time.Second)), ReasonDeadlineExceeded, ""},
		"NoAgent":      {"", failed(limited(launcher(died(t0.Add(time.Second), 143, "Error", ""), deletedAt(t0))), t0.Add(2*time.Second)), ReasonDeadlineExceeded, ""},
		"Gone":         {"nobody looked in time", failed(limited(node0, node1), t0.Add(30*time.Second)), ReasonDeadlineExceeded, ""},
		"Earlier":      {"somebody deleted it before", failed(limited(launcher(deletedAt(t0.Add(-time.Minute))), node0, node1), t0.Add(-30*time.Second)), "", diagnose.PodDeleted},
		"GoneEarlier":  {"", failed(limited(node0, node1), t0.Add(-time.Minute)), ReasonJobSetFailed, ""},
		"NodeBefore":   {"the first cause wins", failed(limited(launcher(deletedAt(t0)), podOf(mpi.NodeJob, 0, died(t0.Add(-10*time.Second), 137, "OOMKilled", "")), node1), t0.Add(time.Second)), diagnose.OOMKilled, ""},
		"NodeBeforeIt": {"and is waited for", limited(launcher(deletedAt(t0)), podOf(mpi.NodeJob, 0, died(t0.Add(-10*time.Second), 137, "OOMKilled", "")), node1), "", ""},
		"Own":          {"a launcher that failed in time was not stopped", failed(limited(launcher(died(t0.Add(-time.Second), 7, "Error", verdict(mpi.Verdict{Reason: mpi.ReasonCommandFailed, ExitCode: 7}))), node0, node1), t0.Add(time.Second)), mpi.ReasonCommandFailed, ""},
		"Success":      {"a job that made it has made it", limited(launcher(died(t0, 0, "Completed", verdict(mpi.Verdict{}))), node0, node1), ReasonCompleted, ""},
		"Checkpoint":   {"a program that is told to stop may end well, and is not done", limited(launcher(died(t0.Add(time.Second), 0, "Completed", verdict(mpi.Verdict{})), deletedAt(t0)), node0, node1), ReasonDeadlineExceeded, ""},
		"Resumed":      {"the time counts anew", failed(resumed, t0.Add(time.Second)), "", diagnose.PodDeleted},
		"Resuming":     {"", resuming, "", ""},
		"Suspending":   {"whoever suspends a job wants its pods gone", suspending, "", ""},
		"OthersRules":  {"JobSet starts its Jobs again, and deletes their launchers for that", again, "", ""},
		"Unlimited":    {"", failed(unlimited, t0.Add(time.Second)), "", diagnose.PodDeleted},
		"Running":      {"the Job controller may be late", limited(launcher(), node0, node1), "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			decision, err := Decide(tc.o, nil)
			if err != nil {
				t.Fatal(err)
			}
			end, _ := decision.Finishes()
			var restart mpi.Reason
			if decision.restart != nil {
				restart = decision.restart.reason
			}
			if end != tc.end || restart != tc.restart {
				t.Fatalf("%s: want end %q, restart for %q; got %q, %q", tc.reason, tc.end, tc.restart, end, restart)
			}
			if end != "" && !tc.o.NeedsChildren() {
				t.Error("the key must be found to be deleted")
			}
			if end != ReasonDeadlineExceeded {
				return
			}
			if !strings.Contains(decision.end.message, "maxDuration of its runtime, 1h0m0s") {
				t.Errorf("it is the runtime's: %s", decision.end.message)
			}
		})
	}
}

// Beside Kubeflow Trainer the launcher is seen to go before anybody says why.
func TestMaxDurationBeside(t *testing.T) {
	o := companion(hasCondition(PodsReady, "True", t0.Add(-time.Minute)))
	o.JobSet.Spec = limited().JobSet.Spec
	o.JobSet.CreationTimestamp = metav1.NewTime(t0.Add(-time.Hour))
	o.Pods = []corev1.Pod{podOf(mpi.LauncherJob, 0, ready, deletedAt(t0)), podOf(mpi.NodeJob, 0, ready), podOf(mpi.NodeJob, 1, ready)}
	seen := Beside(o, Accompany(o), nil)
	if c := apimeta.FindStatusCondition(seen, PodsReady); c == nil || c.Reason != string(ReasonDeadlineExceeded) {
		t.Fatalf("nobody deleted it: %+v", c)
	}
	o.TrainJob.Status.Conditions = slices.Concat(seen, []metav1.Condition{{Type: "Failed", Status: "True", Reason: "FailedJobs", Message: "jobset failed"}})
	o.Pods = o.Pods[1:]
	o = o.jobSetHas(jobset.JobSetFailed, t0.Add(2*time.Second))
	o.Now = t0.Add(time.Minute)
	if c := apimeta.FindStatusCondition(Beside(o, Accompany(o), nil), Diagnosed); c == nil || c.Reason != string(ReasonDeadlineExceeded) {
		t.Errorf("and the end is that of the time: %+v", c)
	}
}
