package job_test

import (
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
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// restartable is a runtime that allows two restarts.
func restartable(budget string) *job.Runtime {
	runtime := runtimeOf(false)
	runtime.Annotations = map[string]string{mpi.RestartsAnnotation: budget}
	return runtime
}

func restartedOnce(trainJob *trainer.TrainJob) {
	trainJob.Status.Conditions = append(trainJob.Status.Conditions, metav1.Condition{
		Type: job.Restarting, Status: metav1.ConditionTrue, Reason: "MachineLost", Message: "restart 1 of 2: the machine is gone", LastTransitionTime: metav1.NewTime(t0),
	})
}

func evicted(pod *corev1.Pod) {
	died(t0, 137, "Error", "")(pod)
	pod.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler,
		Message: "preempted by a pod of higher priority", LastTransitionTime: metav1.NewTime(t0),
	}}
}

func TestBudget(t *testing.T) {
	for text, want := range map[string]int{"": 0, "3": 3, "-1": 0, "1000": 10, "often": 0} {
		if got := restartable(text).RestartBudget(); got != want {
			t.Errorf("`%s` is a budget of %d, got %d", text, want, got)
		}
	}
}

func TestRestartAfterFaultOfInfrastructure(t *testing.T) {
	lost := jobSetHas(withPods(started(trainJobOf()), podOf(mpi.LauncherJob, 0, ready), podOf(mpi.NodeJob, 0, evicted)), jobset.JobSetFailed, t0)
	lost.Runtime = restartable("2")
	segfault := jobSetHas(withPods(started(trainJobOf()), podOf(mpi.LauncherJob, 0, died(t0, 139, "Error", ""))), jobset.JobSetFailed, t0.Add(-time.Minute))
	segfault.Runtime = restartable("2")
	noBudget := lost
	noBudget.Runtime = runtimeOf(false)
	told := lost
	told.TrainJob = trainJobOf(restartedOnce)
	spent := lost
	spent.TrainJob = trainJobOf(restartedOnce)
	spent.Runtime = restartable("1")
	spent.JobSet = lost.JobSet.DeepCopy()
	spent.JobSet.Annotations = map[string]string{job.AttemptAnnotation: "1"}
	again := spent
	again.Runtime = restartable("2")
	suspending := lost
	suspending.TrainJob = trainJobOf(suspend)
	suspending.JobSet = lost.JobSet.DeepCopy()
	suspending.JobSet.Spec.Suspend = ptr.To(true)

	cases := map[string]struct {
		reason  string
		o       observe.Observed
		deletes bool
		end     mpi.Reason
		message string
	}{
		"Lost":       {"the status tells of the restart first", lost, false, "", "restart 1 of 2: "},
		"Told":       {"then the JobSet goes, and the key stays", told, true, "", "restart 1 of 2: the machine is gone"},
		"Again":      {"", again, false, "", "restart 2 of 2: "},
		"Spent":      {"a budget is a budget", spent, false, "Preempted", ""},
		"NoBudget":   {"without one nothing is restarted", noBudget, false, "Preempted", ""},
		"Own":        {"a job that fails by itself would fail again", segfault, false, "LauncherKilled", ""},
		"Suspending": {"a job that fails because it is being suspended has not failed", suspending, true, "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			decision, err := decide.Decide(phase.DeriveFacts(tc.o), nil)
			if err != nil {
				t.Fatal(err)
			}
			if reason, _ := finishes(decision); reason != tc.end {
				t.Errorf("%s: want end %q, got %q", tc.reason, tc.end, reason)
			}
			var deleted []string
			for _, d := range decision.Delete {
				deleted = append(deleted, d.Kind)
			}
			if want := map[bool][]string{true: {"JobSet"}}[tc.deletes]; !cmp.Equal(want, deleted) {
				t.Errorf("%s: want %v deleted, got %v", tc.reason, want, deleted)
			}
			got := apimeta.FindStatusCondition(statusAfter(phase.DeriveFacts(tc.o), decision, nil).Conditions, job.Restarting)
			if tc.message != "" && (got == nil || got.Status != metav1.ConditionTrue || !strings.HasPrefix(got.Message, tc.message)) {
				t.Errorf("%s: want Restarting with %q, got %+v", tc.reason, tc.message, got)
			}
			if tc.end == "Preempted" && name == "Spent" {
				failed := apimeta.FindStatusCondition(statusAfter(phase.DeriveFacts(tc.o), decision, nil).Conditions, trainer.TrainJobFailed)
				if !strings.Contains(failed.Message, "(restarts: 1, which is all that the runtime allows)") {
					t.Errorf("the end tells of the restarts: %s", failed.Message)
				}
			}
		})
	}
}

