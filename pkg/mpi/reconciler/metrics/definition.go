package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// metricDefinition is a metric of this controller: what Prometheus is told, and what docs/reference/metrics.md says of it.
type metricDefinition struct {
	name, kind, help string
	labels           []string
	// ends is when one of its series ends.
	ends string
	desc *prometheus.Desc
}

// withDescription returns it with what a collector tells it by.
func (m metricDefinition) withDescription() metricDefinition {
	m.desc = prometheus.NewDesc(m.name, m.help, m.labels, nil)
	return m
}

func (m metricDefinition) gaugeValue(value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, value, labels...)
}

// When series end.
const (
	withController = "with the controller: it counts from zero when it starts"
	withPhase      = "with the phase; there is none of a job that is Complete or deleted"
	withPods       = "with the pods of the job"
)

// ofJob are the labels that name a job.
var ofJob = []string{"namespace", "trainjob"}

var (
	phaseSeconds = metricDefinition{
		name: "mpi_trainjob_phase_seconds", kind: "histogram", labels: append(slices.Clone(ownerLabels), "phase"), ends: withController,
		help: "How long a phase of a TrainJob took: queued until its objects were made or it was resumed, gang_wait until all pods had machines, " +
			"image_pull until all pods were ready, gate while the launcher waited for its nodes, connect for the slowest connection from the launcher to a node, " +
			"mpi_launch from the command to the first rank, time_to_start from the creation of the job to the first rank, running from the gate to the end.",
	}
	endedTotal = metricDefinition{
		name: "mpi_trainjob_ended_total", kind: "counter", labels: append(slices.Clone(ownerLabels), "outcome", "reason"), ends: withController,
		help: "TrainJobs that ended, by outcome (Complete, Failed) and reason, which is one of a closed list.",
	}
	restartsTotal = metricDefinition{
		name: "mpi_trainjob_restarts_total", kind: "counter", labels: append(slices.Clone(ownerLabels), "reason"), ends: withController,
		help: "Jobs that were started again after a fault of the infrastructure, by its reason.",
	}
	jobStatus = metricDefinition{
		name: "mpi_trainjob_status", kind: "gauge", labels: []string{"namespace", "trainjob", "runtime", "queue", "phase", "reason", "class"}, ends: withPhase,
		help: "1 for the phase that a TrainJob is in, with the reason of its condition where something keeps it or has ended it, which is one of a closed list, " +
			"and the class of the reason: application, infrastructure, request, hand. A job that is Complete has no series.",
	}.withDescription()
	phaseSince = metricDefinition{
		name: "mpi_trainjob_phase_start_time_seconds", kind: "gauge", labels: ofJob, ends: withPhase,
		help: "When a TrainJob came into its phase, in seconds since 1970; of one that failed, its end.",
	}.withDescription()
	jobRestarts = metricDefinition{
		name: "mpi_trainjob_restarts", kind: "gauge", labels: ofJob, ends: "when the job is Complete or deleted",
		help: "How often a TrainJob was started again after a fault of the infrastructure. A job that never was has no series.",
	}.withDescription()
	restartLimit = metricDefinition{
		name: "mpi_trainjob_restarts_limit", kind: "gauge", labels: ofJob, ends: jobRestarts.ends,
		help: "How often the runtime of such a TrainJob lets it be started again.",
	}.withDescription()
	queuePosition = metricDefinition{
		name: "mpi_trainjob_queue_position", kind: "gauge", labels: ofJob, ends: "when the job has left its queue",
		help: "The place of a TrainJob that waits in its queue of Kueue, from 1, where Kueue tells it.",
	}.withDescription()
	progress = metricDefinition{
		name: "mpi_trainjob_progress_percent", kind: "gauge", labels: ofJob, ends: "when the job is Complete or deleted",
		help: "How far a TrainJob has come by its program's own account, 0 to 100, where it gives one.",
	}.withDescription()
	podCount = metricDefinition{
		name: "mpi_trainjob_pods", kind: "gauge", labels: []string{"namespace", "trainjob", "role", "phase"}, ends: withPods,
		help: "Pods of TrainJobs by role (launcher, node) and phase.",
	}.withDescription()
	// podInfo joins what kubelet and others tell of a pod to its job.
	podInfo = metricDefinition{
		name: "mpi_trainjob_pod_info", kind: "gauge", labels: []string{"namespace", "trainjob", "role", "pod"}, ends: "when the pod is over, or gone",
		help: "1 for each pod of a TrainJob that is not over, with its role (launcher, node).",
	}.withDescription()
)
