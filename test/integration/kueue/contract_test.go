// Package kueue holds our JobSets against Kueue's own code. It is a module of its own, because Kueue brings much that the
// product must not depend on. The build tag exclude_scheduler_library leaves out what is in no checksum database:
//
//	go test -tags exclude_scheduler_library ./...
package kueue

import (
	"bytes"
	"context"
	"testing"
	"time"

	upstream "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	runtimecore "github.com/kubeflow/trainer/v2/pkg/runtime/core"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/controller/jobs/trainjob"
	"sigs.k8s.io/kueue/pkg/podset"
	"sigs.k8s.io/yaml"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
	"lockstep.dev/lockstep/pkg/mpi/template"
)

const manager = "kueue.x-k8s.io/manager"

func runtimeOf(t *testing.T, launcherRunsRanks bool) *trainer.ClusterTrainingRuntime {
	t.Helper()
	built, err := template.Runtime{
		OneLauncher: true,
		Name:        "openmpi", Framework: "mpi", Implementation: mpi.OpenMPI, Version: "5.0.7", Image: "registry.test/mpi:1",
		World:         mpi.World{Nodes: 2, SlotsPerNode: 2, LauncherRunsRanks: launcherRunsRanks},
		NodeResources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")},
		Agent:         template.Agent{Image: "registry.test/agent:1", ImageVolume: true}, LauncherWithNodes: true,
	}.Build()
	if err != nil {
		t.Fatal(err)
	}
	return built
}

func trainJobOf(nodes *int32) *trainer.TrainJob {
	return &trainer.TrainJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "demo", UID: "uid"},
		Spec: trainer.TrainJobSpec{
			RuntimeRef: trainer.RuntimeRef{
				Name: "openmpi", APIGroup: ptr.To(trainer.GroupVersion.Group), Kind: ptr.To(trainer.ClusterTrainingRuntimeKind),
			},
			Trainer: &trainer.Trainer{NumNodes: nodes}, Suspend: ptr.To(true),
			// Kueue's webhook puts its patch in when the TrainJob is created.
			RuntimePatches: []trainer.RuntimePatch{{Manager: manager, TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{
				Template: &trainer.JobSetTemplatePatch{Spec: &trainer.JobSetSpecPatch{}},
			}}},
		},
	}
}

// clusterWith is an API server that knows the kinds, with Trainer's plugins set up in this process as Kueue does it.
func clusterWith(t *testing.T, built *trainer.ClusterTrainingRuntime, trainJob *trainer.TrainJob) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, upstream.AddToScheme, jobset.AddToScheme, kueue.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	cluster := fake.NewClientBuilder().WithScheme(scheme).
		WithObjects(reread[upstream.ClusterTrainingRuntime](t, built), reread[upstream.TrainJob](t, trainJob)).Build()
	if _, err := runtimecore.New(t.Context(), cluster, indexer{}, nil); err != nil {
		t.Fatalf("set up the plugins of Kubeflow Trainer: %v", err)
	}
	return cluster
}

// reread reads an object of the one package of types with those of the other.
func reread[To any](t *testing.T, from client.Object) *To {
	t.Helper()
	text, err := yaml.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	to := new(To)
	if err := yaml.UnmarshalStrict(text, to); err != nil {
		t.Fatal(err)
	}
	return to
}

// queuedOf returns a TrainJob as Kueue has it.
func queuedOf(t *testing.T, trainJob *trainer.TrainJob) *trainjob.TrainJob {
	t.Helper()
	return (*trainjob.TrainJob)(reread[upstream.TrainJob](t, trainJob))
}

// indexer takes every index: nothing is looked up by one here.
type indexer struct{}

// IndexField takes an index.
func (indexer) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	return nil
}

