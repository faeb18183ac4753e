package job_test

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
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// deletedAt is a pod whose deletion was asked for at a time, with 30 s of grace.
func deletedAt(at time.Time) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = ptr.To(metav1.NewTime(at.Add(30*time.Second))), ptr.To[int64](30)
	}
}

// limited is a job whose runtime allows one hour, and whose JobSet was made an hour before t0.
func limited(pods ...corev1.Pod) observe.Observed {
	o := withPods(started(trainJobOf()), pods...)
	o.Runtime = restartable("2")
	o.JobSet = o.JobSet.DeepCopy()
	o.JobSet.CreationTimestamp = metav1.NewTime(t0.Add(-time.Hour))
	job.ReplicatedJob(o.JobSet.Spec, mpi.LauncherJob).Template.Spec.ActiveDeadlineSeconds = ptr.To[int64](3600)
	return o
}

// The Job controller enforces the maxDuration of a runtime: it deletes the launcher, which is not a fault of the infrastructure.
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
	job.ReplicatedJob(unlimited.JobSet.Spec, mpi.LauncherJob).Template.Spec.ActiveDeadlineSeconds = nil
	later := t0.Add(time.Minute)
	failed := func(o observe.Observed, at time.Time) observe.Observed {
		o = jobSetHas(o, jobset.JobSetFailed, at)
		o.Now = later
		return o
	}
	again := limited(launcher(deletedAt(t0)), node0, node1)
	again.JobSet.Spec.FailurePolicy = &jobset.FailurePolicy{MaxRestarts: 3}
	cases := map[string]struct {
		reason       string
		o            observe.Observed
		end, restart mpi.Reason
	}{
		"Deleted":      {"it is told at once, and nothing else before", limited(launcher(deletedAt(t0)), node0, node1), diagnose.DeadlineExceeded, ""},
		"SlowClock":    {"the clock of the API server decides, which both times are of", slowClock, diagnose.DeadlineExceeded, ""},
		"Stopped":      {"the agent says that it was stopped", failed(limited(launcher(died(t0.Add(time.Second), 143, "Error", stopped), deletedAt(t0)), node0, node1), t0.Add(2*time.Second)), diagnose.DeadlineExceeded, ""},
		"NoAgent":      {"", failed(limited(launcher(died(t0.Add(time.Second), 143, "Error", ""), deletedAt(t0))), t0.Add(2*time.Second)), diagnose.DeadlineExceeded, ""},
		"Gone":         {"nobody looked in time", failed(limited(node0, node1), t0.Add(30*time.Second)), diagnose.DeadlineExceeded, ""},
		"Earlier":      {"somebody deleted it before", failed(limited(launcher(deletedAt(t0.Add(-time.Minute))), node0, node1), t0.Add(-30*time.Second)), "", diagnose.PodDeleted},
		"GoneEarlier":  {"", failed(limited(node0, node1), t0.Add(-time.Minute)), diagnose.JobSetFailed, ""},
		"NodeBefore":   {"the first cause wins", failed(limited(launcher(deletedAt(t0)), podOf(mpi.NodeJob, 0, died(t0.Add(-10*time.Second), 137, "OOMKilled", "")), node1), t0.Add(time.Second)), diagnose.OOMKilled, ""},
		"NodeBeforeIt": {"and is waited for", limited(launcher(deletedAt(t0)), podOf(mpi.NodeJob, 0, died(t0.Add(-10*time.Second), 137, "OOMKilled", "")), node1), "", ""},
		"Own":          {"a launcher that failed in time was not stopped", failed(limited(launcher(died(t0.Add(-time.Second), 7, "Error", verdict(mpi.Verdict{Reason: mpi.ReasonCommandFailed, ExitCode: 7}))), node0, node1), t0.Add(time.Second)), mpi.ReasonCommandFailed, ""},
		"Success":      {"a job that made it has made it", limited(launcher(died(t0, 0, "Completed", verdict(mpi.Verdict{}))), node0, node1), job.ReasonCompleted, ""},
		"Checkpoint":   {"a program that is told to stop may end well, and is not done", limited(launcher(died(t0.Add(time.Second), 0, "Completed", verdict(mpi.Verdict{})), deletedAt(t0)), node0, node1), diagnose.DeadlineExceeded, ""},
		"Resumed":      {"the time counts anew", failed(resumed, t0.Add(time.Second)), "", diagnose.PodDeleted},
		"Resuming":     {"", resuming, "", ""},
		"Suspending":   {"whoever suspends a job wants its pods gone", suspending, "", ""},
		"OthersRules":  {"JobSet starts its Jobs again, and deletes their launchers for that", again, "", ""},
		"Unlimited":    {"", failed(unlimited, t0.Add(time.Second)), "", diagnose.PodDeleted},
		"Running":      {"the Job controller may be late", limited(launcher(), node0, node1), "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			decision, err := decide.Decide(phase.DeriveFacts(tc.o), nil)
			if err != nil {
				t.Fatal(err)
			}
			end, _ := finishes(decision)
			var restart mpi.Reason
			if again := phase.DeriveFacts(tc.o).State().Restart; again != nil {
				restart = again.Failure.Reason
			}
			if end != tc.end || restart != tc.restart {
				t.Fatalf("%s: want end %q, restart for %q; got %q, %q", tc.reason, tc.end, tc.restart, end, restart)
			}
			if end != "" && !phase.DeriveFacts(tc.o).NeedsChildren() {
				t.Error("the key must be found to be deleted")
			}
			if end != diagnose.DeadlineExceeded {
				return
			}
			if !strings.Contains(decision.End.Text(), "maxDuration of its runtime, 1h0m0s") {
				t.Errorf("it is the runtime's: %s", decision.End.Text())
			}
		})
	}
}

// Beside Kubeflow Trainer the launcher is seen to go before anybody says why.
func TestMaxDurationBeside(t *testing.T) {
	o := companion(hasCondition(job.PodsReady, "True", t0.Add(-time.Minute)))
	o.JobSet.Spec = limited().JobSet.Spec
	o.JobSet.CreationTimestamp = metav1.NewTime(t0.Add(-time.Hour))
	o.Pods = []corev1.Pod{podOf(mpi.LauncherJob, 0, ready, deletedAt(t0)), podOf(mpi.NodeJob, 0, ready), podOf(mpi.NodeJob, 1, ready)}
	seen := conditionsBeside(phase.DeriveFacts(o), accompanied(o))
	if c := apimeta.FindStatusCondition(seen, job.PodsReady); c == nil || c.Reason != string(diagnose.DeadlineExceeded) {
		t.Fatalf("nobody deleted it: %+v", c)
	}
	o.TrainJob.Status.Conditions = slices.Concat(seen, []metav1.Condition{{Type: "Failed", Status: "True", Reason: "FailedJobs", Message: "jobset failed"}})
	o.Pods = o.Pods[1:]
	o = jobSetHas(o, jobset.JobSetFailed, t0.Add(2*time.Second))
	o.Now = t0.Add(time.Minute)
	if c := apimeta.FindStatusCondition(conditionsBeside(phase.DeriveFacts(o), accompanied(o)), job.Diagnosed); c == nil || c.Reason != string(diagnose.DeadlineExceeded) {
		t.Errorf("and the end is that of the time: %+v", c)
	}
}
