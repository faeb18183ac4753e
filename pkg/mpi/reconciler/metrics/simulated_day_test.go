package metrics

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
)

// A simulated day, in minutes. It ends when its pictures are looked at.
const (
	minutesOfDay   = 24 * 60
	scrapeMinutes  = 2
	restartMinutes = 6   // until a job that has lost a machine runs again
	keptMinutes    = 120 // until a job that is over is deleted
	picturedJob    = "resnet-large"
)

// scripted are the job that has a picture, and those that somebody should look at when the day ends.
var scripted = []simulatedJob{
	{namespace: "team-vision", name: picturedJob, runtime: "openmpi5-cuda", queue: "gpu", nodes: 4, gang: 4, start: 4, run: 400, loses: 102, created: 19 * 60},
	{namespace: "team-chem", name: "md-typo", runtime: "openmpi5-cpu", nodes: 2, gang: 2, start: 200, run: 200, fails: diagnose.ImagePull, created: 23*60 + 10},
	{namespace: "team-weather", name: "forecast-wide", runtime: "mpich-cpu", queue: "cpu", nodes: 4, gang: 2, start: 2, run: 20, fails: diagnose.OOMKilled, created: 23 * 60},
	{namespace: "team-vision", name: "train-nan", runtime: "openmpi5-cuda", queue: "gpu", nodes: 1, gang: 2, start: 2, run: 16, fails: diagnose.PythonException, created: 23*60 + 20},
}

var dayBegins = time.Date(2026, 11, 24, 18, 0, 0, 0, time.UTC)

