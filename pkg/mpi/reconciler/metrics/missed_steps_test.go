package metrics

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
)

// Every job that is started has the same events in the same order, however fast it is.
func TestGangSchedulingIsTold(t *testing.T) {
	created := metav1.Condition{Type: "Created", Status: "True", Reason: "JobSetCreated"}
	ready := metav1.Condition{Type: "PodsReady", Status: "True", Reason: "PodsReady"}
	pending := metav1.Condition{Type: "PodsReady", Status: "False", Reason: "PodsPending"}
	suspended := &trainer.TrainJob{Spec: trainer.TrainJobSpec{Suspend: ptr.To(true)}}
	waits := &trainer.TrainJob{Status: trainer.TrainJobStatus{Conditions: []metav1.Condition{pending}}}
	for name, tc := range map[string]struct {
		trainJob *trainer.TrainJob
		changes  []metav1.Condition
		want     []string
	}{
		"Fast":      {&trainer.TrainJob{}, []metav1.Condition{created, ready}, []string{"JobSetCreated", "PodsPending", "PodsReady"}},
		"Slow":      {&trainer.TrainJob{}, []metav1.Condition{pending, created}, []string{"JobSetCreated", "PodsPending"}},
		"Later":     {waits, []metav1.Condition{ready}, []string{"PodsReady"}},
		"Beside":    {&trainer.TrainJob{}, []metav1.Condition{ready}, []string{"PodsPending", "PodsReady"}},
		"Suspended": {suspended, []metav1.Condition{created}, []string{"JobSetCreated"}},
	} {
		var got []string
		for _, c := range status.WithMissedSteps(phase.DeriveFacts(observe.Observed{TrainJob: tc.trainJob}), status.NewOrChanged(nil, tc.changes)) {
			got = append(got, c.Reason)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", name, diff)
		}
	}
}

// ended is a job with the conditions before, whose launcher has left a verdict.
func ended(t *testing.T, verdict mpi.Verdict, before ...metav1.Condition) observe.Observed {
	t.Helper()
	message, err := verdict.Encode()
	if err != nil {
		t.Fatal(err)
	}
	trainJob := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, UID: "j"}, Status: trainer.TrainJobStatus{Conditions: before}}
	js := &jobset.JobSet{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, UID: "s", OwnerReferences: []metav1.OwnerReference{{
		APIVersion: trainer.GroupVersion.String(), Kind: trainer.TrainJobKind, Name: name.Name, UID: "j", Controller: ptr.To(true),
	}}}}
	launcher := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "l", Labels: map[string]string{mpi.JobSetUIDLabel: "s", mpi.ReplicatedJobLabel: mpi.LauncherJob}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name: mpi.Container, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: string(message)}},
		}}},
	}
	return observe.Observed{Now: time.Unix(100, 0), TrainJob: trainJob, JobSet: js, Pods: []corev1.Pod{launcher}}
}

// A job may be over before a status has told that its pods were ready, or that its command ran.
func TestStepsOfJobsThatAreOverAtOnce(t *testing.T) {
	is := func(kind, status, reason string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason}
	}
	ready, runs := is(job.PodsReady, "True", "PodsReady"), is(job.Running, "True", "GatePassed")
	pending, waiting := is(job.PodsReady, "False", "PodsPending"), is(job.Running, "False", "WaitingForNodes")
	finished := []metav1.Condition{is(job.PodsReady, "False", "Finished"), is(job.Running, "False", "Finished")}
	complete, failed, diagnosed := is("Complete", "True", "Completed"), is("Failed", "True", "RankFailed"), is(job.Diagnosed, "True", "RankFailed")
	launched := mpi.Verdict{Timings: &mpi.LaunchTimings{CommandSeconds: ptr.To(0.5)}}
	refused := mpi.Verdict{Reason: mpi.ReasonGateTimeout, Timings: &mpi.LaunchTimings{}}
	for name, tc := range map[string]struct {
		reason string
		o      observe.Observed
		end    metav1.Condition
		want   []string
	}{
		"Complete":   {"", ended(t, launched, pending, waiting), complete, []string{"PodsReady", "GatePassed", "Completed"}},
		"Ready":      {"only the run is missing", ended(t, launched, ready, waiting), complete, []string{"GatePassed", "Completed"}},
		"Told":       {"each step once", ended(t, launched, pending, runs), complete, []string{"Completed"}},
		"Failed":     {"a rank failed, so there was one", ended(t, launched, pending, waiting), failed, []string{"PodsReady", "GatePassed", "RankFailed"}},
		"NoCommand":  {"the gate was not passed", ended(t, refused, ready, waiting), failed, []string{"RankFailed"}},
		"NoVerdict":  {"a runtime without an agent says only that it succeeded", observe.Observed{TrainJob: &trainer.TrainJob{Status: trainer.TrainJobStatus{Conditions: []metav1.Condition{pending}}}}, complete, []string{"PodsReady", "GatePassed", "Completed"}},
		"NobodySays": {"", observe.Observed{TrainJob: &trainer.TrainJob{}}, failed, []string{"RankFailed"}},
		"Companion":  {"", ended(t, launched, pending, waiting), diagnosed, []string{"PodsReady", "GatePassed", "RankFailed"}},
		"Beside":     {"Trainer has told the end", ended(t, launched, complete, pending, waiting), finished[1], []string{"PodsReady", "GatePassed", "Finished"}},
		"BesideFast": {"before any status of ours", ended(t, launched, complete), finished[1], []string{"PodsPending", "PodsReady", "GatePassed", "Finished"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, c := range status.WithMissedSteps(phase.DeriveFacts(tc.o), append(finished[:1:1], tc.end)) {
				got = append(got, c.Reason)
			}
			if diff := cmp.Diff(append([]string{"Finished"}, tc.want...), got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// Such a job has the phases of every other, as its launcher measured them.
func TestMetricsOfAJobThatIsOverAtOnce(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := newJobs(registry)
	if err != nil {
		t.Fatal(err)
	}
	o := ended(t, mpi.Verdict{GateSeconds: 0.25, RunSeconds: 0.5, Timings: &mpi.LaunchTimings{CommandSeconds: ptr.To(0.5)}})
	m.RecordChanges(phase.DeriveFacts(o), status.WithMissedSteps(phase.DeriveFacts(o), []metav1.Condition{{Type: trainer.TrainJobComplete, Status: metav1.ConditionTrue, Reason: string(job.ReasonCompleted)}}))
	for phase, want := range map[string]float64{phaseGate: 0.25, phaseRun: 0.5} {
		if got := sumOf(t, registry, phase); got != want {
			t.Errorf("phase %s took %v s, want %v", phase, got, want)
		}
	}
}
