package job_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
)

// A record that is lost, or was written by a user, counts restarts again: by the JobSet and the runtime, in no words.
func TestRestartsComeBackIntoARecord(t *testing.T) {
	const told = "restart 2 of 7: pod x is lost"
	trainJob := trainJobOf()
	o := started(trainJob)
	o.JobSet.Annotations = map[string]string{job.AttemptAnnotation: "2"}
	o.Runtime.Annotations = map[string]string{mpi.RestartsAnnotation: "3"}
	restarting := []metav1.Condition{is(job.Restarting, metav1.ConditionFalse, job.ReasonRestarted, told)}
	for name, c := range map[string]struct {
		record  *jobv1.Restarts
		message string
		want    jobv1.Restarts
	}{
		"Lost":   {nil, "restart 2 of 2", jobv1.Restarts{Number: 2, Of: 3}},
		"Forged": {&jobv1.Restarts{Number: 9, Of: 9}, "restart 2 of 2", jobv1.Restarts{Number: 2, Of: 3}},
		"Right":  {&jobv1.Restarts{Number: 2, Of: 3}, told, jobv1.Restarts{Number: 2, Of: 3}},
	} {
		before := jobv1.Record{UID: trainJob.UID, Restarts: c.record, Conditions: restarting}
		trainJob.Annotations = map[string]string{jobv1.Annotation: status.EncodeRecord(trainJob, before)}
		trainJob.Status = trainer.TrainJobStatus{JobsStatus: []trainer.JobStatus{{Name: mpi.LauncherJob}}}
		trainJob.Status.Conditions = status.RestoredConditions(trainJob, o.JobSet, t0)
		if got := job.MessageOf(trainJob.Status.Conditions, job.Restarting); got != c.message {
			t.Errorf("%s: the condition has %q, want %q", name, got, c.message)
		}
		_, record := status.Compute(phase.DeriveFacts(o), decide.Decision{}, nil)
		if diff := cmp.Diff(&c.want, record.Restarts); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", name, diff)
		}
	}
}
