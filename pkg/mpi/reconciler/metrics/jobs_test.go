package metrics

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

var name = client.ObjectKey{Namespace: "team", Name: "demo"}

func TestMetricsFollowAJob(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := newJobs(registry)
	if err != nil {
		t.Fatal(err)
	}
	trainJob := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{
		Namespace: name.Namespace, Name: name.Name, CreationTimestamp: metav1.NewTime(time.Unix(98, 0)), Labels: map[string]string{kueue.QueueLabel: "jobs"},
	}}
	trainJob.Spec.RuntimeRef.Name = "openmpi5-cpu"
	at := func(seconds int, condition string, status metav1.ConditionStatus, reason string) {
		m.RecordChanges(phase.DeriveFacts(observe.Observed{
			Now: time.Unix(int64(seconds), 0), TrainJob: trainJob, Gate: &observe.GateState{Result: &mpi.GateResult{Passed: true, Seconds: 2}},
		}), []metav1.Condition{{Type: condition, Status: status, Reason: reason}})
	}
	at(103, job.PodsReady, "True", "PodsReady")
	at(105, job.Running, "True", "GatePassed")
	at(110, job.Restarting, "True", "MachineLost")
	at(110, job.Restarting, "False", "Restarted")
	at(115, trainer.TrainJobFailed, "True", "OOMKilled")
	at(115, trainer.TrainJobFailed, "True", "what a stranger wrote")
	want := `
# HELP mpi_trainjob_ended_total TrainJobs that ended, by outcome (Complete, Failed) and reason, which is one of a closed list.
# TYPE mpi_trainjob_ended_total counter
mpi_trainjob_ended_total{namespace="team",outcome="Failed",queue="jobs",reason="OOMKilled",runtime="openmpi5-cpu"} 1
mpi_trainjob_ended_total{namespace="team",outcome="Failed",queue="jobs",reason="Other",runtime="openmpi5-cpu"} 1
# HELP mpi_trainjob_restarts_total Jobs that were started again after a fault of the infrastructure, by its reason.
# TYPE mpi_trainjob_restarts_total counter
mpi_trainjob_restarts_total{namespace="team",queue="jobs",reason="MachineLost",runtime="openmpi5-cpu"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "mpi_trainjob_ended_total", "mpi_trainjob_restarts_total"); err != nil {
		t.Error(err)
	}
	for phase, seconds := range map[string]float64{phaseGate: 2, phaseRun: 20} {
		if got := sumOf(t, registry, phase); got != seconds {
			t.Errorf("phase %s took %v s, want %v", phase, got, seconds)
		}
	}
	m.Forget(name)
	if len(m.since) != 0 {
		t.Error("nothing is kept about a job that is gone")
	}
}

// What the launcher measured itself is counted when its job ends.
func TestMetricsOfALaunch(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := newJobs(registry)
	if err != nil {
		t.Fatal(err)
	}
	trainJob := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(time.Unix(98, 0))}}
	seconds := func(s float64) *float64 { return &s }
	m.observeLaunch(jobLabels{}, trainJob, &mpi.LaunchTimings{
		Started: time.Unix(100, 0), CommandSeconds: seconds(0.5), RankSeconds: seconds(0.75), Connect: &mpi.Spread{Min: 0.125, Median: 0.25, Max: 0.5},
	})
	m.observeLaunch(jobLabels{}, trainJob, &mpi.LaunchTimings{Started: time.Unix(100, 0)}) // no rank has ever run
	for phase, want := range map[string]float64{phaseConnect: 0.5, phaseLaunch: 0.25, phaseStart: 2.75} {
		if got := sumOf(t, registry, phase); got != want {
			t.Errorf("phase %s took %v s, want %v", phase, got, want)
		}
	}
}

// A series ends with the pods of its job.
func TestPodsAreCountedWhenAsked(t *testing.T) {
	pod := func(name, role string, phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, Labels: map[string]string{mpi.TrainJobLabel: "demo", mpi.ReplicatedJobLabel: role}},
			Status:     corev1.PodStatus{Phase: phase},
		}
	}
	stranger := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "stranger"}}
	pods := fake.NewClientBuilder().WithObjects(pod("l", "launcher", "Running"), pod("n0", "node", "Running"), pod("n1", "node", ""),
		pod("over", "node", "Succeeded"), stranger).Build()
	want := `
# HELP mpi_trainjob_pod_info 1 for each pod of a TrainJob that is not over, with its role (launcher, node).
# TYPE mpi_trainjob_pod_info gauge
mpi_trainjob_pod_info{namespace="team",pod="l",role="launcher",trainjob="demo"} 1
mpi_trainjob_pod_info{namespace="team",pod="n0",role="node",trainjob="demo"} 1
mpi_trainjob_pod_info{namespace="team",pod="n1",role="node",trainjob="demo"} 1
# HELP mpi_trainjob_pods Pods of TrainJobs by role (launcher, node) and phase.
# TYPE mpi_trainjob_pods gauge
mpi_trainjob_pods{namespace="team",phase="Pending",role="node",trainjob="demo"} 1
mpi_trainjob_pods{namespace="team",phase="Running",role="launcher",trainjob="demo"} 1
mpi_trainjob_pods{namespace="team",phase="Running",role="node",trainjob="demo"} 1
mpi_trainjob_pods{namespace="team",phase="Succeeded",role="node",trainjob="demo"} 1
`
	counts := podCountCollector{pods, mpi.TrainJobLabel}
	if err := testutil.CollectAndCompare(counts, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	if err := pods.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace("team")); err != nil {
		t.Fatal(err)
	}
	if err := testutil.CollectAndCompare(counts, strings.NewReader("")); err != nil {
		t.Errorf("a job without pods has no series: %v", err)
	}
}

func sumOf(t *testing.T, registry *prometheus.Registry, phase string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			isPhase := func(label *dto.LabelPair) bool { return label.GetName() == "phase" && label.GetValue() == phase }
			if family.GetName() == "mpi_trainjob_phase_seconds" && slices.ContainsFunc(metric.GetLabel(), isPhase) {
				return metric.GetHistogram().GetSampleSum()
			}
		}
	}
	return -1
}
