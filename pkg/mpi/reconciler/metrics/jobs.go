package metrics

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
)

// Jobs are the numbers of this controller. Phases are measured from what this process saw, because the times in API
// objects are whole seconds of several clocks; a job that a restart fell into is left out.
type Jobs struct {
	phases   *prometheus.HistogramVec
	ended    *prometheus.CounterVec
	restarts *prometheus.CounterVec

	mu     sync.Mutex
	owners boundedJobLabels
	since  map[client.ObjectKey]time.Time
}

// The phases of a job. A job that never gets to the end of a phase has no observation for it.
const (
	phaseQueued  = "queued"
	phaseGang    = "gang_wait"
	phaseImages  = "image_pull"
	phaseGate    = "gate"
	phaseConnect = "connect"
	phaseLaunch  = "mpi_launch"
	phaseStart   = "time_to_start"
	phaseRun     = "running"
)

// otherReason stands for reasons that are not on the list, which Kubeflow Trainer may give: a label must not grow without end.
const otherReason = "Other"

// Register registers all metrics: the counts of this process, and those read from the cache at each scrape. The label
// names the job of a pod.
func Register(registry prometheus.Registerer, cache client.Reader, label string, now func() time.Time) (*Jobs, error) {
	for _, c := range []prometheus.Collector{podCountCollector{cache, label}, jobStateCollector{cache, now}} {
		if err := replaceCollector(registry, c); err != nil {
			return nil, err
		}
	}
	return newJobs(registry)
}

