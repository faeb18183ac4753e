package artifacts

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeevents "k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/events"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/kinds"
	"lockstep.dev/lockstep/pkg/mpi/template"
)

// world is a cluster with a job that has ended.
type world struct {
	t      *testing.T
	c      client.Client
	copier *Copier
	events chan string
}

func newWorld(t *testing.T, artifacts string, phase jobv1.Phase, edit func(*jobv1.Record)) *world {
	t.Helper()
	scheme, err := kinds.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	record := jobv1.Record{
		Version: jobv1.Version, UID: "uid-of-train", Executor: jobv1.Controller, Phase: phase,
		Started: metav1.NewTime(time.Unix(1e9, 0)),
	}
	if edit != nil {
		edit(&record)
	}
	text, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	end, source := trainer.TrainJobComplete, "s3://bucket/set"
	if phase == jobv1.Failed {
		end = trainer.TrainJobFailed
	}
	trainJob := &trainer.TrainJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "train", UID: "uid-of-train", Annotations: map[string]string{
			mpi.ArtifactsAnnotation: artifacts, jobv1.Annotation: string(text), mpi.UserAnnotation: "jane",
		}},
		Spec: trainer.TrainJobSpec{
			RuntimeRef:  trainer.RuntimeRef{Name: "openmpi"},
			Initializer: &trainer.Initializer{Dataset: &trainer.DatasetInitializer{StorageUri: &source}},
			Trainer: &trainer.Trainer{
				Command: []string{"mpirun", "train"}, Env: []corev1.EnvVar{{Name: "TOKEN", Value: "s3cr3t"}},
			},
		},
		Status: trainer.TrainJobStatus{Conditions: []metav1.Condition{{Type: end, Status: metav1.ConditionTrue}}},
	}
	w := &world{t: t, c: fake.NewClientBuilder().WithScheme(scheme).WithObjects(trainJob, fetchedPod()).Build()}
	sink := kubeevents.NewFakeRecorder(10)
	w.events = sink.Events
	w.copier = &Copier{
		Client: w.c, Live: w.c, Events: &events.Recorder{EventRecorder: sink},
		FindRuntime: func(context.Context, *trainer.TrainJob) (*job.Runtime, error) { return runtime(t), nil },
	}
	return w
}

// fetchedPod has brought the data of the job.
func fetchedPod() *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "fetch", Labels: map[string]string{
		mpi.TrainJobLabel: "train", mpi.AncestorLabel: mpi.DatasetInitializer,
	}}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{terminated(mpi.DatasetInitializer, 0, `{"digest":"371a"}`)}
	return pod
}

func terminated(container string, code int32, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: container, State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message},
	}}
}

func runtime(t *testing.T) *job.Runtime {
	t.Helper()
	built, err := template.Runtime{
		Name: "openmpi", Framework: "mpi", Implementation: mpi.OpenMPI, Version: "5.0.7", Image: "registry.test/mpi:1",
		World:         mpi.World{Nodes: 2, SlotsPerNode: 1},
		NodeResources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
		Agent:         template.Agent{Image: "registry.test/agent:1", ImageVolume: true},
	}.Build()
	if err != nil {
		t.Fatal(err)
	}
	marks := map[string]string{mpi.FingerprintAnnotation: "sha256:1"}
	return &job.Runtime{Labels: built.Labels, Annotations: marks, Spec: built.Spec}
}

// look reconciles, and returns what the record then shows.
func (w *world) look() *jobv1.Artifacts {
	w.t.Helper()
	key := client.ObjectKey{Namespace: "team", Name: "train"}
	if _, err := w.copier.Reconcile(w.t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
		w.t.Fatal(err)
	}
	var trainJob trainer.TrainJob
	if err := w.c.Get(w.t.Context(), key, &trainJob); err != nil {
		w.t.Fatal(err)
	}
	record, _ := jobv1.Read(trainJob.Annotations, trainJob.UID)
	return record.Artifacts
}

