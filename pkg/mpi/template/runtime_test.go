package template

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
)

func sample() Runtime {
	return Runtime{
		Name:           "openmpi5-cpu",
		Framework:      "mpi",
		Implementation: mpi.OpenMPI,
		Version:        "5.0.7",
		Image:          "lockstep.test/mpi/openmpi:5",
		World:          mpi.World{Nodes: 2, SlotsPerNode: 2},
		NodeResources: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("250m"), corev1.ResourceMemory: resource.MustParse("512Mi"),
		},
		LauncherResources: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")},
		Network:           mpi.Network{Fabric: mpi.Ethernet, Interface: "eth0"},
		Agent:             Agent{Image: "lockstep.test/mpi-agent:dev", ImageVolume: true},
		User:              &User{UID: 1000650000, GID: 0, FSGroup: 1000650000},
		NodeSelector:      map[string]string{"pool": "mpi"},
	}
}

func build(t *testing.T, r Runtime) (spec trainer.TrainingRuntimeSpec, launcher, node corev1.PodSpec) {
	t.Helper()
	built, err := r.Build()
	if err != nil {
		t.Fatal(err)
	}
	jobs := built.Spec.Template.Spec.ReplicatedJobs
	if len(jobs) != 2 || jobs[0].Name != mpi.LauncherJob || jobs[1].Name != mpi.NodeJob {
		t.Fatalf("replicated jobs = %v, want launcher and node", jobs)
	}
	return built.Spec, jobs[0].Template.Spec.Template.Spec, jobs[1].Template.Spec.Template.Spec
}

// Every form of a runtime must be admitted to a namespace that enforces PodSecurity `restricted`, by the code that the
// API server itself uses.
func TestPodsAreRestricted(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	memory := resource.MustParse("1Gi")
	forms := map[string]func(*Runtime){
		"ImageVolume":       func(*Runtime) {},
		"InitContainer":     func(r *Runtime) { r.Agent.ImageVolume = false },
		"UnderTrainer":      func(r *Runtime) { r.UnderTrainer = true },
		"PlatformUser":      func(r *Runtime) { r.User = nil },
		"SharedMemory":      func(r *Runtime) { r.SharedMemory = &memory },
		"LauncherRunsRanks": func(r *Runtime) { r.World.LauncherRunsRanks = true },
	}
	for name, change := range forms {
		t.Run(name, func(t *testing.T) {
			r := sample()
			change(&r)
			spec, _, _ := build(t, r)
			for _, job := range spec.Template.Spec.ReplicatedJobs {
				pod := job.Template.Spec.Template
				results := evaluator.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}, &pod.ObjectMeta, &pod.Spec)
				for _, result := range results {
					if !result.Allowed {
						t.Errorf("%s pod: %s: %s", job.Name, result.ForbiddenReason, result.ForbiddenDetail)
					}
				}
			}
		})
	}
}

