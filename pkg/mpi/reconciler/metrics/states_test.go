package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/kinds"
)

// jobIn is a job of ours that was made and that its conditions tell of.
func jobIn(name string, conditions ...metav1.Condition) *trainer.TrainJob {
	return published(name, append([]metav1.Condition{{Type: job.Created, Status: metav1.ConditionTrue}}, conditions...))
}

// published is a job of ours with all of its conditions.
func published(name string, conditions []metav1.Condition) *trainer.TrainJob {
	trainJob := metered("team", "openmpi5-cpu", "jobs")
	trainJob.Name = name
	trainJob.UID, trainJob.Labels[mpi.TrainJobLabel] = types.UID(name), name
	for i := range conditions {
		if conditions[i].LastTransitionTime.IsZero() {
			conditions[i].LastTransitionTime = metav1.NewTime(time.Unix(100, 0))
		}
	}
	trainJob.Status.Conditions = status.PublishedConditions(conditions)
	record := jobv1.Record{
		Version: jobv1.Version, UID: trainJob.UID, Executor: jobv1.Controller, Phase: phaseOf(trainJob, conditions),
		Since: conditions[len(conditions)-1].LastTransitionTime, Conditions: status.RecordedConditions(conditions),
	}
	if c, isFault := status.Explanation(record.Phase, conditions); isFault {
		record.Since = c.LastTransitionTime
		record.Cause = status.RecordedCause(diagnose.Cause{Reason: mpi.Reason(c.Reason), Message: c.Message})
	}
	if number, of := observe.ParsePublishedRestarts(conditions); number > 0 {
		record.Restarts = &jobv1.Restarts{Number: number, Of: of}
	}
	trainJob.Annotations = map[string]string{jobv1.Annotation: status.EncodeRecord(trainJob, record)}
	return trainJob
}

// edited changes the record of a job.
func edited(trainJob *trainer.TrainJob, edit func(*jobv1.Record)) {
	record, _ := jobv1.Read(trainJob.Annotations, trainJob.UID)
	edit(&record)
	trainJob.Annotations = map[string]string{jobv1.Annotation: status.EncodeRecord(trainJob, record)}
}

// phaseOf is the phase of a job with these conditions that has no pods.
func phaseOf(trainJob *trainer.TrainJob, conditions []metav1.Condition) jobv1.Phase {
	for _, kind := range []string{
		trainer.TrainJobComplete, trainer.TrainJobFailed, trainer.TrainJobSuspended, job.Restarting, job.Running,
	} {
		switch c := apimeta.FindStatusCondition(conditions, kind); {
		case c == nil || c.Status != metav1.ConditionTrue:
		case kind == trainer.TrainJobSuspended && (c.Reason == "Preempted" || c.Reason == "Evicted"):
			return jobv1.Preempted
		case kind == trainer.TrainJobSuspended && trainJob.Labels[kueue.QueueLabel] != "":
			return jobv1.Queued
		default:
			return jobv1.Phase(kind)
		}
	}
	if apimeta.IsStatusConditionTrue(conditions, job.Created) {
		return jobv1.Scheduling
	}
	return jobv1.Creating
}

func condition(kind string, isTrue bool, reason, message string) metav1.Condition {
	c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message}
	if isTrue {
		c.Status = metav1.ConditionTrue
	}
	return c
}

