package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/rand"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/apierror"
	"lockstep.dev/lockstep/pkg/jobs/certify"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/jobs/logs"
	"lockstep.dev/lockstep/pkg/jobs/submit"
	"lockstep.dev/lockstep/pkg/jobs/view"
	"lockstep.dev/lockstep/pkg/mpi"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
)

// RuntimeDetail is a runtime on its page.
type RuntimeDetail struct {
	fetch.RuntimeDetails
	// Test is the right to make the job that tests it, in the namespace of the query.
	Test Permission `json:"test"`
	// Jobs are the latest that the user may list.
	Jobs []Job `json:"jobs"`
}

// mostJobs is how many jobs the page of a runtime shows.
const mostJobs = 20

// readRuntime reads the runtime of the path.
func (v *visit) readRuntime(namespace string) (fetch.RuntimeDetails, *mpijob.Runtime, error) {
	kind := cmp.Or(v.URL.Query().Get("kind"), trainer.ClusterTrainingRuntimeKind)
	if kind != trainer.ClusterTrainingRuntimeKind && kind != trainer.TrainingRuntimeKind {
		return fetch.RuntimeDetails{}, nil, badRequest{fmt.Sprintf("%q is no kind of runtimes", kind)}
	}
	return fetch.ReadRuntimeDetails(v.Context(), v.c, kind, namespace, v.PathValue("name"))
}

// runtime shows a runtime, and the jobs that it ran.
func (s *Server) runtime(v *visit) (any, error) {
	namespace, err := v.ofOneNamespace()
	if err != nil {
		return nil, err
	}
	found, _, err := v.readRuntime(namespace)
	if err != nil {
		return nil, err
	}
	answer := RuntimeDetail{RuntimeDetails: found, Jobs: []Job{}}
	if answer.Test, err = v.mayCreate(v.Context(), namespace); err != nil {
		return nil, err
	}
	jobs, err := v.readJobs(v.Context(), "")
	if err != nil {
		why := view.Withheld{What: "jobs of the runtime", Why: apierror.Explain(err).Message}
		answer.Withheld = append(answer.Withheld, why)
		return answer, nil
	}
	for _, j := range jobs.Items {
		same := j.Runtime.Name == found.Name && j.Runtime.Kind == found.Kind
		if same && (found.Kind == trainer.ClusterTrainingRuntimeKind || j.Namespace == namespace) {
			answer.Jobs = append(answer.Jobs, j)
		}
	}
	answer.Jobs = answer.Jobs[:min(len(answer.Jobs), mostJobs)]
	elsewhere := slices.DeleteFunc(jobs.Withheld, func(w view.Withheld) bool { return w.What != otherJobs })
	answer.Withheld = append(answer.Withheld, elsewhere...)
	return answer, nil
}

// probeJob returns the job of `kubectl mpi certify`, which is not made yet. It carries the present fingerprint of the
// runtime.
func (s *Server) probeJob(v *visit) (any, error) {
	namespace, err := v.ofOneNamespace()
	if err != nil {
		return nil, err
	}
	details, runtime, err := v.readRuntime(namespace)
	if err != nil {
		return nil, err
	}
	queues, err := fetch.ListQueueNames(v.Context(), v.c, namespace)
	if err != nil {
		return nil, err
	}
	queue, _ := submit.ChooseQueue(queues, fetch.PlatformQueue, "") // empty for several: the preview names what is missing
	job, err := submit.TrainJob(submit.Options{
		Name: "certify-" + rand.String(8), Namespace: namespace, Nodes: max(2, details.MinNodes), Queue: queue,
		Runtime: submit.Runtime{Name: details.Name, Kind: details.Kind},
	})
	if err != nil {
		return nil, err
	}
	made, err := mpijob.Resolve(job, *runtime)
	if err == nil {
		err = certify.AddProbe(job, made.World, certify.Limits{For: certify.DefaultFor})
	}
	if err != nil {
		return nil, badRequest{err.Error()}
	}
	if details.Fingerprint != "" && details.Kind == trainer.ClusterTrainingRuntimeKind {
		job.Annotations = map[string]string{mpi.FingerprintAnnotation: details.Fingerprint}
	}
	return Clone{Name: job.Name, YAML: yamlOf(submit.Manifest(job))}, nil
}

// Probe holds what the test of a runtime measured.
type Probe struct {
	// Hosts has the host of each rank.
	Hosts []string       `json:"hosts"`
	Pairs []certify.Pair `json:"pairs"`
	// Between sums up the pairs on different hosts, as `kubectl mpi certify` prints it; nil without any.
	Between *ProbeSummary `json:"between,omitempty"`
	// Problems are reasons why the test certifies nothing.
	Problems []string `json:"problems"`
	// Certified is the entry for the spec of the cluster, empty with problems.
	Certified string `json:"certified,omitempty"`
}

// ProbeSummary has round trips in microseconds and bandwidths in Mbit/s.
type ProbeSummary struct {
	Pairs            int     `json:"pairs"`
	RoundTripMedian  float64 `json:"roundTripMedian"`
	RoundTripWorst   float64 `json:"roundTripWorst"`
	BandwidthMedian  float64 `json:"bandwidthMedian"`
	BandwidthSlowest float64 `json:"bandwidthSlowest"`
}

// probe reads the result of a probe in the log of a job.
func (s *Server) probe(v *visit) (any, error) {
	o, _, err := v.readObjects(v.Context())
	if err != nil {
		return nil, err
	}
	ofLauncher := func(source logs.LogSource) bool { return source.Role == mpi.LauncherJob }
	q := logRequest{attempt: -1, options: logs.Options{Most: s.limits.Logs, MostBytes: waitingBytes, Want: ofLauncher}}
	report, err := certify.ReadReport(func(take func([]logs.Line) error) error {
		_, err := v.readLogs(q, func(string) {}, take)
		return err
	})
	if err != nil {
		return nil, err
	}
	answer := Probe{Hosts: []string{}, Pairs: []certify.Pair{}, Problems: []string{}}
	if report == nil {
		answer.Problems = []string{"the log of the launcher has no result of a probe"}
		return answer, nil
	}
	for _, rank := range report.Ranks {
		answer.Hosts = append(answer.Hosts, rank.Host)
	}
	answer.Pairs = listOf(report.Pairs)
	if b := report.BetweenHosts; b != nil {
		answer.Between = &ProbeSummary{b.Pairs, b.RoundTripMedian, b.RoundTripWorst, b.BandwidthMedian, b.BandwidthSlowest}
	}
	e := evidenceOf(o, *report)
	answer.Problems = listOf(e.Problems())
	if e.Before == "" {
		const none = "the job has no fingerprint of a runtime of the cluster: start the test on the page of the runtime"
		answer.Problems = append(answer.Problems, none)
	}
	if len(answer.Problems) == 0 {
		answer.Certified = certify.Stanza(e.Certification())
	}
	return answer, nil
}

func evidenceOf(o view.JobObjects, report certify.Report) certify.Evidence {
	e := certify.Evidence{
		Runtime: o.TrainJob.Spec.RuntimeRef.Name, By: o.TrainJob.Annotations[view.UserAnnotation],
		Before: o.TrainJob.Annotations[mpi.FingerprintAnnotation], Digests: certify.ImageDigests(o.Pods),
		Report: report, Now: time.Now(),
	}
	if j := view.JobOf(o); j.World != nil {
		e.Nodes = j.World.Nodes
	}
	if o.Runtime != nil {
		e.After = o.Runtime.Annotations[mpi.FingerprintAnnotation]
	}
	return e
}