func newJobs(registry prometheus.Registerer) (*Jobs, error) {
	// From a twentieth of a second, in which nodes answer, to the day and a half that a job may wait in its queue or run.
	buckets := prometheus.ExponentialBuckets(0.05, 2.5, 17)
	m := &Jobs{
		phases: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: phaseSeconds.name, Help: phaseSeconds.help, Buckets: buckets,
		}, phaseSeconds.labels),
		ended:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: endedTotal.name, Help: endedTotal.help}, endedTotal.labels),
		restarts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: restartsTotal.name, Help: restartsTotal.help}, restartsTotal.labels),
		owners:   boundedJobLabels{},
		since:    map[client.ObjectKey]time.Time{},
	}
	for _, c := range []prometheus.Collector{m.phases, m.ended, m.restarts} {
		if err := replaceCollector(registry, c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// replaceCollector takes the place of the collector of an earlier controller in this process, as tests have them.
func replaceCollector(registry prometheus.Registerer, c prometheus.Collector) error {
	registry.Unregister(c)
	return registry.Register(c)
}

// RecordChanges counts what has become of a job.
func (m *Jobs) RecordChanges(f *phase.Facts, changes []metav1.Condition) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name, whose := client.ObjectKeyFromObject(f.TrainJob), m.owners.labelsOf(f.TrainJob)
	for _, change := range changes {
		isTrue := change.Status == metav1.ConditionTrue
		switch {
		case change.Type == job.PodsReady && isTrue:
			m.observePodPhases(whose, f)
		case change.Type == job.Running && isTrue && !apimeta.IsStatusConditionTrue(f.TrainJob.Status.Conditions, job.Running):
			m.observeGate(whose, f)
			m.since[name] = f.Now
		case change.Type == job.Restarting && isTrue:
			m.restarts.WithLabelValues(whose.labelValues(listedReason(change.Reason))...).Inc()
		case status.IsCompletionBesideTrainer(f.TrainJob, change):
			m.recordEnd(whose, name, f, trainer.TrainJobComplete, string(job.ReasonCompleted))
		case change.Type == trainer.TrainJobComplete && isTrue:
			m.recordEnd(whose, name, f, change.Type, change.Reason)
		case status.IsEndOfJob(f.TrainJob, change):
			m.recordEnd(whose, name, f, trainer.TrainJobFailed, change.Reason)
		}
	}
}

func (m *Jobs) observePodPhases(whose jobLabels, f *phase.Facts) {
	if waits := f.Start.Times(); waits != nil {
		m.observePhase(whose, phaseQueued, waits.Queued)
		m.observePhase(whose, phaseGang, waits.Gang)
		m.observePhase(whose, phaseImages, waits.Start)
	}
}

// observeGate asks the verdict of a job that was over before its launcher answered.
func (m *Jobs) observeGate(whose jobLabels, f *phase.Facts) {
	if f.Gate != nil && f.Gate.Result != nil && !f.Gate.Result.Waiting {
		m.phases.WithLabelValues(whose.labelValues(phaseGate)...).Observe(f.Gate.Result.Seconds)
	} else if verdict := f.Run.Verdict(); verdict != nil {
		m.phases.WithLabelValues(whose.labelValues(phaseGate)...).Observe(verdict.GateSeconds)
	}
}

func (m *Jobs) recordEnd(whose jobLabels, name client.ObjectKey, f *phase.Facts, outcome, reason string) {
	m.ended.WithLabelValues(whose.labelValues(outcome, listedReason(reason))...).Inc()
	verdict := f.Run.Verdict()
	if since, found := m.since[name]; f.Run.HasCommandStarted() {
		m.phases.WithLabelValues(whose.labelValues(phaseRun)...).Observe(verdict.RunSeconds)
	} else if found {
		m.observePhase(whose, phaseRun, f.Now.Sub(since))
	}
	if verdict != nil && verdict.Timings != nil {
		m.observeLaunch(whose, f.TrainJob, verdict.Timings)
	}
}

// observeLaunch counts what the launcher measured itself. The clocks of the API server and of the launcher's machine both tell how long
// the start took; the first knows whole seconds only.
func (m *Jobs) observeLaunch(whose jobLabels, trainJob *trainer.TrainJob, p *mpi.LaunchTimings) {
	if p.Connect != nil {
		m.phases.WithLabelValues(whose.labelValues(phaseConnect)...).Observe(p.Connect.Max)
	}
	if p.RankSeconds == nil {
		return
	}
	if p.CommandSeconds != nil {
		m.phases.WithLabelValues(whose.labelValues(phaseLaunch)...).Observe(max(0, *p.RankSeconds-*p.CommandSeconds))
	}
	if !p.Started.IsZero() {
		m.observePhase(whose, phaseStart, p.Started.Sub(trainJob.CreationTimestamp.Time)+time.Duration(*p.RankSeconds*float64(time.Second)))
	}
}

func (m *Jobs) observePhase(whose jobLabels, phase string, took time.Duration) {
	m.phases.WithLabelValues(whose.labelValues(phase)...).Observe(max(0, took.Seconds()))
}

// listedReason returns a reason of the closed list.
func listedReason(reason string) string {
	if _, found := diagnose.ReasonDocOf(mpi.Reason(reason)); found || reason == string(job.ReasonCompleted) {
		return reason
	}
	return otherReason
}

// Forget forgets a job that is over or gone.
func (m *Jobs) Forget(name client.ObjectKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.since, name)
}

// podCountCollector counts the pods of jobs when somebody asks, out of the cache, so that a series ends with the pods of its job.
type podCountCollector struct {
	pods  client.Reader
	label string
}

// Describe names the series.
func (c podCountCollector) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- podCount.desc
	descriptions <- podInfo.desc
}

// Collect lists the cache.
func (c podCountCollector) Collect(series chan<- prometheus.Metric) {
	const timeout = time.Second
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var list corev1.PodList
	if err := c.pods.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.Log.V(1).Info("cannot count pods", "reason", fmt.Sprint(err))
		return
	}
	type key struct {
		namespace, trainJob string
		observe.PodCount
	}
	counts := map[key]int{}
	for _, pod := range list.Items {
		count, ours := observe.PodCountOf(pod)
		if !ours {
			continue
		}
		counts[key{pod.Namespace, pod.Labels[c.label], count}]++
		if count.Phase != corev1.PodSucceeded && count.Phase != corev1.PodFailed {
			series <- podInfo.gaugeValue(1, pod.Namespace, pod.Labels[c.label], count.Role, pod.Name)
		}
	}
	for k, n := range counts {
		series <- podCount.gaugeValue(float64(n), k.namespace, k.trainJob, k.Role, string(k.Phase))
	}
}
