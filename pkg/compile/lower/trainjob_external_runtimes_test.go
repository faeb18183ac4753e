package lower_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/lower"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/test/attacker"
)

// torch is a TrainJob of that runtime.
func torch(trainer string) string {
	return "spec: {runtimeRef: {name: torch-distributed}, trainer: {" + trainer + "}}"
}

func TestTrainJobsOfExternalRuntimes(t *testing.T) {
	c := attacker.PlanOf(t, attacker.ExternalSpecs)
	s := attacker.NewServer(t, lower.PlatformObjects(c))
	vision, language := attacker.NamespaceOf(t, c, "vision"), attacker.NamespaceOf(t, c, "language")
	free := attacker.NamespaceOf(t, attacker.PlanOf(t, strings.Replace(attacker.Specs, "  namespaces: [language]\n", "  namespaces: [language]\n  externalRuntimes: [torch-distributed]\n", 1)), "language")
	const unqueued = "metadata: {name: x}\n"
	const strange = ", which no machine of the cluster's profiles has, so that no quota counts it; they have cpu, memory, nvidia.com/gpu: ask for these"
	const memory = "; queue `lockstep` counts requests, and more would be taken from others: request as much as the limit"
	for name, tc := range map[string]struct {
		reason string
		in     *corev1.Namespace
		job    string
		want   string
	}{
		"Named":       {"the tenant names it", vision, torch(""), ""},
		"WithKind":    {"as the SDK writes it", vision, "spec: {runtimeRef: {name: torch-distributed, kind: ClusterTrainingRuntime, apiGroup: trainer.kubeflow.org}}", ""},
		"NotNamed":    {"another one of Trainer's", vision, "spec: {runtimeRef: {name: torch-distributed-2}}", "spec.runtimeRef is ClusterTrainingRuntime `torch-distributed-2`; tenant `vision` may use ClusterTrainingRuntime `cpu`, `gpu`, `torch-distributed`, TrainingRuntime `gpu-wide`: name one of these, or ask the platform team for the other"},
		"OtherTenant": {"language does not name it", language, unqueued + torch(""), "spec.runtimeRef is ClusterTrainingRuntime `torch-distributed`; tenant `language` may use ClusterTrainingRuntime `cpu`, `gpu`, `others`: name one of these, or ask the platform team for the other"},
		"OtherKind":   {"in its namespace somebody else could make one", vision, "spec: {runtimeRef: {name: torch-distributed, kind: TrainingRuntime}}", "spec.runtimeRef is TrainingRuntime `torch-distributed`; tenant `vision` may use ClusterTrainingRuntime `cpu`, `gpu`, `torch-distributed`, TrainingRuntime `gpu-wide`: name one of these, or ask the platform team for the other"},
		"NoName":      {"an empty list has no empty name", free, unqueued + "spec: {}", "spec.runtimeRef is ClusterTrainingRuntime ``; tenant `language` may use ClusterTrainingRuntime `cpu`, `gpu`, `others`, `torch-distributed`: name one of these, or ask the platform team for the other"},
		"Ours":        {"a compiled runtime keeps its bounds", vision, "spec: {runtimeRef: {name: gpu}, trainer: {numNodes: 17}}", "spec.trainer.numNodes is 17; runtime `gpu` runs on 1 to 16 nodes: ask for a number between them"},

		"NotAdmitted": {"a compiled runtime keeps its tenants", vision, "spec: {runtimeRef: {name: others}}", "spec.runtimeRef is ClusterTrainingRuntime `others`; tenant `vision` may use ClusterTrainingRuntime `cpu`, `gpu`, `torch-distributed`, TrainingRuntime `gpu-wide`: name one of these, or ask the platform team for the other"},

		"Nodes": {"nobody knows bounds; the queue counts", vision, torch("numNodes: 500"), ""},
		"Ranks": {"nor how many processes it starts", vision, torch("numProcPerNode: 64"), ""},
		"Auto":  {"older APIs have a text here", vision, torch("numProcPerNode: auto"), ""},

		"Resources":     {"as the SDK writes them", vision, torch("resourcesPerNode: {requests: {cpu: 8, memory: 64Gi, nvidia.com/gpu: 4}, limits: {cpu: 8, memory: 64Gi, nvidia.com/gpu: 4}}"), ""},
		"Spelt":         {"the same amount", vision, torch("resourcesPerNode: {requests: {memory: 1Gi}, limits: {memory: 1024Mi}}"), ""},
		"DeviceLimit":   {"of a device a limit is a request", vision, torch("resourcesPerNode: {limits: {nvidia.com/gpu: 4}}"), ""},
		"CPULimit":      {"CPU is shared by requests", vision, torch("resourcesPerNode: {requests: {cpu: 1}, limits: {cpu: 32}}"), ""},
		"RequestAlone":  {"the limit of the runtime holds, which may be more", vision, torch("resourcesPerNode: {requests: {memory: 1Mi}}"), "spec.trainer.resourcesPerNode limits memory to none and requests 1Mi" + memory},
		"OtherDevice":   {"nobody counts parts of a device", vision, torch("resourcesPerNode: {limits: {nvidia.com/mig-1g.5gb: 1}}"), "spec.trainer.resourcesPerNode asks for nvidia.com/mig-1g.5gb" + strange},
		"Requested":     {"nor disks", vision, torch("resourcesPerNode: {requests: {ephemeral-storage: 1Ti}}"), "spec.trainer.resourcesPerNode asks for ephemeral-storage" + strange},
		"MemoryLimit":   {"Kueue counts requests", vision, torch("resourcesPerNode: {limits: {memory: 64Gi}}"), "spec.trainer.resourcesPerNode limits memory to 64Gi and requests none" + memory},
		"MemoryMore":    {"Kueue counts requests", vision, torch("resourcesPerNode: {requests: {memory: 1Gi}, limits: {memory: 64Gi}}"), "spec.trainer.resourcesPerNode limits memory to 64Gi and requests 1Gi" + memory},
		"MemoryOdd":     {"what is no amount", vision, torch("resourcesPerNode: {requests: {memory: much}, limits: {memory: much}}"), "spec.trainer.resourcesPerNode limits memory to much and requests much" + memory},
		"NoQueueMemory": {"a ResourceQuota counts limits of memory", free, unqueued + torch("resourcesPerNode: {limits: {memory: 8Gi}}"), ""},
		"LimitRange":    {"holds for all containers", vision, torch("resourcesPerNode: {limits: {cpu: 65}}"), "spec.trainer.resourcesPerNode asks for more than one container of tenant `vision` may have (cpu=64, LimitRange lockstep-limits): ask for at most that"},

		"NoQueue":  {"Kueue would leave the job alone", vision, unqueued + torch(""), "the label kueue.x-k8s.io/queue-name is missing; jobs of tenant `vision` wait in queue `lockstep`: set the label to `lockstep`"},
		"Priority": {"one of the cluster's", vision, "metadata: {name: x, labels: {kueue.x-k8s.io/queue-name: lockstep, kueue.x-k8s.io/priority-class: highest}}\n" + torch(""), "the label kueue.x-k8s.io/priority-class is `highest`; the cluster has `high`, `low`: name one of these, or remove the label"},
		"Flag":     {"a job under another flag", vision, "metadata: {name: x, labels: {kueue.x-k8s.io/queue-name: lockstep, lockstep.dev/tenant: language}}\n" + torch(""), "the label lockstep.dev/tenant is `language`; the namespace belongs to tenant `vision`: remove the label"},
		"Machines": {"a node selector wins over that of the runtime", vision, strings.Replace(withPod("{spec: {nodeSelector: {pool: gpu}}}"), "{name: gpu}", "{name: torch-distributed}", 1), "spec.runtimePatches selects machines by `pool`, which tells the machines of profiles apart; pods run on machines that come with the runtime: remove it, or name another runtime"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := s.Ask(t, "lockstep-trainjob", attacker.CreateTrainJob(tc.in, job(t, tc.job))); got != tc.want {
				t.Errorf("%s: the answer is %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestMemoryRequestedUnderTrainer: Trainer leaves the runtime's limit where a TrainJob only requests less, so that Kueue would count less than
// pods may take. Our controller counts such a job with what the runtime has.
func TestMemoryRequestedUnderTrainer(t *testing.T) {
	const asked = "metadata: {name: x, labels: {kueue.x-k8s.io/queue-name: lockstep}}\nspec: {runtimeRef: {name: gpu}, trainer: {resourcesPerNode: %s}}"
	const refused = "spec.trainer.resourcesPerNode limits memory to none and requests 1Gi; queue `lockstep` counts requests, and more would be taken from others: request as much as the limit"
	for name, tc := range map[string]struct {
		executor, resources, want string
	}{
		"TrainerRequestAlone": {"KubeflowTrainer", "{requests: {memory: 1Gi}}", refused},
		"TrainerBoth":         {"KubeflowTrainer", "{requests: {memory: 1Gi}, limits: {memory: 1Gi}}", ""},
		"BundledRequestAlone": {"Bundled", "{requests: {memory: 1Gi}}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := attacker.PlanOf(t, strings.Replace(attacker.Specs, "  platform: Kubernetes\n", "  platform: Kubernetes\n  executor: "+tc.executor+"\n", 1))
			s := attacker.NewServer(t, lower.PlatformObjects(c))
			if got := s.Ask(t, "lockstep-trainjob", attacker.CreateTrainJob(attacker.NamespaceOf(t, c, "vision"), job(t, fmt.Sprintf(asked, tc.resources)))); got != tc.want {
				t.Errorf("the answer is %q, want %q", got, tc.want)
			}
		})
	}
}

// TestAttacksByExternalRuntimes: what a TrainJob may not do to others it may not do with a runtime of which nothing is known either.
func TestAttacksByExternalRuntimes(t *testing.T) {
	c := attacker.PlanOf(t, attacker.ExternalSpecs)
	s := attacker.NewServer(t, lower.PlatformObjects(c))
	vision := attacker.NamespaceOf(t, c, "vision")
	for name, tc := range attacks() {
		text := strings.NewReplacer("{name: gpu}", "{name: torch-distributed}", "{name: cpu}", "{name: torch-distributed}").Replace(tc.job)
		if got := s.Ask(t, "lockstep-trainjob", attacker.CreateTrainJob(vision, job(t, text))); !strings.Contains(got, tc.want) {
			t.Errorf("%s: %s: the answer is %q, want %q", name, tc.reason, got, tc.want)
		}
	}
}

// TestHonestJobsOfExternalRuntimes: what people write is admitted, but for the machines of a profile, of which such a runtime has none.
func TestHonestJobsOfExternalRuntimes(t *testing.T) {
	c := attacker.PlanOf(t, attacker.ExternalSpecs)
	s := attacker.NewServer(t, lower.PlatformObjects(c))
	vision, asked := attacker.NamespaceOf(t, c, "vision"), 0
	for _, name := range slices.Sorted(maps.Keys(honest)) {
		if name == "OwnProfile" || name == "Variant" {
			continue
		}
		asked++
		text := strings.ReplaceAll(honest[name], "{name: gpu}", "{name: torch-distributed}")
		if got := s.Ask(t, "lockstep-trainjob", attacker.CreateTrainJob(vision, job(t, text))); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if asked < 20 {
		t.Errorf("only %d TrainJobs", asked)
	}
}

// TestOriginsOfExternalRuntimes: whoever asks why a namespace has what these runtimes need is led to the line that names them.
func TestOriginsOfExternalRuntimes(t *testing.T) {
	c := attacker.PlanOf(t, attacker.ExternalSpecs)
	places := map[string]string{}
	for _, o := range lower.TenantObjects(c, c.Tenants[1], &diag.List{}) {
		o.Leaves(func(path []string, _ *object.Node, from *origin.Origin) {
			places[o.ID.Kind+" "+o.ID.Name+" "+strings.Join(path, " ")] = from.At.String()
		})
	}
	for path, want := range map[string]string{
		"Namespace vision metadata annotations lockstep.dev/external-runtimes":              "specs.yaml:59:41",
		"NetworkPolicy lockstep-external-jobs spec podSelector matchExpressions 0 operator": "specs.yaml:59:41",
	} {
		if places[path] != want {
			t.Errorf("%s comes from `%s`, want %s", path, places[path], want)
		}
	}
}

// TestDevicesOfMachinesWithoutRuntime: machines of which no compiled runtime makes use are there for others.
func TestDevicesOfMachinesWithoutRuntime(t *testing.T) {
	specs := strings.Replace(attacker.ExternalSpecs, "capacity: [", "capacity: [{profile: amd, nodes: 2}, ", 1) + `---
apiVersion: lockstep.dev/v1alpha1
kind: HardwareProfile
metadata: {name: amd}
spec: {fabric: {type: Ethernet}, node: {cpu: 96, memory: 1Ti}, accelerator: {resource: amd.com/gpu, count: 8}}
`
	c := attacker.PlanOf(t, specs)
	written := attacker.CreateTrainJob(attacker.NamespaceOf(t, c, "vision"), job(t, torch("resourcesPerNode: {limits: {amd.com/gpu: 8}}")))
	if got := attacker.NewServer(t, lower.PlatformObjects(c)).Ask(t, "lockstep-trainjob", written); got != "" {
		t.Error(got)
	}
}
