package job_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
	"lockstep.dev/lockstep/test/clients"
)

// beside is a world in which Kubeflow Trainer runs the job, and our controller stands beside it.
type beside struct{ *world }

// to is the same there, but what clients make of a status is Trainer's affair: ours is not to touch it.
func (b beside) to(happens func()) {
	b.t.Helper()
	b.Now = b.Now.Add(10 * time.Second)
	if happens != nil {
		happens()
	}
	b.trainer()
	before := b.TrainJob.Status.DeepCopy()
	const looks = 5
	for range looks {
		b.look()
		if !apiequality.Semantic.DeepEqual(*before, b.TrainJob.Status) {
			b.t.Errorf("the status was %v, and is %v", inShort(before.Conditions), inShort(b.TrainJob.Status.Conditions))
		}
		if err := clients.Misread(b.TrainJob.Status.Conditions, false); err != nil {
			b.t.Error(err)
		}
		b.Now = b.Now.Add(time.Second)
	}
	b.collect()
}

// trainer does as Kubeflow Trainer 2.3 does (pkg/controller/trainjob_controller.go): the JobSet, Suspended, and the end of the JobSet or of the deadline.
func (b beside) trainer() {
	if b.JobSet == nil && !job.IsFinished(b.TrainJob) {
		made, err := job.Resolve(b.TrainJob, *b.Runtime)
		if err != nil {
			b.t.Fatal(err)
		}
		b.make(desired.JobSet(made))
		delete(b.JobSet.Labels, mpi.TrainJobLabel)
	}
	now := &b.TrainJob.Status
	says := func(kind string, is metav1.ConditionStatus, reason string) {
		apimeta.SetStatusCondition(&now.Conditions, metav1.Condition{Type: kind, Status: is, Reason: reason, Message: "said by Trainer", LastTransitionTime: metav1.NewTime(b.Now)})
	}
	switch {
	case b.SuspendWanted():
		says(trainer.TrainJobSuspended, metav1.ConditionTrue, "Suspended")
	case apimeta.IsStatusConditionTrue(now.Conditions, trainer.TrainJobSuspended):
		says(trainer.TrainJobSuspended, metav1.ConditionFalse, "Resumed")
	}
	if b.JobSet != nil {
		b.JobSet.Spec.Suspend = ptr.To(b.SuspendWanted())
		now.JobsStatus = statusAfter(phase.DeriveFacts(b.Observed), decide.Decision{}, nil).JobsStatus
		for ended, kind := range map[jobset.JobSetConditionType]string{jobset.JobSetCompleted: trainer.TrainJobComplete, jobset.JobSetFailed: trainer.TrainJobFailed} {
			if job.TrueCondition(b.JobSet, ended) != nil {
				says(kind, metav1.ConditionTrue, "Test")
			}
		}
	}
	if phase.DeriveFacts(b.Observed).Waits.UntilDeadline() <= 0 && !job.IsFinished(b.TrainJob) {
		says(trainer.TrainJobFailed, metav1.ConditionTrue, string(diagnose.DeadlineExceeded))
		b.JobSet, b.Pods = nil, nil
	}
}

// look is a pass of a companion.
func (b beside) look() {
	o := b.Observed
	o.Beside = true
	o.TrainJob = b.TrainJob.DeepCopy()
	o.Shown, o.TrainJob.Status.Conditions = o.TrainJob.Status.Conditions, status.AllConditions(o.TrainJob)
	o.RememberSince(b.memory)
	b.memory = o.History
	decision := accompanied(o)
	if !decision.Ours {
		return
	}
	b.apply(decision)
	_, record := status.ComputeBeside(phase.DeriveFacts(o), decision, nil)
	b.record(record)
}

// tells says what Trainer's status and our record say together.
func (b beside) tells(kind string, reason mpi.Reason) {
	b.t.Helper()
	if c := apimeta.FindStatusCondition(status.AllConditions(b.TrainJob), kind); c == nil || c.Reason != string(reason) {
		b.t.Errorf("want %s for %s, got %v", kind, reason, inShort(status.AllConditions(b.TrainJob)))
	}
}

// reads says what clients make of the status that Trainer has written.
func (b beside) reads(sdk, dashboard string) {
	b.t.Helper()
	if got := readBy(b.TrainJob, 0, 0); got.sdk != sdk || got.dashboard != dashboard {
		b.t.Errorf("want %s and %s, got %+v", sdk, dashboard, got)
	}
}

// companions are lives of jobs that Kubeflow Trainer runs.
func companions() map[string]func(*testing.T) {
	life := func(live func(beside), edits ...func(*trainer.TrainJob)) func(*testing.T) {
		return func(t *testing.T) { live(beside{newWorld(t, edits...)}) }
	}
	return map[string]func(*testing.T){
		"Completes": life(func(b beside) {
			b.to(nil)
			b.to(b.podsCome)
			b.to(b.gatePasses)
			b.tells(job.Running, job.ReasonGatePassed)
			b.to(b.ends(jobset.JobSetCompleted))
			b.tells(job.Running, job.ReasonFinished)
			b.reads("Complete", "Succeeded")
		}),
		"Fails": life(func(b beside) {
			b.to(nil)
			b.to(b.gatePasses)
			b.to(b.dies(exits(1, "Error", ""), exits(137, "OOMKilled", "")))
			b.tells(job.Diagnosed, diagnose.OOMKilled)
			b.reads("Failed", "Failed")
		}),
		"IsSuspendedAndResumed": life(func(b beside) {
			b.to(nil)
			b.reads("Created", "Paused")
			b.to(b.suspends(false))
			b.to(b.gatePasses)
			b.tells(job.Running, job.ReasonGatePassed)
			b.to(b.suspends(true))
			b.to(b.stops)
			b.tells(job.Running, job.ReasonSuspended)
			b.reads("Created", "Paused")
		}, suspend),
		"MissesItsDeadline": life(func(b beside) {
			b.to(nil)
			b.to(b.gatePasses)
			b.to(func() { b.Now = b.Now.Add(time.Hour) })
			b.tells(job.Diagnosed, diagnose.DeadlineExceeded)
			b.reads("Failed", "Failed")
		}, deadline(600)),
		"NeverFitsTheQuota": life(func(b beside) {
			b.Bounds.Quotas = []corev1.ResourceQuota{quotaOf(resources("pods", "1"), nil)}
			b.to(nil)
			b.tells(job.PodsReady, diagnose.QuotaExceeded)
		}),
		"KeyIsKnown": life(func(b beside) {
			b.Children = []metav1.PartialObjectMetadata{childOf("v1", "Secret", "demo-mpi-ssh-auth", "s1", nil)}
			b.to(nil)
			b.tells(job.Guarded, diagnose.NameTaken)
			b.to(b.gatePasses)
			b.to(b.ends(jobset.JobSetCompleted))
			b.reads("Complete", "Succeeded")
		}),
		"LosesItsMachine": life(func(b beside) {
			b.to(nil)
			b.to(b.gatePasses)
			b.to(b.dies(ready, evicted))
			b.tells(job.Diagnosed, diagnose.Preempted)
			b.reads("Failed", "Failed")
		}),
	}
}

// Beside Kubeflow Trainer the status is its own in every moment of a life, and all that we know is recorded.
func TestClientsReadWholeLivesOfTrainersJobsAsBefore(t *testing.T) {
	for name, live := range companions() {
		t.Run(name, live)
	}
}
