package reconciler

import (
	"fmt"
	"testing"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep.dev/lockstep/pkg/mpi/job"
)

func metered(namespace, runtime, queue string) *trainer.TrainJob {
	trainJob := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "demo", Labels: map[string]string{}}}
	trainJob.Spec.RuntimeRef.Name = runtime
	if queue != "" {
		trainJob.Labels[job.QueueLabel] = queue
	}
	return trainJob
}

// A team is found by its namespace, whatever others do.
func TestOwners(t *testing.T) {
	k := owners{}
	for i := range 1000 {
		k.of(metered("team-noise", "mpi", fmt.Sprint("queue-", i)))
	}
	for _, tc := range []struct {
		reason                    string
		namespace, runtime, queue string
		want                      owner
	}{
		{"", "team-vision", "openmpi5-cpu", "jobs", owner{"team-vision", "openmpi5-cpu", "jobs"}},
		{"without a queue", "team-vision", "openmpi5-cpu", "", owner{"team-vision", "openmpi5-cpu", ""}},
		{"the first ones stay", "team-noise", "mpi", "queue-0", owner{"team-noise", "mpi", "queue-0"}},
		{"the others are one", "team-noise", "mpi", "queue-999", owner{"team-noise", otherReason, otherReason}},
	} {
		if got := k.of(metered(tc.namespace, tc.runtime, tc.queue)); got != tc.want {
			t.Errorf("%s: got %v, want %v", tc.reason, got, tc.want)
		}
	}
}

// A thousand jobs of names that a user made up make a bounded number of series.
func TestSeriesOfAThousandJobs(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := newMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		trainJob := metered("team-noise", fmt.Sprint("runtime-", i), fmt.Sprint("queue-", i))
		m.record(job.Observed{TrainJob: trainJob}, []metav1.Condition{{Type: trainer.TrainJobFailed, Status: metav1.ConditionTrue, Reason: "RankFailed"}})
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := 0
	for _, family := range families {
		series += len(family.GetMetric())
	}
	if want := pairsPerNamespace + 1; series != want {
		t.Errorf("%d series, want %d", series, want)
	}
}
