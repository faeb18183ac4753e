package job

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"lockstep.dev/lockstep/pkg/mpi"
)

func TestForeignController(t *testing.T) {
	o := started(trainJobOf())
	o.JobSet = o.JobSet.DeepCopy()
	delete(o.JobSet.Labels, mpi.TrainJobLabel)
	decision, err := Decide(o, nil)
	if err != nil || !decision.Foreign || decision.Ours {
		t.Errorf("a JobSet that another controller made for the TrainJob is left alone: %+v, %v", decision, err)
	}
}

// companion is what is observed of a TrainJob that Kubeflow Trainer runs.

func companion(conditions ...func(*trainer.TrainJob)) Observed {
	o := started(trainJobOf(conditions...))
	o.JobSet = o.JobSet.DeepCopy()
	delete(o.JobSet.Labels, mpi.TrainJobLabel)
	return o
}

func TestAccompany(t *testing.T) {
	key := childOf("v1", "Secret", "demo-mpi-ssh-auth", "s1", owned("demo", "uid-new"))
	all := []corev1.Pod{podOf(mpi.LauncherJob, 0, address("10.0.0.1"), ready), podOf(mpi.NodeJob, 0, address("10.0.0.2"), ready), podOf(mpi.NodeJob, 1, address("10.0.0.3"), ready)}
	guarded := hasCondition(PodsReady, "False", t0)
	failed := func(reason string) func(*trainer.TrainJob) {
		return func(trainJob *trainer.TrainJob) {
			trainJob.Status.Conditions = append(trainJob.Status.Conditions, metav1.Condition{Type: trainer.TrainJobFailed, Status: "True", Reason: reason, Message: "jobset failed"})
		}
	}
	notYet := companion()
	notYet.JobSet = nil
	oom := companion(guarded, failed("FailedJobs")).with(podOf(mpi.LauncherJob, 0, died(t0, 1, "Error", "")), podOf(mpi.NodeJob, 0, died(t0, 137, "OOMKilled", ""))).jobSetHas("Failed", t0.Add(-time.Minute))
	oom.Children = []metav1.PartialObjectMetadata{key}
	complete := companion(guarded, hasCondition(trainer.TrainJobComplete, "True", t0))
	complete.Children = []metav1.PartialObjectMetadata{key}
	deadline := companion(guarded, failed("DeadlineExceeded"))
	deadline.JobSet = nil
	deadline.Children = []metav1.PartialObjectMetadata{key}
	other := companion()
	other.Runtime = &Runtime{Spec: runtimeOf(false).Spec}
	told := complete
	told.TrainJob = trainJobOf(hasCondition(trainer.TrainJobComplete, "True", t0), func(trainJob *trainer.TrainJob) {
		trainJob.Status.Conditions = append(trainJob.Status.Conditions, metav1.Condition{Type: Running, Status: "False", Reason: string(ReasonFinished)})
	})
	never := companion(guarded)
	never.Bounds = Bounds{Quotas: []corev1.ResourceQuota{quotaOf(resources("pods", "1"), nil)}}
	overdue := never
	overdue.Runtime = restartable("1")
	overdue.Runtime.Annotations[mpi.GangTimeoutAnnotation] = "10s"
	policy := func(uid types.UID, owners []metav1.OwnerReference) metav1.PartialObjectMetadata {
		return childOf("networking.k8s.io/v1", "NetworkPolicy", "demo-mpi", uid, owners)
	}
	with := func(o Observed, children ...metav1.PartialObjectMetadata) Observed {
		o.Children = children
		return o
	}
	cases := map[string]struct {
		reason string
		o      Observed
		want   outline
		says   []string
	}{
		"New":      {"the policy is there as early as can be", notYet, outline{Ours: true, Create: []string{"NetworkPolicy demo-mpi"}}, []string{"PodsReady=False/PodsPending", "Running=False/WaitingForPods"}},
		"Again":    {"the policy of an earlier job of the name are about to go", with(companion().with(all...), policy("n1", owned("demo", "uid-old"))), outline{Ours: true, Requeue: leftoversGone}, []string{}},
		"HalfMade": {"what is there is used", with(notYet, policy("n1", owned("demo", "uid-new"))), outline{Ours: true}, []string{"PodsReady=False/PodsPending", "Running=False/WaitingForPods"}},
		"Others":   {"one that somebody else put there stays", with(notYet, policy("n1", nil)), outline{Ours: true}, []string{"PodsReady=False/PodsPending", "Running=False/WaitingForPods"}},
		"Runs":     {"and the launcher gets its table", companion(guarded).with(all...), outline{Ours: true, Rendezvous: true}, []string{"PodsReady=True/PodsReady", "Running=False/WaitingForNodes"}},
		"Failed":   {"the cause is found; the key stays, because Trainer would make a new one", oom, outline{Ours: true, End: "OOMKilled"}, []string{"PodsReady=False/Finished", "Running=False/Finished", "Diagnosed=True/OOMKilled"}},
		"Complete": {"the key goes", complete, outline{Ours: true, End: ReasonCompleted, Delete: []string{"Secret demo-mpi-ssh-auth s1"}}, []string{"PodsReady=False/Finished", "Running=False/Finished"}},
		"Deadline": {"Trainer has deleted the JobSet", deadline, outline{Ours: true, End: "DeadlineExceeded", Delete: []string{"Secret demo-mpi-ssh-auth s1"}}, []string{"PodsReady=False/Finished", "Running=False/Finished", "Diagnosed=True/DeadlineExceeded"}},
		"Told":     {"and then nothing more is done", told, outline{}, nil},
		"Other":    {"runtimes that are not ours are Trainer's alone", other, outline{}, nil},
		"Overdue":  {"a companion ends no gang, and looks on", overdue, outline{Ours: true, Waiting: "QuotaExceeded", Requeue: podsMissing}, []string{"PodsReady=False/QuotaExceeded", "Running=False/WaitingForPods"}},
		"Never":    {"Trainer starts what can never run; we say so", never, outline{Ours: true, Waiting: "QuotaExceeded", Requeue: podsMissing}, []string{"PodsReady=False/QuotaExceeded", "Running=False/WaitingForPods"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			decision := Accompany(tc.o)
			if diff := cmp.Diff(tc.want, outlineOf(decision)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if !decision.Ours {
				return
			}
			ours := Beside(tc.o, decision, nil)
			if diff := cmp.Diff(tc.says, inShort(ours)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			for _, upstreams := range []string{trainer.TrainJobSuspended, trainer.TrainJobComplete, trainer.TrainJobFailed} {
				if apimeta.FindStatusCondition(ours, upstreams) != nil {
					t.Errorf("%s is Trainer's", upstreams)
				}
			}
			if decision.Update != nil {
				t.Error("the JobSet is Trainer's")
			}
		})
	}
}
