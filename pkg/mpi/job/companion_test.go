package job_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

func TestForeignController(t *testing.T) {
	o := started(trainJobOf())
	o.JobSet = o.JobSet.DeepCopy()
	delete(o.JobSet.Labels, mpi.TrainJobLabel)
	decision, err := decide.Decide(phase.DeriveFacts(o), nil)
	if err != nil || !decision.Foreign || decision.Ours {
		t.Errorf("a JobSet that another controller made for the TrainJob is left alone: %+v, %v", decision, err)
	}
}

// companion is what is observed of a TrainJob that Kubeflow Trainer runs. One with conditions has had its policy.
func companion(conditions ...func(*trainer.TrainJob)) observe.Observed {
	o := started(trainJobOf(conditions...))
	o.JobSet = o.JobSet.DeepCopy()
	delete(o.JobSet.Labels, mpi.TrainJobLabel)
	o.Beside = true
	if len(conditions) > 0 {
		o = sawFact(o, observe.FactPolicy, o.TrainJob.UID, t0)
	}
	return o
}

func TestAccompany(t *testing.T) {
	key := childOf("v1", "Secret", "demo-mpi-ssh-auth", "s1", owned("demo", "uid-new"))
	all := []corev1.Pod{podOf(mpi.LauncherJob, 0, address("10.0.0.1"), ready), podOf(mpi.NodeJob, 0, address("10.0.0.2"), ready), podOf(mpi.NodeJob, 1, address("10.0.0.3"), ready)}
	guarded := hasCondition(job.PodsReady, "False", t0)
	failed := func(reason string) func(*trainer.TrainJob) {
		return func(trainJob *trainer.TrainJob) {
			trainJob.Status.Conditions = append(trainJob.Status.Conditions, metav1.Condition{Type: trainer.TrainJobFailed, Status: "True", Reason: reason, Message: "jobset failed"})
		}
	}
	notYet := companion()
	notYet.JobSet = nil
	oom := jobSetHas(withPods(companion(guarded, failed("FailedJobs")), podOf(mpi.LauncherJob, 0, died(t0, 1, "Error", "")), podOf(mpi.NodeJob, 0, died(t0, 137, "OOMKilled", ""))), "Failed", t0.Add(-time.Minute))
	oom.Children = []metav1.PartialObjectMetadata{key}
	complete := companion(guarded, hasCondition(trainer.TrainJobComplete, "True", t0))
	complete.Children = []metav1.PartialObjectMetadata{key}
	yesterday := companion(guarded, hasCondition(trainer.TrainJobComplete, "True", t0.Add(-24*time.Hour)))
	deadline := companion(guarded, failed("DeadlineExceeded"))
	deadline.JobSet = nil
	for i := range deadline.TrainJob.Status.Conditions {
		deadline.TrainJob.Status.Conditions[i].LastTransitionTime = metav1.NewTime(t0)
	}
	deadline.Children = []metav1.PartialObjectMetadata{key}
	other := companion()
	other.Runtime = &job.Runtime{Spec: runtimeOf(false).Spec}
	toldOf := func(end time.Time) observe.Observed {
		told := complete
		told.TrainJob = trainJobOf(hasCondition(trainer.TrainJobComplete, "True", end), func(trainJob *trainer.TrainJob) {
			trainJob.Status.Conditions = append(trainJob.Status.Conditions, metav1.Condition{Type: job.Running, Status: "False", Reason: string(job.ReasonFinished)})
		})
		return told
	}
	never := companion(guarded)
	never.Bounds = observe.NamespaceBounds{Quotas: []corev1.ResourceQuota{quotaOf(resources("pods", "1"), nil)}}
	overdue := never
	overdue.Runtime = restartable("1")
	overdue.Runtime.Annotations[mpi.GangTimeoutAnnotation] = "10s"
	policy := func(uid types.UID, owners []metav1.OwnerReference) metav1.PartialObjectMetadata {
		return childOf("networking.k8s.io/v1", "NetworkPolicy", "demo-mpi", uid, owners)
	}
	squat := childOf("v1", "Secret", "demo-mpi-ssh-auth", "s2", nil)
	with := func(o observe.Observed, children ...metav1.PartialObjectMetadata) observe.Observed {
		o.Children = children
		return o
	}
	long := companion(guarded)
	long.TrainJob.Spec.Trainer = &trainer.Trainer{Command: []string{strings.Repeat("x", 200_000)}}
	cases := map[string]struct {
		reason string
		o      observe.Observed
		want   outline
		says   []string
	}{
		"Long": {"what Trainer does not refuse has its own reason", long, outline{Ours: true, Waiting: "ArgumentTooLong"},
			[]string{"PodsReady=False/ArgumentTooLong", "Running=False/WaitingForPods"}},
		"New":      {"the policy is there as early as can be", notYet, outline{Ours: true, Create: []string{"NetworkPolicy demo-mpi"}}, []string{"PodsReady=False/PodsPending", "Running=False/WaitingForPods"}},
		"Again":    {"the policy of an earlier job of the name are about to go", with(withPods(companion(), all...), policy("n1", owned("demo", "uid-old"))), outline{Ours: true, Requeue: leftoversLook}, []string{}},
		"HalfMade": {"what is there is used", with(notYet, policy("n1", owned("demo", "uid-new"))), outline{Ours: true}, []string{"PodsReady=False/PodsPending", "Running=False/WaitingForPods"}},
		"Others":   {"one that somebody else put there stays, which is said", with(notYet, policy("n1", nil)), outline{Ours: true}, []string{"Guarded=False/NameTaken", "PodsReady=False/PodsPending", "Running=False/WaitingForPods"}},
		"Squatted": {"Trainer uses a key that others know, which is said", with(notYet, squat), outline{Ours: true, Create: []string{"NetworkPolicy demo-mpi"}}, []string{"Guarded=False/NameTaken", "PodsReady=False/PodsPending", "Running=False/WaitingForPods"}},
		"Late":     {"and at the end, if it came after the first look", with(complete, squat), outline{Ours: true, End: job.ReasonCompleted, Requeue: phase.KeyRecheck}, []string{"Guarded=False/NameTaken", "PodsReady=False/Finished", "Running=False/Finished"}},
		"Runs":     {"and the launcher gets its table", withPods(companion(guarded), all...), outline{Ours: true, Rendezvous: true}, []string{"PodsReady=True/PodsReady", "Running=False/WaitingForNodes"}},
		"Failed":   {"the cause is found; the key stays, because Trainer would make a new one", oom, outline{Ours: true, End: "OOMKilled"}, []string{"PodsReady=False/Finished", "Running=False/Finished", "Diagnosed=True/OOMKilled"}},
		"Complete": {"the key goes", complete, outline{Ours: true, End: job.ReasonCompleted, Delete: []string{"Secret demo-mpi-ssh-auth s1"}, Requeue: phase.KeyRecheck}, []string{"PodsReady=False/Finished", "Running=False/Finished"}},
		"NoRecord": {"without room for a record nothing is looked at again and again", yesterday, outline{Ours: true, End: job.ReasonCompleted}, []string{"PodsReady=False/Finished", "Running=False/Finished"}},
		"Deadline": {"Trainer has deleted the JobSet", deadline, outline{Ours: true, End: "DeadlineExceeded", Delete: []string{"Secret demo-mpi-ssh-auth s1"}, Requeue: phase.KeyRecheck}, []string{"PodsReady=False/Finished", "Running=False/Finished", "Diagnosed=True/DeadlineExceeded"}},
		"Raced":    {"and once more, where a pass of Trainer that had not seen the end makes it again", toldOf(t0.Add(-5 * time.Second)), outline{Ours: true, Over: true, Delete: []string{"Secret demo-mpi-ssh-auth s1"}, Requeue: phase.KeyRecheck}, []string{}},
		"RacedOn":  {"as late as such a pass may be", toldOf(t0.Add(-11 * time.Second)), outline{Ours: true, Over: true, Delete: []string{"Secret demo-mpi-ssh-auth s1"}, Requeue: phase.KeyRecheck}, []string{}},
		"Told":     {"and then nothing more is done", toldOf(t0.Add(-15 * time.Second)), outline{}, nil},
		"Other":    {"runtimes that are not ours are Trainer's alone", other, outline{}, nil},
		"Overdue":  {"a companion ends no gang, and looks on", overdue, outline{Ours: true, Waiting: "QuotaExceeded", Requeue: podsAskedAgain}, []string{"PodsReady=False/QuotaExceeded", "Running=False/WaitingForPods"}},
		"Never":    {"Trainer starts what can never run; we say so", never, outline{Ours: true, Waiting: "QuotaExceeded", Requeue: podsAskedAgain}, []string{"PodsReady=False/QuotaExceeded", "Running=False/WaitingForPods"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			decision := accompanied(tc.o)
			if diff := cmp.Diff(tc.want, outlineOf(tc.o, decision)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
			if !decision.Ours {
				return
			}
			ours := conditionsBeside(phase.DeriveFacts(tc.o), decision)
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

// accompanied is what a companion decides.
func accompanied(o observe.Observed) decide.Decision {
	o.Beside = true
	decision, err := decide.Decide(phase.DeriveFacts(o), nil)
	if err != nil {
		panic(err)
	}
	return decision
}

func TestUnguardedSaysWhatItMeans(t *testing.T) {
	o := companion()
	o.Children = []metav1.PartialObjectMetadata{
		childOf("v1", "Secret", "demo-mpi-ssh-auth", "s1", nil), childOf("networking.k8s.io/v1", "NetworkPolicy", "demo-mpi", "n1", owned("other", "uid-other")),
		childOf("scheduling.x-k8s.io/v1alpha1", "PodGroup", "demo", "g1", nil), // Trainer takes it over
	}
	said := job.MessageOf(conditionsBeside(phase.DeriveFacts(o), accompanied(o)), job.Guarded)
	for _, want := range []string{"Secret `demo-mpi-ssh-auth` does not belong to this TrainJob", "has the key of the job", "NetworkPolicy `demo-mpi` does not belong", "delete it, and create the TrainJob again"} {
		if !strings.Contains(said, want) {
			t.Errorf("want %q in %q", want, said)
		}
	}
	if strings.Contains(said, "PodGroup") {
		t.Errorf("a PodGroup keeps nobody out: %q", said)
	}
}

func TestPolicyBefore(t *testing.T) {
	policy := decide.PolicyBeforePods(trainJobOf(), *runtimeOf(false), "lockstep-system")
	if policy == nil || policy.GetName() != "demo-mpi" || !metav1.IsControlledBy(policy, trainJobOf()) {
		t.Fatalf("a job has its policy before its first pod: %+v", policy)
	}
	for reason, none := range map[string]job.Object{
		"a job that is over needs none": decide.PolicyBeforePods(trainJobOf(hasCondition(trainer.TrainJobFailed, "True", t0)), *runtimeOf(false), ""),
		"other runtimes are Trainer's":  decide.PolicyBeforePods(trainJobOf(), job.Runtime{Spec: runtimeOf(false).Spec}, ""),
		"there is no such job":          decide.PolicyBeforePods(trainJobOf(asks(trainer.Trainer{NumNodes: ptr.To[int32](0)})), *runtimeOf(false), ""),
	} {
		if none != nil {
			t.Errorf("%s: %+v", reason, none)
		}
	}
}