// What upstream reads differently from what the field names suggest (kubeflow/trainer v2.2 and v2.3).
func TestPortableUnderStockTrainer(t *testing.T) {
	under := sample()
	under.UnderTrainer, under.OneLauncher = true, true
	spec, launcher, node := build(t, under)
	if n := *spec.MLPolicy.NumNodes; n != 1 {
		t.Errorf("numNodes = %d: upstream would start that many launchers", n)
	}
	if launcher.Containers[0].Args != nil {
		t.Error("the launcher has args: upstream would leave them behind a user's command")
	}
	if diff := cmp.Diff([]string{mpi.AgentBin, "run", "--"}, launcher.Containers[0].Command); diff != "" {
		t.Errorf("launcher command (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{mpi.AgentBin, "serve"}, node.Containers[0].Command); diff != "" {
		t.Errorf("node command (-want +got):\n%s", diff)
	}
	for _, job := range spec.Template.Spec.ReplicatedJobs {
		if job.DependsOn != nil {
			t.Errorf("%s depends on %v: a gang scheduler that counts the launcher would wait forever", job.Name, job.DependsOn)
		}
		ancestor := job.Template.Labels[mpi.AncestorLabel]
		if (ancestor == mpi.AncestorTrainer) != (job.Name == mpi.LauncherJob) {
			t.Errorf("%s has ancestor %q: only the launcher takes the user's image and command", job.Name, ancestor)
		}
	}
}

// What Kubeflow's SDK reads of a runtime: devices from the limits of the launcher, and nodes from the policy. Without a device among the
// limits it refuses the whole list of runtimes (kubeflow 0.5.0, trainer/backends/kubernetes/utils.py).
func TestReadByClients(t *testing.T) {
	r := sample()
	r.CPULimit = resource.MustParse("8")
	spec, launcher, node := build(t, r)
	if n := *spec.MLPolicy.NumNodes; n != r.World.Nodes {
		t.Errorf("numNodes = %d, the default job has %d", n, r.World.Nodes)
	}
	for name, pod := range map[string]corev1.PodSpec{"launcher": launcher, "node": node} {
		resources := pod.Containers[0].Resources
		if limit := resources.Limits.Cpu(); limit.Cmp(r.CPULimit) != 0 {
			t.Errorf("the CPU limit of the %s is %s", name, limit)
		}
		if asked := resources.Requests.Cpu(); asked.Cmp(r.CPULimit) >= 0 {
			t.Errorf("the %s asks for %s", name, asked)
		}
	}
}

// A launcher that runs ranks is a node too: both are kept apart from each other.
func TestNodesAreSpreadOverMachines(t *testing.T) {
	for within, want := range map[bool][]string{false: {mpi.NodeJob}, true: {mpi.LauncherJob, mpi.NodeJob}} {
		r := sample()
		r.World.LauncherRunsRanks = within
		_, launcher, node := build(t, r)
		spread := map[string]corev1.PodSpec{mpi.NodeJob: node}
		if within {
			spread[mpi.LauncherJob] = launcher
		} else if len(launcher.TopologySpreadConstraints) > 0 {
			t.Error("a launcher without ranks is kept apart from the nodes")
		}
		for name, pod := range spread {
			if len(pod.TopologySpreadConstraints) != 1 {
				t.Fatalf("%s has the constraints %v", name, pod.TopologySpreadConstraints)
			}
			selector, err := metav1.LabelSelectorAsSelector(pod.TopologySpreadConstraints[0].LabelSelector)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, role := range []string{mpi.LauncherJob, mpi.NodeJob} {
				if selector.Matches(labels.Set{mpi.ReplicatedJobLabel: role}) {
					got = append(got, role)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s is spread over machines with (-want +got):\n%s", name, diff)
			}
		}
	}
}

func TestUserHome(t *testing.T) {
	cases := map[string]struct {
		own  string
		want string
	}{
		"Nothing":  {"", mpi.UserHomeVolume},
		"Beside":   {"/home/mpi", mpi.UserHomeVolume},
		"Below":    {mpi.UserHome + "/data", mpi.UserHomeVolume},
		"TheSame":  {mpi.UserHome, "own"},
		"AllHomes": {"/home", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := sample()
			if tc.own != "" {
				r.Volumes = []Volume{{Name: "own", MountPath: tc.own, Claim: "homes"}}
			}
			_, launcher, node := build(t, r)
			for _, pod := range []corev1.PodSpec{launcher, node} {
				mounts := pod.Containers[0].VolumeMounts
				got := ""
				if i := slices.IndexFunc(mounts, func(m corev1.VolumeMount) bool { return m.MountPath == mpi.UserHome }); i >= 0 {
					got = mounts[i].Name
				}
				if got != tc.want {
					t.Errorf("with a volume at %q the volume at %s is %q, want %q", tc.own, mpi.UserHome, got, tc.want)
				}
			}
		})
	}
}

func TestNodesAndSlots(t *testing.T) {
	cases := map[string]struct {
		world    mpi.World
		nodePods int32
	}{
		"LauncherApart":     {mpi.World{Nodes: 3, SlotsPerNode: 2}, 3},
		"LauncherRunsRanks": {mpi.World{Nodes: 3, SlotsPerNode: 2, LauncherRunsRanks: true}, 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := sample()
			r.World = tc.world
			spec, launcher, node := build(t, r)
			job := spec.Template.Spec.ReplicatedJobs[1].Template.Spec
			if *job.Parallelism != tc.nodePods || *job.Completions != tc.nodePods {
				t.Errorf("parallelism %d, completions %d, want %d", *job.Parallelism, *job.Completions, tc.nodePods)
			}
			if got := *spec.MLPolicy.MPI.NumProcPerNode; got != tc.world.SlotsPerNode {
				t.Errorf("numProcPerNode = %d, want %d", got, tc.world.SlotsPerNode)
			}
			placed := launcher.NodeSelector != nil
			if placed != tc.world.LauncherRunsRanks || node.NodeSelector == nil {
				t.Errorf("placed launcher = %t, node = %v: pods with ranks go where the profile says, others anywhere", placed, node.NodeSelector)
			}
		})
	}
}