// copying returns the Job that copies, nil for none.
func (w *world) copying() *batchv1.Job {
	var made batchv1.Job
	if err := w.c.Get(w.t.Context(), client.ObjectKey{Namespace: "team", Name: "train-artifacts"}, &made); err != nil {
		return nil
	}
	return &made
}

// end lets the pod of the Job end.
func (w *world) end(code int32, report mpi.FetchReport, condition batchv1.JobConditionType) {
	w.t.Helper()
	text, err := json.Marshal(report)
	if err != nil {
		w.t.Fatal(err)
	}
	made := w.copying()
	made.UID = "uid-of-copy"
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: "train-artifacts-x", Labels: map[string]string{batchv1.JobNameLabel: made.Name},
		OwnerReferences: []metav1.OwnerReference{{Kind: "Job", Name: made.Name, UID: made.UID, Controller: ptr.To(true)}},
	}}
	pod.Status.Phase = corev1.PodSucceeded
	if code != 0 {
		pod.Status.Phase = corev1.PodFailed
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{terminated(mpi.ArtifactsStep, code, string(text))}
	ended := []batchv1.JobCondition{{Type: condition, Status: corev1.ConditionTrue, Message: "of the Job"}}
	if err := errors.Join(w.c.Create(w.t.Context(), pod), w.c.Update(w.t.Context(), made)); err != nil {
		w.t.Fatal(err)
	}
	made.Status.Conditions = ended
	if err := w.c.Status().Update(w.t.Context(), made); err != nil {
		w.t.Fatal(err)
	}
}

const toBucket = "{to: s3://models/runs, secret: bucket}"

func TestArtifactsAreCopied(t *testing.T) {
	w := newWorld(t, toBucket, jobv1.Complete, nil)
	if got := w.look(); got == nil || got.State != jobv1.CopyRunning || got.To != "s3://models/runs/train-uid-of-t" {
		t.Fatalf("after the end it shows %+v", got)
	}
	env := w.copying().Spec.Template.Spec.Containers[0].Env
	var manifest jobv1.Manifest
	for _, v := range env {
		if strings.Contains(v.Value, "s3cr3t") {
			t.Error("a variable of the job is in the manifest")
		}
		if v.Name == mpi.RunVariable {
			if err := json.Unmarshal([]byte(v.Value), &manifest); err != nil {
				t.Fatal(err)
			}
		}
	}
	input := jobv1.Input{Step: mpi.DatasetInitializer, URI: "s3://bucket/set", Digest: "371a"}
	if manifest.User != "jane" || manifest.Fingerprint != "sha256:1" || manifest.Image != "registry.test/mpi:1" ||
		len(manifest.Inputs) != 1 || manifest.Inputs[0] != input {
		t.Errorf("the manifest does not name the origin of the artifacts: %+v", manifest)
	}
	w.end(0, mpi.FetchReport{Files: 3, Bytes: 11, Digest: "12ab"}, batchv1.JobComplete)
	if got := w.look(); got.State != jobv1.CopyDone || got.Files != 3 || got.Bytes != 11 || got.Digest != "12ab" {
		t.Errorf("a copy that is done shows %+v", got)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "train-artifacts-x"}}
	if err := w.c.Delete(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if got := w.look(); got.State != jobv1.CopyDone || got.Files != 3 || got.Bytes != 11 || got.Digest != "12ab" {
		t.Errorf("once its pod is gone it shows %+v", got)
	}
}