// Kueue reserves what it computes itself. The JobSet must have the replicated jobs that it expects, with as many pods.
func TestPodSetsAreTheJobSets(t *testing.T) {
	cases := map[string]struct {
		reason            string
		launcherRunsRanks bool
		nodes             *int32
		// more is how many pods of `node` Kueue counts more than there are.
		more int32
	}{
		"Default":           {"the runtime's number of nodes", false, nil, 0},
		"One":               {"", false, ptr.To[int32](1), 0},
		"Eight":             {"", false, ptr.To[int32](8), 0},
		"LauncherIsANode":   {"", true, ptr.To[int32](4), 0},
		"LauncherIsTheNode": {"upstream makes one pod too many (kubeflow/trainer#3954), and Kueue counts it; it is given back, because a Job without pods has succeeded", true, ptr.To[int32](1), 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			built, trainJob := runtimeOf(t, tc.launcherRunsRanks), trainJobOf(tc.nodes)
			cluster := clusterWith(t, built, trainJob)
			sets, err := queuedOf(t, trainJob).PodSets(t.Context(), cluster)
			if err != nil {
				t.Fatal(err)
			}
			js := jobSetOf(t, built, trainJob)
			if js.Name != trainJob.Name || len(sets) != len(js.Spec.ReplicatedJobs) {
				t.Fatalf("%s: Kueue expects a JobSet `%s` with %d replicated jobs, got `%s` with %d", tc.reason, trainJob.Name, len(sets), js.Name, len(js.Spec.ReplicatedJobs))
			}
			for i, set := range sets {
				rj, want := js.Spec.ReplicatedJobs[i], set.Count
				if rj.Name == mpi.NodeJob {
					want -= tc.more
				}
				if string(set.Name) != rj.Name || *rj.Template.Spec.Parallelism*rj.Replicas != want {
					t.Errorf("%s: Kueue counts %d pods of `%s`, the JobSet has %d of `%s`", tc.reason, set.Count, set.Name, *rj.Template.Spec.Parallelism, rj.Name)
				}
			}
		})
	}
}

// Kueue counts what Kubeflow Trainer would make of resourcesPerNode, which gives them to the launcher and not to the nodes.
// What a TrainJob asks for beyond its runtime would be more than its queue knows of: the admission policy refuses it (package lower,
// queue_charge_validation.go).
func TestKueueCountsResourcesPerNodeForTheLauncher(t *testing.T) {
	built, trainJob := runtimeOf(t, false), trainJobOf(nil)
	trainJob.Spec.Trainer.ResourcesPerNode = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8")}}
	sets, err := queuedOf(t, trainJob).PodSets(t.Context(), clusterWith(t, built, trainJob))
	if err != nil {
		t.Fatal(err)
	}
	js := jobSetOf(t, built, trainJob)
	cpu := func(pod corev1.PodSpec) string { return pod.Containers[0].Resources.Requests.Cpu().String() }
	for i, want := range []struct{ kueue, ours string }{{"8", "0"}, {"2", "8"}} {
		if got := cpu(sets[i].Template.Spec); got != want.kueue {
			t.Errorf("Kueue counts %s CPUs for `%s`, not %s any more: the admission policy may refuse too much now", got, sets[i].Name, want.kueue)
		}
		if got := cpu(js.Spec.ReplicatedJobs[i].Template.Spec.Template.Spec); got != want.ours {
			t.Errorf("`%s` has %s CPUs, want %s", sets[i].Name, got, want.ours)
		}
	}
}

