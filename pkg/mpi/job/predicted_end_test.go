package job_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// exited is a pod whose main container has ended, which kubelet does not say of the pod yet.
func exited(code int32, verdict mpi.Verdict) func(*corev1.Pod) {
	message, err := verdict.Encode()
	if err != nil {
		panic(err)
	}
	return func(pod *corev1.Pod) {
		died(t0, code, "", string(message))(pod)
		pod.Status.Phase = corev1.PodRunning
	}
}

// The end of a job is told as soon as its launcher has told it, and a failure only where nothing can explain it better.
func TestForetold(t *testing.T) {
	node0, node1 := podOf(mpi.NodeJob, 0, ready), podOf(mpi.NodeJob, 1, ready)
	after := func(code int32, verdict mpi.Verdict, nodes ...corev1.Pod) observe.Observed {
		if nodes == nil {
			nodes = []corev1.Pod{node0, node1}
		}
		return withPods(started(trainJobOf()), append([]corev1.Pod{podOf(mpi.LauncherJob, 0, exited(code, verdict))}, nodes...)...)
	}
	rank := func(signal string) mpi.Verdict {
		return mpi.Verdict{Reason: diagnose.RankKilled, ExitCode: 137, Rank: &mpi.RankEnd{Rank: ptr.To(3), Signal: signal}}
	}
	failed := mpi.Verdict{Reason: diagnose.RankFailed, ExitCode: 3, Rank: &mpi.RankEnd{Rank: ptr.To(3), Code: 3}}
	lost, stopped := failed, failed
	lost.Lost, stopped.Stopped = "demo-node-0-1.demo", "SIGTERM"
	jobSet := func(o observe.Observed, edit func(*jobset.JobSetSpec)) observe.Observed {
		o.JobSet = o.JobSet.DeepCopy()
		edit(&o.JobSet.Spec)
		return o
	}
	thrownOut := podOf(mpi.NodeJob, 1, ready, func(pod *corev1.Pod) {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonTerminationByKubelet, LastTransitionTime: metav1.NewTime(t0),
		})
	})
	oom := podOf(mpi.NodeJob, 1, func(pod *corev1.Pod) {
		died(t0, 137, "OOMKilled", "")(pod)
		pod.Status.Phase = corev1.PodRunning
	})
	late := func(o observe.Observed) observe.Observed {
		o.TrainJob = trainJobOf(deadline(60))
		return o
	}
	ofQueue := func(o observe.Observed) observe.Observed {
		o.TrainJob = o.TrainJob.DeepCopy()
		o.TrainJob.Labels = map[string]string{kueue.QueueLabel: "jobs"}
		return o
	}
	toSuspend := after(143, failed)
	toSuspend.TrainJob = trainJobOf(suspend)

	cases := map[string]struct {
		reason string
		o      observe.Observed
		want   mpi.Reason
	}{
		"Success":     {"", after(0, mpi.Verdict{}), job.ReasonCompleted},
		"PassedOver":  {"a launch failed, and the command says that it does not matter", after(0, mpi.Verdict{Message: "in its last launch rank 2 exited with code 3"}), job.ReasonCompleted},
		"InTime":      {"nobody looked before the deadline", late(after(0, mpi.Verdict{})), job.ReasonCompleted},
		"FailedFirst": {"", late(after(3, failed)), diagnose.RankFailed},
		"Late":        {"whatever ended it, there is no time left", late(after(3, lost)), diagnose.DeadlineExceeded},
		"Rank":        {"a rank that exits does so by itself", after(3, failed), diagnose.RankFailed},
		"Segfault":    {"", after(139, rank("SIGSEGV")), diagnose.RankKilled},
		"Typo":        {"", after(127, mpi.Verdict{Reason: diagnose.CommandNotFound, ExitCode: 127}), diagnose.CommandNotFound},
		"Memory":      {"the agents saw what the kernel did", after(137, mpi.Verdict{Reason: diagnose.RankKilled, OOMKills: 1, ExitCode: 137}), diagnose.OOMKilled},
		"Queue":       {"Kueue suspends what is not over of a job that is, and its launcher would start again", ofQueue(after(0, mpi.Verdict{})), ""},
		"QueueFailed": {"", ofQueue(after(3, failed)), ""},
		"Killed":      {"who killed it may still be told", after(137, rank("SIGKILL")), ""},
		"Lost":        {"why a node was lost may still be told", after(3, lost), ""},
		"Stopped":     {"somebody ended the launcher", after(3, stopped), ""},
		"Infra":       {"such a job is started again", after(1, mpi.Verdict{Reason: diagnose.WorkerLost, ExitCode: 1}), ""},
		"Evicted":     {"a node was taken away", after(3, failed, node0, thrownOut), ""},
		"NodeOOM":     {"what kubelet says of a node is the cause, and is told with its JobSet", after(3, failed, node0, oom), ""},
		"NoVerdict":   {"", withPods(started(trainJobOf()), podOf(mpi.LauncherJob, 0, died(t0, 1, "Error", "")), node0, node1), ""},
		"ToldTooMuch": {"a container that failed after its agent was content", after(1, mpi.Verdict{}), ""},
		"Suspending":  {"it is stopped, not failed", toSuspend, ""},
		"Restarts":    {"the JobSet may start it again", jobSet(after(3, failed), func(s *jobset.JobSetSpec) { s.FailurePolicy.MaxRestarts = 1 }), ""},
		"Backoff":     {"the Job may start it again", jobSet(after(3, failed), func(s *jobset.JobSetSpec) { job.ReplicatedJob(*s, mpi.LauncherJob).Template.Spec.BackoffLimit = nil }), ""},
		"AllMustEnd":  {"the success of the launcher is not that of the JobSet", jobSet(after(0, mpi.Verdict{}), func(s *jobset.JobSetSpec) { s.SuccessPolicy = nil }), ""},
		"NoAgent": {"nobody there could say it", jobSet(after(0, mpi.Verdict{}), func(s *jobset.JobSetSpec) {
			job.MainContainer(&job.ReplicatedJob(*s, mpi.LauncherJob).Template.Spec.Template.Spec).Command = nil
		}), ""},
		"StillRunning": {"", withPods(started(trainJobOf()), podOf(mpi.LauncherJob, 0, ready), node0, node1), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d, err := decide.Decide(phase.DeriveFacts(tc.o), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := finishes(d); got != tc.want {
				t.Errorf("%s: told `%s`, want `%s`", tc.reason, got, tc.want)
			}
			if ended := phase.DeriveFacts(tc.o).End.JobSetEnds(); ended != (tc.want != "") {
				t.Errorf("%s: ended: %v", tc.reason, ended)
			}
		})
	}
}

