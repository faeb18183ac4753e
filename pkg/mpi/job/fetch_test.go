package job_test

import (
	"crypto/rand"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// fetches asks for a dataset.
func fetches(uri string) func(*trainer.TrainJob) {
	return func(trainJob *trainer.TrainJob) {
		trainJob.Spec.Initializer = &trainer.Initializer{Dataset: &trainer.DatasetInitializer{
			StorageUri: &uri, SecretRef: &corev1.LocalObjectReference{Name: "bucket"},
			Env: []corev1.EnvVar{{Name: "ENDPOINT", Value: "https://s3.test"}},
		}}
	}
}

func TestNamesOfJobsThatFetch(t *testing.T) {
	long := trainJobOf(fetches("s3://bucket/set"))
	long.Name = strings.Repeat("a", job.MaxNameLength)
	if _, err := job.Resolve(long, *runtimeOf(false)); err == nil || !strings.Contains(err.Error(), "at most 43") {
		t.Errorf("the API server would refuse the Job: %v", err)
	}
	long.Name = long.Name[1:]
	made, err := job.Resolve(long, *runtimeOf(false))
	if err != nil || len(desired.FetchJobs(made)[0].Name) > 63 {
		t.Errorf("%v", err)
	}
}

func queued(trainJob *trainer.TrainJob) {
	trainJob.Labels = map[string]string{job.QueueLabel: "team", job.PriorityLabel: "high"}
	suspend(trainJob)
}

const fetchUID = types.UID("fetch-uid")

// fetching is the observation of a TrainJob whose data is fetched by a Job of these conditions and pods.
func fetching(
	edits []func(*trainer.TrainJob), conditions []batchv1.JobConditionType, pods ...corev1.Pod,
) observe.Observed {
	trainJob := trainJobOf(append([]func(*trainer.TrainJob){fetches("s3://bucket/set")}, edits...)...)
	made, err := job.Resolve(trainJob, *runtimeOf(false))
	if err != nil {
		panic(err)
	}
	fetch := desired.FetchJobs(made)[0]
	fetch.UID, fetch.Spec.Suspend = fetchUID, ptr.To(false)
	for _, kind := range conditions {
		fetch.Status.Conditions = append(fetch.Status.Conditions, batchv1.JobCondition{
			Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(t0), Message: "of the Job",
		})
	}
	return observe.Observed{
		Now: t0, TrainJob: trainJob, Runtime: runtimeOf(false), Fetches: []batchv1.Job{*fetch}, Pods: pods,
	}
}

// fetchPod is a pod of that Job, which has ended with a code and a report, or runs.
func fetchPod(phase corev1.PodPhase, code int32, report mpi.FetchReport) corev1.Pod {
	text, _ := json.Marshal(report)
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "demo-dataset-initializer-x", OwnerReferences: []metav1.OwnerReference{
			{Kind: "Job", Name: "demo-dataset-initializer", UID: fetchUID, Controller: ptr.To(true)},
		},
	}}
	pod.Status.Phase = phase
	if phase == corev1.PodFailed {
		end := &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error", Message: string(text)}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{
			{Name: mpi.DatasetInitializer, State: corev1.ContainerState{Terminated: end}},
		}
	}
	return pod
}