func TestArtifactsThatAreNotCopied(t *testing.T) {
	for name, c := range map[string]struct {
		artifacts string
		phase     jobv1.Phase
		edit      func(*jobv1.Record)
		copied    bool
		state     jobv1.CopyState
	}{
		"of a failed job stay":                    {toBucket, jobv1.Failed, nil, false, jobv1.CopyNone},
		"of a failed job come, if it asks for it": {"{to: s3://m, when: Always}", jobv1.Failed, nil, true, jobv1.CopyRunning},
		"without a destination stay":              {"folder: run-7", jobv1.Complete, nil, false, ""},
		// Users may write the record: it decides nothing.
		"are copied whatever the record claims": {toBucket, jobv1.Complete, func(r *jobv1.Record) {
			r.Artifacts = &jobv1.Artifacts{State: jobv1.CopyDone, To: "s3://models/runs/train-uid-of-t"}
		}, true, jobv1.CopyRunning},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.artifacts, c.phase, c.edit)
			got := w.look()
			if got == nil || got.State != c.state || (w.copying() != nil) != c.copied {
				t.Errorf("it shows %+v, copied by %v", got, w.copying())
			}
		})
	}
	t.Run("of a job that never ran are none", func(t *testing.T) {
		w := newWorld(t, toBucket, jobv1.Failed, func(r *jobv1.Record) { r.Started = metav1.Time{} })
		if got := w.look(); got != nil || w.copying() != nil {
			t.Errorf("it shows %+v", got)
		}
	})
}

// An annotation that changes after the pods were made leads to no other folder, and to no copy if it is wrong.
func TestAnAnnotationThatChanges(t *testing.T) {
	made := func(t *testing.T, artifacts string) *jobset.JobSet {
		t.Helper()
		trainJob := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "train", UID: "uid-of-train"}}
		if artifacts != "" {
			trainJob.Annotations = map[string]string{mpi.ArtifactsAnnotation: artifacts}
		}
		resolved, err := job.Resolve(trainJob, *runtime(t))
		if err != nil {
			t.Fatal(err)
		}
		return desired.JobSet(resolved)
	}
	for name, c := range map[string]struct {
		before, after, folder string
		state                 jobv1.CopyState
	}{
		"the folder": {toBucket, "{to: s3://models/runs, folder: of-another-job}", "train-uid-of-t", jobv1.CopyRunning},
		"broken":     {toBucket, "{to: nowhere}", "train-uid-of-t", jobv1.CopyFailed},
		"no YAML":    {toBucket, "]", "train-uid-of-t", jobv1.CopyFailed},
		"late":       {"", toBucket, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.after, jobv1.Complete, nil)
			if err := w.c.Create(t.Context(), made(t, c.before)); err != nil {
				t.Fatal(err)
			}
			got := w.look()
			switch {
			case c.folder == "" && (got != nil || w.copying() != nil):
				t.Errorf("pods that had no folder: %+v", got)
			case c.folder != "" && (got == nil || got.Folder != c.folder || got.State != c.state):
				t.Errorf("it shows %+v", got)
			case c.state == jobv1.CopyRunning:
				mount := w.copying().Spec.Template.Spec.Containers[0].VolumeMounts[0]
				if mount.SubPath != "artifacts/"+c.folder {
					t.Errorf("it copies %s", mount.SubPath)
				}
			}
		})
	}
}

func TestACopyThatFails(t *testing.T) {
	w := newWorld(t, toBucket, jobv1.Complete, nil)
	w.look()
	w.end(mpi.FetchFailedForGood, mpi.FetchReport{Reason: diagnose.DataDenied, Message: "HTTP 403"}, batchv1.JobFailed)
	got := w.look()
	if got.State != jobv1.CopyFailed || got.Reason != string(diagnose.DataDenied) ||
		got.Message != "HTTP 403; once that is mended, a job with the same folder copies it, "+
			"`kubectl mpi clone train NAME --resume -- mpirun true`" {
		t.Errorf("it shows %+v", got)
	}
	if event := w.event(); !strings.Contains(event, "ArtifactsNotCopied") || !strings.Contains(event, "HTTP 403") {
		t.Error(event)
	}
	if err := w.c.Delete(t.Context(), w.copying()); err != nil {
		t.Fatal(err)
	}
	if got := w.look(); got.State != jobv1.CopyRunning || w.copying() == nil {
		t.Errorf("without its Job it shows %+v", got)
	}
}

// event returns the next event, empty for none.
func (w *world) event() string {
	select {
	case event := <-w.events:
		return event
	default:
		return ""
	}
}