// Of runtimes that others installed Kubeflow Trainer itself makes the pods, and Kueue counts what they request: with resourcesPerNode, what
// the TrainJob requests. Of a limit alone it counts what the runtime requests: the admission policy refuses that for memory (package lower,
// trainjob_external_runtimes.go).
func TestKueueCountsRequestsOfExternalRuntimes(t *testing.T) {
	torch := &trainer.ClusterTrainingRuntime{ObjectMeta: metav1.ObjectMeta{Name: "torch-distributed"}, Spec: trainer.TrainingRuntimeSpec{
		MLPolicy: &trainer.MLPolicy{NumNodes: ptr.To[int32](1), MLPolicySource: trainer.MLPolicySource{Torch: &trainer.TorchMLPolicySource{}}},
		Template: trainer.JobSetTemplateSpec{Spec: jobset.JobSetSpec{ReplicatedJobs: []jobset.ReplicatedJob{{
			Name: mpi.NodeJob,
			Template: batchv1.JobTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{mpi.AncestorLabel: mpi.AncestorTrainer}},
				Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: mpi.Container, Image: "registry.test/torch:1",
					Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}},
				}}}}},
			},
		}}}},
	}}
	large := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Gi")}
	for name, tc := range map[string]struct {
		asked corev1.ResourceRequirements
		want  string
	}{
		"Nothing":    {corev1.ResourceRequirements{}, "1Gi"},
		"Both":       {corev1.ResourceRequirements{Requests: large, Limits: large}, "64Gi"},
		"LimitAlone": {corev1.ResourceRequirements{Limits: large}, "1Gi"},
	} {
		trainJob := trainJobOf(ptr.To[int32](4))
		trainJob.Spec.RuntimeRef.Name, trainJob.Spec.Trainer.ResourcesPerNode = torch.Name, &tc.asked
		sets, err := queuedOf(t, trainJob).PodSets(t.Context(), clusterWith(t, torch, trainJob))
		if err != nil {
			t.Fatal(err)
		}
		if len(sets) != 1 || sets[0].Count != 4 || sets[0].Template.Spec.Containers[0].Resources.Requests.Memory().String() != tc.want {
			t.Errorf("%s: Kueue counts %+v, want 4 pods with %s each", name, sets, tc.want)
		}
	}
}

// What Kueue writes when it admits a job must reach the pods, and be gone when it takes the job back.
func TestAdmittedAndPreempted(t *testing.T) {
	built, trainJob := runtimeOf(t, false), trainJobOf(nil)
	cluster := clusterWith(t, built, trainJob)
	started := jobSetOf(t, built, trainJob)
	if !*started.Spec.Suspend {
		t.Fatal("a job that waits for its queue is suspended")
	}
	queued := queuedOf(t, trainJob)
	if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(trainJob), queued.Object()); err != nil {
		t.Fatal(err)
	}
	toleration := corev1.Toleration{Key: "gpu", Operator: corev1.TolerationOpExists}
	infos := []podset.PodSetInfo{{Name: "launcher", NodeSelector: map[string]string{"flavor": "cpu"}}, {
		Name: "node", NodeSelector: map[string]string{"flavor": "a100"}, Tolerations: []corev1.Toleration{toleration},
		Labels: map[string]string{"kueue.x-k8s.io/podset": "node"}, Annotations: map[string]string{"kueue.x-k8s.io/workload": "demo"},
		SchedulingGates: []corev1.PodSchedulingGate{{Name: "kueue.x-k8s.io/topology"}},
	}}
	if err := queued.RunWithPodSetsInfo(t.Context(), cluster, infos); err != nil {
		t.Fatal(err)
	}
	trainJob = reread[trainer.TrainJob](t, queued.Object())
	admitted := desired.RescheduledJobSet(resolve(t, built, trainJob), started)
	if *admitted.Spec.Suspend {
		t.Error("an admitted job runs")
	}
	pod := admitted.Spec.ReplicatedJobs[1].Template.Spec.Template
	if pod.Spec.NodeSelector["flavor"] != "a100" || len(pod.Spec.Tolerations) != 1 || len(pod.Spec.SchedulingGates) != 1 ||
		pod.Labels["kueue.x-k8s.io/podset"] != "node" || pod.Annotations["kueue.x-k8s.io/workload"] != "demo" {
		t.Errorf("nodes go where Kueue sends them: %v %v %v %v", pod.Labels, pod.Annotations, pod.Spec.NodeSelector, pod.Spec.Tolerations)
	}
	if launcher := admitted.Spec.ReplicatedJobs[0].Template.Spec.Template; launcher.Spec.NodeSelector["flavor"] != "cpu" {
		t.Errorf("and so does the launcher: %v", launcher.Spec.NodeSelector)
	}

	// Preemption: Kueue suspends, and waits until the status says that nothing is active.
	trainJob.Status.JobsStatus = []trainer.JobStatus{{Name: "node", Active: ptr.To[int32](1)}}
	queued = queuedOf(t, trainJob)
	if _, err := queued.Stop(t.Context(), cluster, nil, "", ""); err == nil || !queued.IsSuspended() {
		t.Fatalf("Kueue waits for active Jobs: %v", err)
	}
	trainJob = reread[trainer.TrainJob](t, queued.Object())
	observed := observe.Observed{Now: time.Unix(1000, 0), TrainJob: trainJob, Runtime: as(built), JobSet: admitted}
	observed.JobSet.UID = "jobset"
	decision, err := decide.Decide(phase.DeriveFacts(observed), bytes.NewReader(nil))
	if err != nil {
		t.Fatal(err)
	}
	if decision.Update == nil || !*decision.Update.Spec.Suspend {
		t.Fatal("suspension is passed on")
	}
	if decision.End != nil {
		t.Error("a preempted job has not failed")
	}
	admitted = decision.Update
	trainJob.Status, _ = status.Compute(phase.DeriveFacts(observed), decision, nil)
	if _, _, finished := queuedOf(t, trainJob).Finished(t.Context()); finished {
		t.Error("and Kueue does not take it for finished")
	}
	admitted.Status.ReplicatedJobsStatus = []jobset.ReplicatedJobStatus{{Name: "launcher", Suspended: 1}, {Name: "node", Suspended: 1}}
	observed.JobSet = admitted
	trainJob.Status, _ = status.Compute(phase.DeriveFacts(observed), decision, nil)
	queued = queuedOf(t, trainJob)
	if stopped, err := queued.Stop(t.Context(), cluster, nil, "", ""); err != nil || !stopped {
		t.Fatalf("with nothing active the job is stopped: %v", err)
	}
	trainJob = reread[trainer.TrainJob](t, queued.Object())
	restored := desired.RescheduledJobSet(resolve(t, built, trainJob), admitted)
	if place := restored.Spec.ReplicatedJobs[1].Template.Spec.Template.Spec; len(place.Tolerations) != 0 || place.NodeSelector["flavor"] != "" {
		t.Errorf("the placement is gone with the admission: %v %v", place.NodeSelector, place.Tolerations)
	}
}

