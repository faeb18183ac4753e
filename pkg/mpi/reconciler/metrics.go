package reconciler

import (
	"sync"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/mpi/job"
)

// metrics are the numbers of this controller. Phases are measured from what this process saw, because the times in API
// objects are whole seconds; a job that a restart fell into is left out.
type metrics struct {
	phases *prometheus.HistogramVec
	ended  *prometheus.CounterVec

	mu    sync.Mutex
	since map[client.ObjectKey]time.Time
}

// The phases of a job. A job that never gets to the end of a phase has no observation for it.
const (
	phasePods = "pods_ready"
	phaseGate = "gate"
	phaseRun  = "run"
)

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		phases: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "mpi_trainjob_phase_seconds",
			Help:    "How long a phase of a TrainJob took: pods_ready from creation until all pods are ready, gate while the launcher waited for its nodes, run from the gate to the end.",
			Buckets: prometheus.ExponentialBuckets(0.05, 2, 16),
		}, []string{"phase"}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mpi_trainjob_ended_total",
			Help: "TrainJobs that ended, by outcome (Complete, Failed) and reason.",
		}, []string{"outcome", "reason"}),
		since: map[client.ObjectKey]time.Time{},
	}
	for _, c := range []prometheus.Collector{m.phases, m.ended} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *metrics) record(o job.Observed, changes []metav1.Condition) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := client.ObjectKeyFromObject(o.TrainJob)
	for _, change := range changes {
		isTrue := change.Status == metav1.ConditionTrue
		switch {
		case change.Type == job.Created && isTrue, change.Type == trainer.TrainJobSuspended && !isTrue:
			m.since[name] = o.Now
		case change.Type == job.PodsReady && isTrue:
			m.observe(phasePods, name, o.Now)
		case change.Type == job.Running && isTrue:
			m.phases.WithLabelValues(phaseGate).Observe(o.Gate.Result.Seconds)
			m.since[name] = o.Now
		case change.Type == trainer.TrainJobComplete && isTrue, change.Type == trainer.TrainJobFailed && isTrue:
			m.ended.WithLabelValues(change.Type, change.Reason).Inc()
			m.observe(phaseRun, name, o.Now)
		}
	}
}

// observe measures from the last mark of a job, if this process has set one.
func (m *metrics) observe(phase string, name client.ObjectKey, now time.Time) {
	if since, found := m.since[name]; found {
		m.phases.WithLabelValues(phase).Observe(now.Sub(since).Seconds())
	}
}

func (m *metrics) forget(name client.ObjectKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.since, name)
}