func TestFetching(t *testing.T) {
	type edits = []func(*trainer.TrainJob)
	failed, complete := []batchv1.JobConditionType{batchv1.JobFailed}, []batchv1.JobConditionType{batchv1.JobComplete}
	denied := fetchPod(corev1.PodFailed, mpi.FetchFailedForGood, mpi.FetchReport{Reason: diagnose.DataDenied, Message: "HTTP 403"})
	busy := fetchPod(corev1.PodFailed, 1, mpi.FetchReport{Reason: diagnose.DataUnavailable, Message: "HTTP 503"})
	nothing := func(edits ...func(*trainer.TrainJob)) observe.Observed {
		o := fetching(edits, nil)
		o.Fetches = nil
		return o
	}
	stopped := func(o observe.Observed, suspended bool) observe.Observed {
		o.Fetches[0].Spec.Suspend = &suspended
		return o
	}
	fullNamespace := nothing()
	fullNamespace.Bounds.Quotas = []corev1.ResourceQuota{quotaOf(resources("pods", "10"), resources("pods", "10"))}
	earlier := fetching(nil, complete)
	earlier.Fetches[0].OwnerReferences[0].UID = "uid-old"
	foreign := fetching(nil, complete)
	foreign.Fetches[0].OwnerReferences = nil
	cases := map[string]struct {
		reason  string
		o       observe.Observed
		phase   jobv1.Phase
		created string // the condition Created: its reason
		does    []string
	}{
		"Begins": {
			"data comes before the gang", nothing(), jobv1.Fetching, "FetchingData",
			[]string{"create Job demo-dataset-initializer"},
		},
		"Queued": {
			"it is fetched while the gang waits for machines", nothing(queued), jobv1.Queued, "FetchingData",
			[]string{"create Job demo-dataset-initializer"},
		},
		"Suspended": {
			"a user holds all of the job back", nothing(suspend), jobv1.Suspended, "FetchingData", nil,
		},
		"SuspendedThen": {
			"", fetching(edits{suspend}, nil), jobv1.Suspended, "FetchingData",
			[]string{"suspend demo-dataset-initializer true"},
		},
		"Resumed": {
			"", stopped(fetching(nil, nil), true), jobv1.Fetching, "FetchingData",
			[]string{"suspend demo-dataset-initializer false"},
		},
		"QueueDecides": {
			"Kueue lets it run", stopped(fetching(edits{queued}, nil), true), jobv1.Queued, "FetchingData", nil,
		},
		"Runs": {
			"", fetching(nil, nil, fetchPod(corev1.PodRunning, 0, mpi.FetchReport{})), jobv1.Fetching,
			"FetchingData", nil,
		},
		"Busy": {
			"the user learns of each try", fetching(nil, nil, busy), jobv1.Fetching, "DataUnavailable", nil,
		},
		"Fetched": {
			"", fetching(nil, complete), jobv1.Creating, "JobSetCreated", []string{"create JobSet demo"},
		},
		"PodFirst": {
			"its pod ends before the Job does",
			fetching(nil, nil, fetchPod(corev1.PodSucceeded, 0, mpi.FetchReport{})), jobv1.Creating,
			"JobSetCreated", []string{"create JobSet demo"},
		},
		"Denied": {
			"the cause, not that a Job failed", fetching(nil, failed, denied), jobv1.Failed, "DataDenied", nil,
		},
		"PodGone": {"there is no trace", fetching(nil, failed), jobv1.Failed, "DataFetchFailed", nil},
		"Deadline": {
			"nothing fetches for a job that is over", fetching(edits{deadline(30)}, nil), jobv1.Failed,
			"DeadlineExceeded", []string{"delete Job demo-dataset-initializer"},
		},
		"NoRoom": {"it waits for the quota", fullNamespace, jobv1.Creating, "QuotaExceeded", nil},
		"EarlierJob": {
			"what it fetched may be something else", earlier, jobv1.Fetching, "FetchingData",
			[]string{"delete Job demo-dataset-initializer"},
		},
		"ForeignJob": {"it could be anything", foreign, jobv1.Refused, "NameTaken", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := phase.DeriveFacts(tc.o)
			if got := f.State().Phase; got != tc.phase {
				t.Errorf("%s: want %s, got %s", tc.reason, tc.phase, got)
			}
			d, err := decide.Decide(f, rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			var does []string
			for _, deleted := range d.Delete {
				does = append(does, "delete "+deleted.Kind+" "+deleted.Name)
			}
			for _, made := range d.Create {
				if kind := made.GetObjectKind().GroupVersionKind().Kind; kind == "Job" || kind == "JobSet" {
					does = append(does, "create "+kind+" "+made.GetName())
				}
			}
			for _, updated := range d.UpdateFetches {
				does = append(does, "suspend "+updated.Name+map[bool]string{true: " true", false: " false"}[*updated.Spec.Suspend])
			}
			if !slices.Equal(does, tc.does) {
				t.Errorf("%s: want %q, got %q", tc.reason, tc.does, does)
			}
			conditions := statusAfter(f, d, nil).Conditions
			if c := apimeta.FindStatusCondition(conditions, job.Created); c == nil || c.Reason != tc.created {
				t.Errorf("%s: want Created with %s, got %+v", tc.reason, tc.created, conditions)
			}
			early := apimeta.FindStatusCondition(conditions, job.PodsReady) != nil
			if f.State().Fetching != nil && (d.RequeueAfter == 0 || early) {
				t.Errorf("it looks again after %s, and shows %+v", d.RequeueAfter, conditions)
			}
		})
	}
}

// A gang has its whole time after its data has come, however long that took.
func TestGangTimeBeginsWithTheData(t *testing.T) {
	o := fetching(nil, []batchv1.JobConditionType{batchv1.JobComplete})
	o.Now = t0.Add(time.Minute)
	if got := o.BegunAt(); !got.Equal(t0) {
		t.Errorf("it begins at %s", got)
	}
}