// The JobSet is made again with the same key, and whatever pods of the lost machine are still there hold nobody up.
func TestStartAgain(t *testing.T) {
	o := observe.Observed{Now: t0, TrainJob: trainJobOf(restartedOnce), Runtime: restartable("2")}
	o.Children = []metav1.PartialObjectMetadata{
		childOf("v1", "Secret", "demo-mpi-ssh-auth", "s1", owned("demo", "uid-new")),
		childOf("v1", "ConfigMap", "demo-mpi-hostfile", "c1", owned("demo", "uid-new")),
		childOf("networking.k8s.io/v1", "NetworkPolicy", "demo-mpi", "n1", owned("demo", "uid-new")),
	}
	stuck := podOf(mpi.NodeJob, 1, deleted)
	stuck.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Name: "demo-node-0", Controller: ptr.To(true)}}
	o.Pods = []corev1.Pod{stuck}
	decision, err := decide.Decide(phase.DeriveFacts(o), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(decision.Create) != 1 || job.AttemptOf(decision.Create[0]) != 1 {
		t.Fatalf("only the JobSet of the first restart is missing: %+v", outlineOf(o, decision))
	}
	now := statusAfter(phase.DeriveFacts(o), decision, nil)
	if c := apimeta.FindStatusCondition(now.Conditions, job.Restarting); c == nil || c.Status != metav1.ConditionTrue {
		t.Error("the restart is under way until the JobSet has been seen")
	}
	o.TrainJob.Status, o.JobSet = now, decision.Create[0].(*jobset.JobSet)
	if decision, err = decide.Decide(phase.DeriveFacts(o), nil); err != nil {
		t.Fatal(err)
	}
	c := apimeta.FindStatusCondition(statusAfter(phase.DeriveFacts(o), decision, nil).Conditions, job.Restarting)
	if c == nil || c.Status != metav1.ConditionFalse || c.Message != "restart 1 of 2: the machine is gone" {
		t.Errorf("and done then, with its number kept: %+v", c)
	}
}

func TestWhatIsInTheWayOfARestart(t *testing.T) {
	o := observe.Observed{Now: t0, TrainJob: trainJobOf(restartedOnce), Runtime: restartable("2")}
	o.Jobs = []metav1.PartialObjectMetadata{childOf("batch/v1", "Job", "demo-launcher-0", "j1", []metav1.OwnerReference{
		{Kind: "JobSet", Name: "demo", UID: "js1", Controller: ptr.To(true)},
	})}
	if waiting := phase.DeriveFacts(o).State().Waiting; waiting == nil || !strings.Contains(waiting.Text(), "the earlier attempt of the job `demo`") {
		t.Errorf("a restart waits for its own Jobs, and not for another job: %+v", waiting)
	}
}

// The last lines of a program stay the last ones.
func TestSpentStandsBeforeTheLastLines(t *testing.T) {
	const want = "Worker 1 was lost (restarts: 2, which is all that the runtime allows)\nLast lines:\nstep 7"
	lost := diagnose.Cause{Reason: "WorkerLost", Message: "Worker 1 was lost.", Lines: []string{"step 7"}}
	if got := (phase.JobEnd{Cause: lost, Restarts: 2}).Text(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