// A day of simulated jobs, as Prometheus would scrape it from this controller, kubelet and NVIDIA's exporter: the metrics' own code tells of the jobs.
// test/dashboards draws what the dashboards show of it.
func TestSimulatedDay(t *testing.T) {
	var day bytes.Buffer
	told := map[string]bool{}
	platform := newSimulatedPlatform(t)
	for minute := 0; minute <= minutesOfDay; minute += scrapeMinutes {
		platform.advance(minute)
		for _, family := range platform.gather(t) {
			told[family.GetName()] = true
			for _, metric := range family.GetMetric() {
				metric.TimestampMs = ptr.To(platform.now.UnixMilli())
			}
			if _, err := expfmt.MetricFamilyToOpenMetrics(&day, family); err != nil {
				t.Fatal(err)
			}
		}
	}
	day.WriteString("# EOF\n")
	for _, m := range []metricDefinition{phaseSeconds, endedTotal, restartsTotal, jobStatus, phaseSince, queuePosition, jobRestarts, restartLimit, progress, podCount, podInfo} {
		if !told[m.name] {
			t.Errorf("nothing in the day makes the controller tell %s", m.name)
		}
	}
	if path := os.Getenv("LOCKSTEP_SIMULATED_DAY"); path != "" {
		if err := os.WriteFile(path, day.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// simulatedJob is a job with what becomes of it, in minutes.
type simulatedJob struct {
	namespace, name, runtime, queue string
	nodes                           int
	gang, start, run                int // until all pods have machines, until the command runs, and that it runs
	loses                           int // of its run until a machine is lost
	fails                           mpi.Reason
	created, admitted               int // the second is zero while it waits

	now      jobv1.Phase
	since    time.Time
	restarts int
}

func (j *simulatedJob) phaseAt(minute int) jobv1.Phase {
	ready := j.admitted + j.gang
	runs := ready + j.start
	lost := runs + j.loses
	switch {
	case j.admitted == 0:
		return jobv1.Queued
	case minute >= runs+j.run && j.fails != "":
		return jobv1.Failed
	case minute >= runs+j.run:
		return jobv1.Complete
	case minute >= ready && j.fails == diagnose.ImagePull:
		return jobv1.Pulling
	case j.loses > 0 && minute >= lost && minute < lost+restartMinutes:
		return jobv1.Restarting
	case minute >= runs:
		return jobv1.Running
	case minute >= ready:
		return jobv1.Starting
	}
	return jobv1.Scheduling
}

// simulatedPlatform is who runs and who waits for the machines of a queue.
type simulatedPlatform struct {
	registry *prometheus.Registry
	metrics  *Jobs
	chance   *rand.Rand
	free     map[string]int
	jobs     []*simulatedJob
	now      time.Time
	used     map[string]float64 // what kubelet has counted, by metric and pod
}

func newSimulatedPlatform(t *testing.T) *simulatedPlatform {
	t.Helper()
	registry := prometheus.NewRegistry()
	metrics, err := newJobs(registry)
	if err != nil {
		t.Fatal(err)
	}
	free := map[string]int{"gpu": 10, "cpu": 20, "": math.MaxInt}
	return &simulatedPlatform{registry: registry, metrics: metrics, chance: rand.New(rand.NewPCG(1, 1)), free: free, used: map[string]float64{}}
}

func (p *simulatedPlatform) advance(minute int) {
	p.now = dayBegins.Add(time.Duration(minute) * time.Minute)
	// Most jobs are submitted between eight and eighteen o'clock.
	if p.chance.Float64() < 0.05+0.12*max(0, math.Sin(float64(minute-14*60)/600*math.Pi)) {
		p.submit(minute)
	}
	for _, j := range scripted {
		if j.created == minute {
			p.jobs = append(p.jobs, &j)
		}
	}
	for _, j := range p.jobs {
		if j.admitted == 0 && p.free[j.queue] >= j.nodes {
			p.free[j.queue] -= j.nodes
			j.admitted = minute
		}
		if now := j.phaseAt(minute); now != j.now {
			j.now, j.since = now, p.now
			p.count(j)
		}
	}
	p.jobs = slices.DeleteFunc(p.jobs, func(j *simulatedJob) bool { return isOver(j) && p.now.Sub(j.since) > keptMinutes*time.Minute })
}

func isOver(j *simulatedJob) bool { return j.now == jobv1.Complete || j.now == jobv1.Failed }

// submit makes a job of one of the teams. Few of them fail.
func (p *simulatedPlatform) submit(minute int) {
	j := []simulatedJob{
		{namespace: "team-vision", name: "train", runtime: "openmpi5-cuda", queue: "gpu", nodes: 1 << p.chance.IntN(4), run: 20 + p.chance.IntN(120)},
		{namespace: "team-weather", name: "forecast", runtime: "mpich-cpu", queue: "cpu", nodes: 8 << p.chance.IntN(2), run: 20 + p.chance.IntN(60)},
		{namespace: "team-chem", name: "md", runtime: "openmpi5-cpu", nodes: 2, run: 10 + p.chance.IntN(60)},
	}[p.chance.IntN(3)]
	j.name, j.created = fmt.Sprintf("%s-%04d", j.name, minute), minute
	j.gang, j.start = 2*p.chance.IntN(3), 2+2*p.chance.IntN(2)
	reasons := []mpi.Reason{diagnose.RankFailed, diagnose.PythonException, diagnose.PythonException, diagnose.OOMKilled, diagnose.ImagePull, diagnose.Hang}
	if i := p.chance.IntN(30); i < len(reasons) {
		j.fails = reasons[i]
	} else if i < len(reasons)+2 {
		j.loses = j.run / 2
	}
	p.jobs = append(p.jobs, &j)
}

// count is what the controller counts when a job has come into a phase.
func (p *simulatedPlatform) count(j *simulatedJob) {
	whose := jobLabels{j.namespace, j.runtime, j.queue}
	switch {
	case j.now == jobv1.Restarting:
		j.restarts++
		p.metrics.restarts.WithLabelValues(whose.labelValues(string(diagnose.MachineLost))...).Inc()
	case j.now == jobv1.Running && j.restarts == 0:
		some := func(most float64) time.Duration {
			return time.Duration((0.5 + p.chance.Float64()/2) * most * float64(time.Second))
		}
		minutes := func(n int) time.Duration { return time.Duration(n) * time.Minute }
		wide := float64(j.nodes)
		took := map[string]time.Duration{
			phaseQueued: minutes(j.admitted-j.created) + some(2), phaseGang: minutes(j.gang) + some(3), phaseImages: minutes(j.start) - some(30),
			phaseGate: some(1 + wide/4), phaseConnect: some(wide / 10), phaseLaunch: some(1 + wide/2), phaseRun: minutes(j.run),
		}
		took[phaseStart] = took[phaseQueued] + took[phaseGang] + took[phaseImages] + took[phaseGate] + took[phaseLaunch]
		for phase, duration := range took {
			p.metrics.observePhase(whose, phase, duration)
		}
	case isOver(j):
		p.free[j.queue] += j.nodes
		reason := map[jobv1.Phase]string{jobv1.Complete: string(job.ReasonCompleted), jobv1.Failed: string(j.fails)}[j.now]
		p.metrics.ended.WithLabelValues(whose.labelValues(string(j.now), reason)...).Inc()
	}
}

// gather is what is scraped.
func (p *simulatedPlatform) gather(t *testing.T) []*dto.MetricFamily {
	t.Helper()
	var cache lists
	places := map[string]int{}
	for _, j := range p.jobs {
		if j.now == jobv1.Queued {
			places[j.queue]++
		}
		cache.jobs = append(cache.jobs, p.trainJob(j, places[j.queue]))
		cache.pods = append(cache.pods, j.pods()...)
	}
	scrape := prometheus.NewRegistry()
	scrape.MustRegister(podCountCollector{cache, mpi.TrainJobLabel}, jobStateCollector{cache, time.Now}, podUse{p, cache.pods})
	families, err := prometheus.Gatherers{p.registry, scrape}.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families
}

func (p *simulatedPlatform) trainJob(j *simulatedJob, place int) trainer.TrainJob {
	ready := condition(job.PodsReady, true, "PodsReady", "")
	all := map[jobv1.Phase][]metav1.Condition{
		jobv1.Pulling:  {condition(job.PodsReady, false, string(j.fails), "simulated")},
		jobv1.Starting: {ready},
		jobv1.Running:  {ready, condition(job.Running, true, string(job.ReasonGatePassed), "")},
		jobv1.Complete: {condition(trainer.TrainJobComplete, true, string(job.ReasonCompleted), "")},
		jobv1.Failed:   {condition(trainer.TrainJobFailed, true, string(j.fails), "simulated")},
	}[j.now]
	if j.restarts > 0 {
		all = append(all, condition(job.Restarting, j.now == jobv1.Restarting, string(diagnose.MachineLost), fmt.Sprintf(observe.RestartFormat+": the machine is gone", j.restarts, 3)))
	}
	if j.now == jobv1.Queued {
		all = append(all, condition(trainer.TrainJobSuspended, true, "Suspended", fmt.Sprintf("suspended by Kueue; waits in queue `%s` at position %d of 9: no room", j.queue, place)))
	} else {
		all = append(all, condition(job.Created, true, "", ""))
	}
	for i := range all {
		all[i].LastTransitionTime = metav1.NewTime(j.since)
	}
	trainJob := published(j.name, all)
	edited(trainJob, func(r *jobv1.Record) {
		if r.Phase = j.now; j.now == jobv1.Queued {
			r.Queue = &jobv1.Queue{Name: j.queue, Position: place, Length: 9, Text: "waits"}
		}
	})
	trainJob.Namespace, trainJob.Labels[kueue.QueueLabel] = j.namespace, j.queue
	trainJob.Spec.RuntimeRef.Name, trainJob.Spec.Suspend = j.runtime, ptr.To(j.now == jobv1.Queued)
	if j.name == picturedJob && j.now == jobv1.Running {
		done := p.now.Sub(dayBegins).Minutes() - float64(j.admitted)
		trainJob.Status.TrainerStatus = &trainer.TrainerStatus{ProgressPercentage: ptr.To(int32(100 * done / float64(j.run)))}
	}
	return *trainJob
}

// pods are the launcher and the nodes of a job that has machines. JobSet deletes nodes when their job ends.
func (j *simulatedJob) pods() (all []corev1.Pod) {
	state := map[jobv1.Phase]corev1.PodPhase{jobv1.Complete: corev1.PodSucceeded, jobv1.Failed: corev1.PodFailed, jobv1.Running: corev1.PodRunning, jobv1.Starting: corev1.PodRunning}[j.now]
	if j.now == jobv1.Queued {
		return nil
	}
	for i := 0; i <= j.nodes && (i == 0 || !isOver(j)); i++ {
		role, index := mpi.LauncherJob, 0
		if i > 0 {
			role, index = mpi.NodeJob, i-1
		}
		name := fmt.Sprintf("%s-%s-0-%d-%s", j.name, role, index, []string{"x7k2p", "m4q9d"}[j.restarts])
		all = append(all, corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: j.namespace, Name: name, Labels: map[string]string{mpi.TrainJobLabel: j.name, mpi.ReplicatedJobLabel: role}},
			Status:     corev1.PodStatus{Phase: state},
		})
	}
	return all
}

// podUse is what kubelet and NVIDIA's exporter tell of the pods of the pictured job.
type podUse struct {
	platform *simulatedPlatform
	pods     []corev1.Pod
}

// Describe names nothing: these metrics are not ours.
func (podUse) Describe(chan<- *prometheus.Desc) {}

// Collect tells less of a node that is behind the others after the restart.
func (u podUse) Collect(series chan<- prometheus.Metric) {
	for i := range u.pods {
		pod := &u.pods[i]
		if pod.Labels[mpi.TrainJobLabel] != picturedJob || pod.Status.Phase != corev1.PodRunning {
			continue
		}
		role, works := pod.Labels[mpi.ReplicatedJobLabel], 0.95+0.05*u.platform.chance.Float64()
		if role == mpi.LauncherJob {
			works /= 200
		} else if strings.HasSuffix(pod.Name, "-2-m4q9d") {
			works *= 0.4
		}
		tell := func(name string, value float64, label, is string) {
			kind := prometheus.GaugeValue
			if strings.HasSuffix(name, "_total") {
				kind = prometheus.CounterValue
				u.platform.used[name+pod.Name] += value * 60 * scrapeMinutes
				value = u.platform.used[name+pod.Name]
			}
			series <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, "Simulated.", []string{"namespace", "pod", label}, nil), kind, value, pod.Namespace, pod.Name, is)
		}
		tell("container_cpu_usage_seconds_total", 32*works, "container", role)
		tell("container_memory_working_set_bytes", (1+110*works)*(1<<30), "container", role)
		tell("container_network_transmit_bytes_total", 4e8*works, "interface", "eth0")
		tell("container_network_receive_bytes_total", 4e8*works, "interface", "eth0")
		for gpu := 0; gpu < 4 && role == mpi.NodeJob; gpu++ {
			tell("DCGM_FI_DEV_GPU_UTIL", math.Floor(100*works), "gpu", fmt.Sprint(gpu))
			tell("DCGM_FI_DEV_FB_USED", 40000+math.Floor(20000*works), "gpu", fmt.Sprint(gpu))
		}
	}
}
