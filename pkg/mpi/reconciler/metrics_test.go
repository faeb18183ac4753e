package reconciler

import (
	"strings"
	"testing"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

func TestMetricsFollowAJob(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := newMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	trainJob := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
	at := func(seconds int, condition, reason string) {
		m.record(job.Observed{
			Now: time.Unix(int64(seconds), 0), TrainJob: trainJob, Gate: &job.Gate{Result: &mpi.GateResult{Passed: true, Seconds: 2}},
		}, []metav1.Condition{{Type: condition, Status: metav1.ConditionTrue, Reason: reason}})
	}
	at(100, job.Created, "JobSetCreated")
	at(103, job.PodsReady, "PodsReady")
	at(105, job.Running, "GatePassed")
	at(115, trainer.TrainJobFailed, "OOMKilled")
	want := `
# HELP mpi_trainjob_ended_total TrainJobs that ended, by outcome (Complete, Failed) and reason.
# TYPE mpi_trainjob_ended_total counter
mpi_trainjob_ended_total{outcome="Failed",reason="OOMKilled"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "mpi_trainjob_ended_total"); err != nil {
		t.Error(err)
	}
	for phase, seconds := range map[string]float64{phasePods: 3, phaseGate: 2, phaseRun: 10} {
		if got := sumOf(t, registry, phase); got != seconds {
			t.Errorf("phase %s took %v s, want %v", phase, got, seconds)
		}
	}
	m.forget(name)
	if len(m.since) != 0 {
		t.Error("nothing is kept about a job that is gone")
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
			if family.GetName() == "mpi_trainjob_phase_seconds" && metric.GetLabel()[0].GetValue() == phase {
				return metric.GetHistogram().GetSampleSum()
			}
		}
	}
	return -1
}
