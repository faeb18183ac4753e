package metrics

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

func metered(namespace, runtime, queue string) *trainer.TrainJob {
	trainJob := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "demo", Labels: map[string]string{}}}
	trainJob.Spec.RuntimeRef.Name = runtime
	if queue != "" {
		trainJob.Labels[kueue.QueueLabel] = queue
	}
	return trainJob
}

// A team is found by its namespace, whatever others do.
func TestOwners(t *testing.T) {
	k := boundedJobLabels{}
	for i := range 1000 {
		k.labelsOf(metered("team-noise", "mpi", fmt.Sprint("queue-", i)))
	}
	for _, tc := range []struct {
		reason                    string
		namespace, runtime, queue string
		want                      jobLabels
	}{
		{"", "team-vision", "openmpi5-cpu", "jobs", jobLabels{"team-vision", "openmpi5-cpu", "jobs"}},
		{"without a queue", "team-vision", "openmpi5-cpu", "", jobLabels{"team-vision", "openmpi5-cpu", ""}},
		{"the first ones stay", "team-noise", "mpi", "queue-0", jobLabels{"team-noise", "mpi", "queue-0"}},
		{"the others are one", "team-noise", "mpi", "queue-999", jobLabels{"team-noise", otherReason, otherReason}},
	} {
		if got := k.labelsOf(metered(tc.namespace, tc.runtime, tc.queue)); got != tc.want {
			t.Errorf("%s: got %v, want %v", tc.reason, got, tc.want)
		}
	}
}

// A thousand jobs of names that users made up make a bounded number of series of each metric, each job with a whole life: it is restarted,
// runs and fails.
func TestSeriesOfAThousandJobs(t *testing.T) {
	life := []metav1.Condition{
		{Type: job.Restarting, Status: metav1.ConditionTrue, Reason: "MachineLost"},
		{Type: job.Running, Status: metav1.ConditionTrue, Reason: string(job.ReasonGatePassed)},
		{Type: trainer.TrainJobFailed, Status: metav1.ConditionTrue, Reason: "RankFailed"},
	}
	for name, tc := range map[string]struct {
		namespace func(number int) string
		// owners are how many namespaces, runtimes and queues are kept apart.
		owners int
	}{
		"OfOneTenant":  {func(int) string { return "team-noise" }, pairsPerNamespace + 1},
		"OfAsManyEach": {func(i int) string { return fmt.Sprint("team-", i) }, namespacesKept + 1},
	} {
		t.Run(name, func(t *testing.T) {
			registry := prometheus.NewRegistry()
			m, err := newJobs(registry)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 1000 {
				trainJob := metered(tc.namespace(i), fmt.Sprint("runtime-", i), fmt.Sprint("queue-", i))
				m.RecordChanges(phase.DeriveFacts(observe.Observed{TrainJob: trainJob, Gate: &observe.GateState{Result: &mpi.GateResult{Passed: true}}}), life)
			}
			want := map[string]int{
				"mpi_trainjob_restarts_total": tc.owners, "mpi_trainjob_ended_total": tc.owners,
				"mpi_trainjob_phase_seconds": 2 * tc.owners, // gate, running
			}
			if diff := cmp.Diff(want, seriesOf(t, registry)); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

// seriesOf counts by metric the series that have all labels of an owner.
func seriesOf(t *testing.T, registry *prometheus.Registry) map[string]int {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]int{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			labels := map[string]bool{}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = true
			}
			if labels["namespace"] && labels["runtime"] && labels["queue"] {
				series[family.GetName()]++
			}
		}
	}
	return series
}