// The exit code of a command is the user's word, and what its agent knows beside it is told, before the JobSet knows and after.
func TestASuccessTellsWhatWasPassedOver(t *testing.T) {
	const words = "in its last launch rank 2 on worker 1 exited with code 3"
	for name, verdict := range map[string]struct {
		mpi.Verdict
		want string
	}{
		"PassedOver": {mpi.Verdict{Message: words}, "the launcher succeeded; " + words},
		"Plain":      {mpi.Verdict{}, "the launcher succeeded"},
	} {
		foretold := withPods(started(trainJobOf()), podOf(mpi.LauncherJob, 0, exited(0, verdict.Verdict)))
		for when, o := range map[string]observe.Observed{"Foretold": foretold, "Ended": jobSetHas(foretold, jobset.JobSetCompleted, t0)} {
			d, err := decide.Decide(phase.DeriveFacts(o), nil)
			if err != nil {
				t.Fatal(err)
			}
			if d.End == nil || d.End.Text() != verdict.want {
				t.Errorf("%s, %s: %+v", name, when, d.End)
			}
		}
	}
}

// A job that was told to be over keeps its JobSet, and the logs with it, until that has ended; not forever.
func TestJobSetAfterAForetoldEnd(t *testing.T) {
	over := func(launcher corev1.Pod, since time.Duration) observe.Observed {
		return withPods(started(trainJobOf(hasCondition(trainer.TrainJobComplete, metav1.ConditionTrue, t0.Add(-since)))), launcher)
	}
	ended := podOf(mpi.LauncherJob, 0, exited(0, mpi.Verdict{}))
	cases := map[string]struct {
		reason string
		o      observe.Observed
		want   outline
	}{
		"Soon":    {"it ends by itself", over(ended, time.Second), outline{Ours: true, Over: true, Requeue: jobSetMayEnd - time.Second}},
		"Never":   {"something in it does not end", over(ended, jobSetMayEnd), outline{Ours: true, Over: true, Delete: []string{"JobSet demo jobset-uid"}}},
		"Running": {"it was told to be over for another reason", over(podOf(mpi.LauncherJob, 0, ready), time.Second), outline{Ours: true, Over: true, Delete: []string{"JobSet demo jobset-uid"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := decide.Decide(phase.DeriveFacts(tc.o), nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, outlineOf(tc.o, got)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// The launcher of a job that is over counts as ended, and the counts are written once more when the JobSet has.
func TestCountsOfAForetoldEnd(t *testing.T) {
	counts := func(ready, active, succeeded, failed int32) trainer.JobStatus {
		return trainer.JobStatus{Ready: &ready, Active: &active, Succeeded: &succeeded, Failed: &failed, Suspended: ptr.To[int32](0)}
	}
	for name, tc := range map[string]struct {
		verdict  mpi.Verdict
		code     int32
		launcher trainer.JobStatus
	}{
		"Success": {mpi.Verdict{}, 0, counts(0, 0, 1, 0)},
		"Failure": {mpi.Verdict{Reason: diagnose.RankFailed, ExitCode: 3}, 3, counts(0, 0, 0, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			o := withPods(started(trainJobOf()), podOf(mpi.LauncherJob, 0, exited(tc.code, tc.verdict)))
			o.JobSet.Status.ReplicatedJobsStatus = []jobset.ReplicatedJobStatus{{Name: mpi.LauncherJob, Ready: 1, Active: 1}, {Name: mpi.NodeJob, Ready: 1, Active: 1}}
			node := counts(1, 1, 0, 0)
			tc.launcher.Name, node.Name = mpi.LauncherJob, mpi.NodeJob
			status := statusOf(t, o, nil)
			if diff := cmp.Diff([]trainer.JobStatus{tc.launcher, node}, status.JobsStatus); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
			o.TrainJob.Status = status
			o.JobSet.Status.ReplicatedJobsStatus[0].Ready = 0
			if diff := cmp.Diff(status.JobsStatus, statusOf(t, o, nil).JobsStatus); diff != "" {
				t.Errorf("the JobSet has not ended: -want, +got:\n%s", diff)
			}
		})
	}
}