func TestFetchJob(t *testing.T) {
	made, err := job.Resolve(trainJobOf(fetches("s3://bucket/set"), queued), *runtimeOf(false))
	if err != nil {
		t.Fatal(err)
	}
	fetch := desired.FetchJobs(made)[0]
	pod := fetch.Spec.Template.Spec
	main := pod.Containers[0]
	if owner := fetch.OwnerReferences[0]; owner.UID != "uid-new" || owner.Controller != nil {
		t.Errorf("Kueue counts nothing that a TrainJob controls: %+v", owner)
	}
	queue := map[string]string{"queue": fetch.Labels[job.QueueLabel], "priority": fetch.Labels[job.PriorityLabel]}
	if queue["queue"] != "team" || queue["priority"] != "high" || *fetch.Spec.Suspend {
		t.Errorf("its queue does not decide: %v, %v", fetch.Labels, *fetch.Spec.Suspend)
	}
	has := func(name, value string) bool {
		return slices.Contains(main.Env, corev1.EnvVar{Name: name, Value: value})
	}
	knows := has(mpi.StorageURI, "s3://bucket/set") && has("ENDPOINT", "https://s3.test")
	if main.Image != "registry.test/agent:1" || !knows || main.EnvFrom[0].SecretRef.Name != "bucket" {
		t.Errorf("it does not know what to fetch: %+v", main)
	}
	of := main.SecurityContext
	unsafe := *of.AllowPrivilegeEscalation || !*of.ReadOnlyRootFilesystem || *pod.AutomountServiceAccountToken
	if !*pod.SecurityContext.RunAsNonRoot || unsafe {
		t.Errorf("it does not meet `restricted`: %+v", pod.SecurityContext)
	}
	for _, rj := range desired.JobSet(made).Spec.ReplicatedJobs {
		container := job.MainContainer(&rj.Template.Spec.Template.Spec)
		want := corev1.VolumeMount{
			Name: mpi.DataVolume, MountPath: "/workspace/dataset", SubPath: "jobs/uid-new/dataset-initializer", ReadOnly: true,
		}
		sees := func(mount corev1.VolumeMount) bool { return reflect.DeepEqual(mount, want) }
		if !slices.ContainsFunc(container.VolumeMounts, sees) {
			t.Errorf("%s does not see the data: %+v", rj.Name, container.VolumeMounts)
		}
		if len(container.EnvFrom) > 0 {
			t.Errorf("%s has the key", rj.Name)
		}
	}
	key := job.ObjectReference{Kind: "Secret", Name: "bucket"}
	claim := job.ObjectReference{Kind: "PersistentVolumeClaim", Name: mpi.DataClaim}
	if got := desired.References(made); !slices.Contains(got, key) || !slices.Contains(got, claim) {
		t.Errorf("key and claim are not looked for: %v", got)
	}
}

// What is on a claim is mounted, and nothing is fetched.
func TestDataOfAClaim(t *testing.T) {
	made, err := job.Resolve(trainJobOf(fetches("pvc://mine/train/set")), *runtimeOf(false))
	if err != nil {
		t.Fatal(err)
	}
	if len(desired.FetchJobs(made)) > 0 {
		t.Error("it is fetched")
	}
	pod := desired.JobSet(made).Spec.ReplicatedJobs[0].Template.Spec.Template.Spec
	want := corev1.VolumeMount{
		Name: mpi.DatasetInitializer, MountPath: "/workspace/dataset", SubPath: "train/set", ReadOnly: true,
	}
	sees := func(mount corev1.VolumeMount) bool { return reflect.DeepEqual(mount, want) }
	if !slices.ContainsFunc(job.MainContainer(&pod).VolumeMounts, sees) {
		t.Errorf("mounts: %+v", job.MainContainer(&pod).VolumeMounts)
	}
}

// Upstream's own initializers run as they are, before the gang.
func TestInitializerOfTheRuntime(t *testing.T) {
	runtime := openSSH(false)
	var step jobset.ReplicatedJob
	step.Name, step.Template.Labels = "data", map[string]string{mpi.AncestorLabel: mpi.DatasetInitializer}
	step.Template.Spec.Template.Spec.Containers = []corev1.Container{
		{Name: mpi.DatasetInitializer, Image: "ghcr.io/kubeflow/trainer/dataset-initializer"}, {Name: "other"},
	}
	spec := &runtime.Spec.Template.Spec
	spec.ReplicatedJobs = append(spec.ReplicatedJobs, step)
	for i := range spec.ReplicatedJobs[:2] {
		spec.ReplicatedJobs[i].DependsOn = []jobset.DependsOn{{Name: "data", Status: jobset.DependencyComplete}}
	}
	made, err := job.Resolve(trainJobOf(fetches("s3://bucket/set")), *runtime)
	if err != nil {
		t.Fatal(err)
	}
	pod := desired.FetchJobs(made)[0].Spec.Template.Spec
	was, main := step.Template.Spec.Template.Spec.Containers[0], pod.Containers[0]
	if main.Image != was.Image || len(main.Command) > 0 || len(pod.Containers[1].Env) > 0 {
		t.Errorf("it is another pod: %+v", pod)
	}
	if !strings.Contains(main.Env[0].Value, "s3://bucket/set") || main.EnvFrom[0].SecretRef.Name != "bucket" {
		t.Errorf("it does not know what to fetch: %+v", main)
	}
	for _, rj := range desired.JobSet(made).Spec.ReplicatedJobs {
		if rj.Name == "data" || len(rj.DependsOn) > 0 {
			t.Errorf("%s waits for what has run: %+v", rj.Name, rj.DependsOn)
		}
	}
	if len(runtime.Spec.Template.Spec.ReplicatedJobs) != 3 {
		t.Error("the runtime was changed")
	}
}
