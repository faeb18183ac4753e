package metrics

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// lists are a cache of what they hold.
type lists struct {
	client.Reader
	jobs []trainer.TrainJob
	pods []corev1.Pod
}

func (l lists) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	switch into := into.(type) {
	case *trainer.TrainJobList:
		into.Items = l.jobs
	case *corev1.PodList:
		into.Items = l.pods
	}
	return nil
}

// BenchmarkScrape is what Prometheus asks for of 1,000 jobs that run with 8 pods each. It tells how many series that makes, and writes them to the
// file of LOCKSTEP_SCRAPED, for a real Prometheus (`make bench-prometheus`).
func BenchmarkScrape(b *testing.B) {
	var l lists
	for i := range 1000 {
		l.jobs = append(l.jobs, *jobIn(fmt.Sprint("job-", i), condition(job.PodsReady, true, "PodsReady", ""), condition(job.Running, true, string(job.ReasonGatePassed), "")))
		for k := range 8 {
			role := mpi.NodeJob
			if k == 0 {
				role = mpi.LauncherJob
			}
			l.pods = append(l.pods, corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: fmt.Sprintf("job-%d-%d", i, k), Labels: map[string]string{mpi.TrainJobLabel: fmt.Sprint("job-", i), mpi.ReplicatedJobLabel: role}},
				Status:     corev1.PodStatus{Phase: corev1.PodRunning},
			})
		}
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(podCountCollector{l, mpi.TrainJobLabel}, jobStateCollector{l, time.Now})
	var families []*dto.MetricFamily
	for b.Loop() {
		var err error
		if families, err = registry.Gather(); err != nil {
			b.Fatal(err)
		}
	}
	series := 0
	var page bytes.Buffer
	for _, family := range families {
		series += len(family.GetMetric())
		if _, err := expfmt.MetricFamilyToText(&page, family); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(series), "series")
	if path := os.Getenv("LOCKSTEP_SCRAPED"); path != "" {
		if err := os.WriteFile(path, page.Bytes(), 0o600); err != nil {
			b.Fatal(err)
		}
	}
}
