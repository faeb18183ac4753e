package job_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/view"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
)

var updateVectors = flag.Bool("update", false, "write test/vectors")

// vectorsFile is what the front ends are tested with, those in Go and the Python package: see the README beside it.
const vectorsFile = "../../../test/vectors/jobs.json"

// vector is a state of the objects of a job and what is to be shown of it.
type vector struct {
	Name string        `json:"name"`
	Now  time.Time     `json:"now"`
	In   vectorObjects `json:"in"`
	Want vectorShown   `json:"want"`
}

type vectorObjects struct {
	TrainJob *trainer.TrainJob `json:"trainJob"`
	Runtime  *job.Runtime      `json:"runtime"`
	JobSet   *jobset.JobSet    `json:"jobSet"`
	Pods     []corev1.Pod      `json:"pods"`
}

type vectorShown struct {
	Phase    jobv1.Phase      `json:"phase"`
	State    string           `json:"state"`
	Executor jobv1.Executor   `json:"executor"`
	Cause    *view.Cause      `json:"cause"`
	Message  string           `json:"message"`
	Queue    *jobv1.Queue     `json:"queue"`
	LogsURL  string           `json:"logsURL"`
	Used     string           `json:"used"`
	Columns  view.ListColumns `json:"columns"`
}

// collected are the first state of each phase with each cause, while TestVectors runs.
var collected map[string]vector

func seen(v vectorObjects, now time.Time) view.Job {
	return view.JobOf(view.JobObjects{Now: now, TrainJob: v.TrainJob, Runtime: v.Runtime, JobSet: v.JobSet, Pods: v.Pods, PodsRead: true})
}

// shown compares what front ends show of a job that has come to rest with what the controller knows and says of it.
func (w *world) shown() {
	w.t.Helper()
	objects := vectorObjects{TrainJob: w.TrainJob, Runtime: w.Runtime, JobSet: w.JobSet, Pods: w.Pods}
	j := seen(objects, w.Now)
	if known := w.facts.State().Phase; j.Phase != known {
		w.t.Errorf("the job is %s, and shown as %s: %v", known, j.Phase, inShort(status.AllConditions(w.TrainJob)))
	}
	if shows := status.PublishedConditions(status.AllConditions(w.TrainJob)); len(shows) > 0 && j.Cause != nil {
		if c := shows[0]; j.Cause.Reason != c.Reason || j.Cause.Text != c.Message {
			w.t.Errorf("the status says %s `%s`, and shown is %s `%s`", c.Reason, c.Message, j.Cause.Reason, j.Cause.Text)
		}
	}
	w.collect()
}

// collect keeps a state for other front ends.
func (w *world) collect() {
	w.steps++
	if collected == nil {
		return
	}
	objects := vectorObjects{TrainJob: w.TrainJob.DeepCopy(), Runtime: trimmedRuntime(w.Runtime), JobSet: trimmedJobSet(w.JobSet), Pods: slices.Clone(w.Pods)}
	j := seen(objects, w.Now)
	key := fmt.Sprint(j.Executor, j.Phase, j.Message != "", j.Queue != nil && j.Queue.Position > 0)
	if j.Cause != nil {
		key += j.Cause.Reason + string(j.Cause.Source)
	}
	if _, known := collected[key]; known {
		return
	}
	_, life, _ := strings.Cut(w.t.Name(), "/")
	collected[key] = vector{
		Name: fmt.Sprintf("%s %d", life, w.steps), Now: w.Now, In: objects,
		Want: vectorShown{Phase: j.Phase, State: j.State, Executor: j.Executor, Cause: j.Cause, Message: j.Message, Queue: j.Queue, LogsURL: j.LogsURL, Used: j.UsedText(w.Now), Columns: j.Columns(w.Now)},
	}
}

// trimmedRuntime leaves of a runtime what says how large a world is, and says where logs and docs are.
func trimmedRuntime(runtime *job.Runtime) *job.Runtime {
	if runtime == nil {
		return nil
	}
	annotations := map[string]string{
		mpi.LogsAnnotation: "https://logs.example.com/{namespace}?q=%22{job}%22&from={from}&to={to}",
		mpi.DocsAnnotation: "https://docs.example.com",
	}
	maps.Copy(annotations, runtime.Annotations)
	trimmed := job.Runtime{Labels: runtime.Labels, Annotations: annotations, Spec: *runtime.Spec.DeepCopy()}
	for i := range trimmed.Spec.Template.Spec.ReplicatedJobs {
		trimPods(&trimmed.Spec.Template.Spec.ReplicatedJobs[i])
	}
	return &trimmed
}

// trimmedJobSet leaves of a JobSet what says how many pods it wants, and how it is.
func trimmedJobSet(js *jobset.JobSet) *jobset.JobSet {
	if js == nil {
		return nil
	}
	trimmed := js.DeepCopy()
	for i := range trimmed.Spec.ReplicatedJobs {
		trimPods(&trimmed.Spec.ReplicatedJobs[i])
	}
	return trimmed
}

func trimPods(rj *jobset.ReplicatedJob) {
	template := &rj.Template.Spec.Template
	template.ObjectMeta = metav1.ObjectMeta{}
	containers := template.Spec.Containers
	template.Spec = corev1.PodSpec{}
	for _, c := range containers {
		template.Spec.Containers = append(template.Spec.Containers, corev1.Container{Name: c.Name, Image: c.Image})
	}
}

// TestVectors: the states of whole lives, with what is shown of them, are those that the Python package is tested with.
func TestVectors(t *testing.T) {
	collected = map[string]vector{}
	defer func() { collected = nil }()
	lives := executors()
	for name, live := range companions() {
		lives["Beside"+name] = live
	}
	for _, name := range slices.Sorted(maps.Keys(lives)) {
		t.Run(name, lives[name])
	}
	list := slices.SortedFunc(maps.Values(collected), func(a, b vector) int { return strings.Compare(a.Name, b.Name) })
	var made bytes.Buffer
	encoder := json.NewEncoder(&made)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(list); err != nil {
		t.Fatal(err)
	}
	if *updateVectors {
		if err := os.WriteFile(vectorsFile, made.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Fatal("test/vectors was written: run again")
	}
	written, err := os.ReadFile(vectorsFile)
	if err != nil || !bytes.Equal(written, made.Bytes()) {
		t.Errorf("test/vectors is not what is shown of jobs, run `go test ./pkg/mpi/job -run TestVectors -update` (%v)", err)
	}
}