// PodsReady and reclaiming of pods are computed from the counts that we report.
func TestCountsSayWhatKueueReads(t *testing.T) {
	built, trainJob := runtimeOf(t, false), trainJobOf(nil)
	cluster := clusterWith(t, built, trainJob)
	js := jobSetOf(t, built, trainJob)
	js.UID = "jobset"
	report := func(statuses ...jobset.ReplicatedJobStatus) {
		js.Status.ReplicatedJobsStatus = statuses
		o := observe.Observed{Now: time.Unix(1000, 0), TrainJob: trainJob, Runtime: as(built), JobSet: js}
		decision, err := decide.Decide(phase.DeriveFacts(o), nil)
		if err != nil {
			t.Fatal(err)
		}
		trainJob.Status, _ = status.Compute(phase.DeriveFacts(o), decision, nil)
	}
	report(jobset.ReplicatedJobStatus{Name: "launcher", Active: 1}, jobset.ReplicatedJobStatus{Name: "node", Active: 1})
	if queuedOf(t, trainJob).PodsReady(t.Context(), cluster) {
		t.Error("Jobs that are only active are not ready")
	}
	report(jobset.ReplicatedJobStatus{Name: "launcher", Active: 1, Ready: 1}, jobset.ReplicatedJobStatus{Name: "node", Active: 1, Ready: 1})
	if queued := queuedOf(t, trainJob); !queued.PodsReady(t.Context(), cluster) || !queued.IsActive() {
		t.Error("all Jobs are ready")
	}
}

func as(r *trainer.ClusterTrainingRuntime) *job.Runtime {
	return &job.Runtime{Labels: r.Labels, Annotations: r.Annotations, Spec: r.Spec}
}

func resolve(t *testing.T, r *trainer.ClusterTrainingRuntime, trainJob *trainer.TrainJob) job.Job {
	t.Helper()
	resolved, err := job.Resolve(trainJob, *as(r))
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

func jobSetOf(t *testing.T, r *trainer.ClusterTrainingRuntime, trainJob *trainer.TrainJob) *jobset.JobSet {
	t.Helper()
	return desired.JobSet(resolve(t, r, trainJob))
}