func TestOnlyPodsWithRanksHaveSharedMemory(t *testing.T) {
	size := resource.MustParse("8Gi")
	r := sample()
	r.SharedMemory = &size
	_, launcher, node := build(t, r)
	if volume(node, sharedMemoryVolume).EmptyDir == nil || volume(launcher, sharedMemoryVolume).EmptyDir != nil {
		t.Error("shared memory counts as memory of the pod: a launcher without ranks must not be charged for it")
	}
	r.World.LauncherRunsRanks = true
	if _, launcher, _ = build(t, r); volume(launcher, sharedMemoryVolume).EmptyDir == nil {
		t.Error("a launcher with ranks is a node")
	}
}

func TestAgentReachesThePod(t *testing.T) {
	r := sample()
	_, launcher, _ := build(t, r)
	if len(launcher.InitContainers) != 0 || volume(launcher, mpi.AgentVolume).Image == nil {
		t.Error("with image volumes no init container is needed: each costs up to a second")
	}
	r.Agent.ImageVolume = false
	_, launcher, _ = build(t, r)
	if len(launcher.InitContainers) != 1 || volume(launcher, mpi.AgentVolume).EmptyDir == nil {
		t.Error("without image volumes one init container installs the agent")
	}
}

func TestRanksAreNotThrottled(t *testing.T) {
	_, _, node := build(t, sample())
	resources := node.Containers[0].Resources
	if _, limited := resources.Limits[corev1.ResourceCPU]; limited {
		t.Error("a CPU limit throttles ranks that wait for each other")
	}
	if resources.Requests.Cpu().IsZero() || resources.Limits.Memory().IsZero() {
		t.Errorf("resources = %v: CPU must be reserved and memory capped", resources)
	}
}

func TestRuntimeEnvironmentWins(t *testing.T) {
	r := sample()
	r.Env = []mpi.Variable{{Name: "OMPI_MCA_pml", Value: "ucx", Why: "InfiniBand"}, {Name: "NEW", Value: "1", Why: "test"}}
	_, launcher, node := build(t, r)
	if diff := cmp.Diff(launcher.Containers[0].Env, node.Containers[0].Env); diff != "" {
		t.Errorf("launcher and nodes see different environments:\n%s", diff)
	}
	values := map[string][]string{}
	for _, v := range node.Containers[0].Env {
		values[v.Name] = append(values[v.Name], v.Value)
	}
	if diff := cmp.Diff([]string{"ucx"}, values["OMPI_MCA_pml"]); diff != "" {
		t.Errorf("OMPI_MCA_pml (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"1"}, values["NEW"]); diff != "" {
		t.Errorf("NEW (-want +got):\n%s", diff)
	}
}

func TestUnknownVersionFails(t *testing.T) {
	r := sample()
	r.Version = "latest"
	if _, err := r.Build(); err == nil {
		t.Error("a version without a dialect must not become a runtime: its launcher would run alone")
	}
}

func volume(pod corev1.PodSpec, name string) corev1.Volume {
	for _, v := range pod.Volumes {
		if v.Name == name {
			return v
		}
	}
	return corev1.Volume{}
}

// A node that is deleted ends with 0 and does not end the job: its launcher knows whether it is needed. A launcher that is deleted does.
func TestWhoseDeletionEndsAJob(t *testing.T) {
	spec, _, _ := build(t, sample())
	want := map[string]*batchv1.PodReplacementPolicy{mpi.LauncherJob: nil, mpi.NodeJob: ptr.To(batchv1.Failed)}
	for _, part := range spec.Template.Spec.ReplicatedJobs {
		if diff := cmp.Diff(want[part.Name], part.Template.Spec.PodReplacementPolicy); diff != "" {
			t.Errorf("%s: %s", part.Name, diff)
		}
		if grace := part.Template.Spec.Template.Spec.TerminationGracePeriodSeconds; grace != nil {
			t.Errorf("%s: pods have %d s, and not Kubernetes' 30, to save their work", part.Name, *grace)
		}
	}
}
