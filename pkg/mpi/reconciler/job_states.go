package reconciler

import (
	"context"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/jobs/view"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// jobStates tells where each job of ours is in its life, out of the cache and when somebody asks, in the words of `kubectl mpi list`. A series
// ends with its job; a job that is Complete has none, because nobody has to do anything about it and ended_total counts it.
type jobStates struct {
	cache client.Reader
	clock *clock
}

// ofJob are the labels that name a job.
var ofJob = []string{"namespace", "trainjob"}

var (
	statusDesc = prometheus.NewDesc("mpi_trainjob_status",
		"1 for the phase that a TrainJob is in, with the reason of its condition where something keeps it or has ended it, which is one of a closed list, "+
			"and the class of the reason: application, infrastructure, request, hand. A job that is Complete has no series.",
		[]string{"namespace", "trainjob", "runtime", "queue", "phase", "reason", "class"}, nil)
	phaseStartDesc = prometheus.NewDesc("mpi_trainjob_phase_start_time_seconds",
		"When a TrainJob came into its phase, in seconds since 1970; of one that failed, its end.", ofJob, nil)
	jobRestartsDesc = prometheus.NewDesc("mpi_trainjob_restarts",
		"How often a TrainJob was started again after a fault of the infrastructure. A job that never was has no series.", ofJob, nil)
	restartLimitDesc = prometheus.NewDesc("mpi_trainjob_restarts_limit",
		"How often the runtime of such a TrainJob lets it be started again.", ofJob, nil)
	positionDesc = prometheus.NewDesc("mpi_trainjob_queue_position",
		"The place of a TrainJob that waits in its queue of Kueue, from 1, where Kueue tells it.", ofJob, nil)
	progressDesc = prometheus.NewDesc("mpi_trainjob_progress_percent",
		"How far a TrainJob has come by its program's own account, 0 to 100, where it gives one.", ofJob, nil)
)

// Describe names the series.
func (s jobStates) Describe(descriptions chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{statusDesc, phaseStartDesc, jobRestartsDesc, restartLimitDesc, positionDesc, progressDesc} {
		descriptions <- d
	}
}

// Collect lists the cache.
func (s jobStates) Collect(series chan<- prometheus.Metric) {
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
	now := s.clock.now()
	for i := range jobs.Items {
		trainJob := &jobs.Items[i]
		tellState(series, view.JobOf(view.Objects{Now: now, TrainJob: trainJob, JobSet: made[client.ObjectKeyFromObject(trainJob)]}))
	}
}

func tellState(series chan<- prometheus.Metric, j view.Job) {
	if j.Executor == view.Stock || j.Phase == phase.Complete {
		return
	}
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		series <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, append([]string{j.Namespace, j.Name}, labels...)...)
	}
	queue, reason, class := "", "", ""
	if j.Queue != nil {
		queue = j.Queue.Name
		if j.Queue.Position > 0 {
			gauge(positionDesc, float64(j.Queue.Position))
		}
	}
	if j.Cause != nil {
		reason, class = listed(string(j.Cause.Reason)), string(j.Cause.Class)
	}
	gauge(statusDesc, 1, j.Runtime.Name, queue, string(j.Phase), reason, class)
	if j.Since != nil {
		gauge(phaseStartDesc, float64(j.Since.Unix()))
	}
	if number, limit := observe.PublishedRestarts(j.Conditions); number > 0 {
		gauge(jobRestartsDesc, float64(number))
		gauge(restartLimitDesc, float64(limit))
	}
	if j.Progress != nil && j.Progress.Percent != nil {
		gauge(progressDesc, float64(*j.Progress.Percent))
	}
}