// An alert needs to know which job, whose, since when and why; a job that does well costs few series, one that is over and well none.
func TestStatesOfJobs(t *testing.T) {
	pulls := jobIn("pulls", condition(job.PodsReady, false, "ImagePullFailed", "node 0 cannot pull its image"))
	edited(pulls, func(r *jobv1.Record) { r.Phase = jobv1.Pulling })
	again := jobIn("again", condition(job.Restarting, false, "Restarted", "restart 2 of 3: the machine is gone"), condition(job.PodsReady, true, "PodsReady", ""),
		condition(job.Running, true, string(job.ReasonGatePassed), ""))
	again.Status.TrainerStatus = &trainer.TrainerStatus{ProgressPercentage: ptr.To[int32](40)}
	waits := jobIn("waits", condition(trainer.TrainJobSuspended, true, "Suspended", "suspended by Kueue; waits in queue `jobs` at position 2 of 5: no room"))
	edited(waits, func(r *jobv1.Record) { r.Queue = &jobv1.Queue{Name: "jobs", Position: 2, Length: 5, Text: "waits"} })
	waits.Spec.Suspend = ptr.To(true)
	stranger := metered("team", "torch-distributed", "")
	stranger.Name = "stranger"
	scheme, err := kinds.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	cache := fake.NewClientBuilder().WithScheme(scheme).WithObjects(pulls, again, waits, stranger,
		jobIn("failed", condition(trainer.TrainJobFailed, true, "OOMKilled", "rank 3 was killed")),
		jobIn("well", condition(trainer.TrainJobComplete, true, "Completed", "")),
	).Build()
	want := `
# HELP mpi_trainjob_phase_start_time_seconds When a TrainJob came into its phase, in seconds since 1970; of one that failed, its end.
# TYPE mpi_trainjob_phase_start_time_seconds gauge
mpi_trainjob_phase_start_time_seconds{namespace="team",trainjob="again"} 100
mpi_trainjob_phase_start_time_seconds{namespace="team",trainjob="failed"} 100
mpi_trainjob_phase_start_time_seconds{namespace="team",trainjob="pulls"} 100
mpi_trainjob_phase_start_time_seconds{namespace="team",trainjob="waits"} 100
# HELP mpi_trainjob_progress_percent How far a TrainJob has come by its program's own account, 0 to 100, where it gives one.
# TYPE mpi_trainjob_progress_percent gauge
mpi_trainjob_progress_percent{namespace="team",trainjob="again"} 40
# HELP mpi_trainjob_queue_position The place of a TrainJob that waits in its queue of Kueue, from 1, where Kueue tells it.
# TYPE mpi_trainjob_queue_position gauge
mpi_trainjob_queue_position{namespace="team",trainjob="waits"} 2
# HELP mpi_trainjob_restarts How often a TrainJob was started again after a fault of the infrastructure. A job that never was has no series.
# TYPE mpi_trainjob_restarts gauge
mpi_trainjob_restarts{namespace="team",trainjob="again"} 2
# HELP mpi_trainjob_restarts_limit How often the runtime of such a TrainJob lets it be started again.
# TYPE mpi_trainjob_restarts_limit gauge
mpi_trainjob_restarts_limit{namespace="team",trainjob="again"} 3
# HELP mpi_trainjob_status 1 for the phase that a TrainJob is in, with the reason of its condition where something keeps it or has ended it, which is one of a closed list, and the class of the reason: application, infrastructure, request, hand. A job that is Complete has no series.
# TYPE mpi_trainjob_status gauge
mpi_trainjob_status{class="",namespace="team",phase="Queued",queue="jobs",reason="",runtime="openmpi5-cpu",trainjob="waits"} 1
mpi_trainjob_status{class="",namespace="team",phase="Running",queue="jobs",reason="",runtime="openmpi5-cpu",trainjob="again"} 1
mpi_trainjob_status{class="application",namespace="team",phase="Failed",queue="jobs",reason="OOMKilled",runtime="openmpi5-cpu",trainjob="failed"} 1
mpi_trainjob_status{class="request",namespace="team",phase="Pulling",queue="jobs",reason="ImagePullFailed",runtime="openmpi5-cpu",trainjob="pulls"} 1
`
	states := jobStateCollector{cache, time.Now}
	if err := testutil.CollectAndCompare(states, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	if err := cache.DeleteAllOf(t.Context(), &trainer.TrainJob{}, client.InNamespace("team")); err != nil {
		t.Fatal(err)
	}
	if err := testutil.CollectAndCompare(states, strings.NewReader("")); err != nil {
		t.Errorf("a job that is gone has no series: %v", err)
	}
}
