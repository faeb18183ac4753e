package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/view"
)

// jobStateCollector tells where each job of ours is in its life, out of the cache and when somebody asks, in the words of `kubectl mpi list`. A series
// ends with its job; a job that is Complete has none, because nobody has to do anything about it and ended_total counts it.
type jobStateCollector struct {
	cache client.Reader
	now   func() time.Time
}

// Describe names the series.
func (s jobStateCollector) Describe(descriptions chan<- *prometheus.Desc) {
	for _, m := range []metricDefinition{jobStatus, phaseSince, jobRestarts, restartLimit, queuePosition, progress} {
		descriptions <- m.desc
	}
}

// Collect lists the cache.
func (s jobStateCollector) Collect(series chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var jobs trainer.TrainJobList
	var sets jobset.JobSetList
	for _, list := range []client.ObjectList{&jobs, &sets} {
		if err := s.cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			ctrl.Log.V(1).Info("cannot tell the states of jobs", "reason", err.Error())
			return
		}
	}
	made := make(map[client.ObjectKey]*jobset.JobSet, len(sets.Items))
	for i := range sets.Items {
		made[client.ObjectKeyFromObject(&sets.Items[i])] = &sets.Items[i]
	}
	now := s.now()
	for i := range jobs.Items {
		trainJob := &jobs.Items[i]
		collectState(series, view.JobOf(view.JobObjects{Now: now, TrainJob: trainJob, JobSet: made[client.ObjectKeyFromObject(trainJob)]}))
	}
}

func collectState(series chan<- prometheus.Metric, j view.Job) {
	if j.Executor == jobv1.Stock || j.Phase == jobv1.Complete {
		return
	}
	gauge := func(m metricDefinition, value float64, labels ...string) {
		series <- m.gaugeValue(value, append([]string{j.Namespace, j.Name}, labels...)...)
	}
	queue, reason, class := "", "", ""
	if j.Queue != nil {
		queue = j.Queue.Name
		if j.Queue.Position > 0 {
			gauge(queuePosition, float64(j.Queue.Position))
		}
	}
	if j.Cause != nil {
		reason, class = listedReason(j.Cause.Reason), j.Cause.Class
	}
	gauge(jobStatus, 1, j.Runtime.Name, queue, string(j.Phase), reason, class)
	if j.Since != nil {
		gauge(phaseSince, float64(j.Since.Unix()))
	}
	if j.Restarts > 0 {
		gauge(jobRestarts, float64(j.Restarts))
		gauge(restartLimit, float64(j.RestartsAllowed))
	}
	if j.Progress != nil && j.Progress.Percent != nil {
		gauge(progress, float64(*j.Progress.Percent))
	}
}
