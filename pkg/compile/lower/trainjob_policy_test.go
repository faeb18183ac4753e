package lower_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/admission"
	"sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/lower"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/test/attacker"
)

// job returns a TrainJob with a name, the queue's label and the rest of it as YAML.
func job(tb testing.TB, rest string) *unstructured.Unstructured {
	tb.Helper()
	text := "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n" + rest
	if !strings.HasPrefix(rest, "metadata:") {
		text += "\nmetadata: {name: demo, labels: {kueue.x-k8s.io/queue-name: lockstep}}\n"
	}
	data, err := yaml.YAMLToJSON([]byte(strings.Replace(text, "{}\nmetadata", "metadata", 1)))
	if err != nil {
		tb.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(data); err != nil {
		tb.Fatal(err)
	}
	return o
}

func TestTrainJobPolicy(t *testing.T) {
	c := attacker.PlanOf(t, attacker.Specs)
	s := attacker.NewServer(t, lower.PlatformObjects(c))
	vision, language := attacker.NamespaceOf(t, c, "vision"), attacker.NamespaceOf(t, c, "language")
	unlabelled := vision.DeepCopy()
	unlabelled.Annotations = nil

	gpu := func(trainer string) string { return "spec: {runtimeRef: {name: gpu}, trainer: {" + trainer + "}}" }
	patch := func(pod string) string {
		return "spec: {runtimeRef: {name: gpu}, runtimePatches: [{manager: me.example.com/me, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: " + pod + "}}}]}}}}]}"
	}
	for name, tc := range map[string]struct {
		reason string
		in     *corev1.Namespace
		job    string
		want   string
	}{
		"LeavesAllToRuntime": {"what is left out is the runtime's and allowed", vision, "spec: {runtimeRef: {name: gpu}}", ""},
		"NoSpec":             {"odd, and no failure of the policy", vision, "{}", "spec.runtimeRef is ClusterTrainingRuntime ``; tenant `vision` may use ClusterTrainingRuntime `cpu`, `gpu`, TrainingRuntime `gpu-wide`: name one of these, or ask the platform team for the other"},
		"ForeignRuntime":     {"of nobody", vision, "spec: {runtimeRef: {name: torch-distributed}}", "spec.runtimeRef is ClusterTrainingRuntime `torch-distributed`; tenant `vision` may use ClusterTrainingRuntime `cpu`, `gpu`, TrainingRuntime `gpu-wide`: name one of these, or ask the platform team for the other"},
		"OtherTenants":       {"the runtime admits another tenant", vision, "spec: {runtimeRef: {name: others}}", "spec.runtimeRef is ClusterTrainingRuntime `others`; tenant `vision` may use ClusterTrainingRuntime `cpu`, `gpu`, TrainingRuntime `gpu-wide`: name one of these, or ask the platform team for the other"},
		"NamespacedKind":     {"a catalog runtime is not in the namespace", vision, "spec: {runtimeRef: {name: gpu, kind: TrainingRuntime}}", "spec.runtimeRef is TrainingRuntime `gpu`; tenant `vision` may use ClusterTrainingRuntime `cpu`, `gpu`, TrainingRuntime `gpu-wide`: name one of these, or ask the platform team for the other"},
		"NoAnnotations":      {"a namespace that the compiler did not complete", unlabelled, "spec: {runtimeRef: {name: gpu}}", "spec.runtimeRef is ClusterTrainingRuntime `gpu`; tenant `vision` may use ClusterTrainingRuntime ``: name one of these, or ask the platform team for the other"},

		"MostNodes":       {"the tenant's four machines", vision, gpu("numNodes: 4"), ""},
		"TooManyNodes":    {"the runtime's bound", vision, "spec: {runtimeRef: {name: cpu}, trainer: {numNodes: 9}}", "spec.trainer.numNodes is 9; runtime `cpu` runs on 2 to 8 nodes: ask for a number between them"},
		"TooFewNodes":     {"the runtime's bound", vision, "spec: {runtimeRef: {name: cpu}, trainer: {numNodes: 0}}", "spec.trainer.numNodes is 0; runtime `cpu` runs on 2 to 8 nodes: ask for a number between them"},
		"Variant":         {"bounds of the tenant's own runtime", vision, "spec: {runtimeRef: {name: gpu-wide, kind: TrainingRuntime}}", ""},
		"VariantTooWide":  {"bounds of the tenant's own runtime", vision, "spec: {runtimeRef: {name: gpu-wide, kind: TrainingRuntime}, trainer: {numNodes: 2}}", "spec.trainer.numNodes is 2; runtime `gpu-wide` runs on 3 to 6 nodes: ask for a number between them"},
		"MostSlots":       {"one rank per accelerator", vision, gpu("numProcPerNode: 8"), ""},
		"TooManySlots":    {"one rank per accelerator", vision, gpu("numProcPerNode: 9"), "spec.trainer.numProcPerNode is 9; a node of runtime `gpu` has 1 to 8 ranks, one per nvidia.com/gpu: ask for a number between them"},
		"NoSlots":         {"a node without ranks", vision, gpu("numProcPerNode: 0"), "spec.trainer.numProcPerNode is 0; a node of runtime `gpu` has 1 to 8 ranks, one per nvidia.com/gpu: ask for a number between them"},
		"SlotsPerCore":    {"machines without accelerators have cores", vision, "spec: {runtimeRef: {name: cpu}, trainer: {numProcPerNode: 4}}", ""},
		"SlotsAuto":       {"older APIs have a text here", vision, gpu("numProcPerNode: auto"), "spec.trainer.numProcPerNode is auto; a node of runtime `gpu` has 1 to 8 ranks, one per nvidia.com/gpu: ask for a number between them"},
		"LessResources":   {"a part of a machine", vision, gpu("resourcesPerNode: {limits: {cpu: 64, memory: 512Gi, nvidia.com/gpu: 4}}"), ""},
		"MoreThanMachine": {"a request above the profile", vision, gpu("resourcesPerNode: {requests: {cpu: 100}}"), "spec.trainer.resourcesPerNode asks for 100 cpu, a machine of profile `gpu` has 96: ask for at most that, or leave it out to get what the runtime has"},
		"NotOffered":      {"a device that the machine lacks", vision, gpu("resourcesPerNode: {limits: {amd.com/gpu: 1}}"), "spec.trainer.resourcesPerNode asks for 1 amd.com/gpu, a machine of profile `gpu` has none: ask for at most that, or leave it out to get what the runtime has"},
		"NoAmount":        {"what is no amount", vision, gpu("resourcesPerNode: {limits: {cpu: much}}"), "spec.trainer.resourcesPerNode asks for much cpu, a machine of profile `gpu` has 96: ask for at most that, or leave it out to get what the runtime has"},
		"HugeAmount":      {"no overflow", vision, gpu("numNodes: 4, resourcesPerNode: {limits: {nvidia.com/gpu: 9223372036854775807}}"), "spec.trainer.resourcesPerNode asks for 9223372036854775807 nvidia.com/gpu, a machine of profile `gpu` has 8: ask for at most that, or leave it out to get what the runtime has"},
		"OverLimitRange":  {"a machine has it, the tenant not", vision, gpu("resourcesPerNode: {limits: {cpu: 65}}"), "spec.trainer.resourcesPerNode asks for more than one container of tenant `vision` may have (cpu=64, LimitRange lockstep-limits): ask for at most that"},

		"Accelerators":      {"the queue has 3 machines and may borrow 1", vision, gpu("numNodes: 5"), "5 nodes with 8 nvidia.com/gpu each are 40; tenant `vision` may use 32 on machines of profile `gpu`: ask for at most 4 nodes"},
		"FewerPerNode":      {"half of each machine", vision, gpu("numNodes: 8, resourcesPerNode: {limits: {nvidia.com/gpu: 4}}"), ""},
		"FewerRequested":    {"half of each machine", vision, gpu("numNodes: 9, resourcesPerNode: {requests: {nvidia.com/gpu: 4}}"), "9 nodes with 4 nvidia.com/gpu each are 36; tenant `vision` may use 32 on machines of profile `gpu`: ask for at most 8 nodes"},
		"DefaultIsTooMuch":  {"what the runtime asks for counts too", language, "metadata: {name: x}\nspec: {runtimeRef: {name: gpu}}", "2 nodes with 8 nvidia.com/gpu each are 16; tenant `language` may use 8 on machines of profile `gpu`: ask for at most 1 nodes"},
		"QuotaWithoutQueue": {"where nothing is queued the quota is the bound", language, "metadata: {name: x}\nspec: {runtimeRef: {name: gpu}, trainer: {numNodes: 1}}", ""},

		"NoQueue":         {"Kueue would leave the job alone", vision, "metadata: {name: x}\nspec: {runtimeRef: {name: gpu}}", "the label kueue.x-k8s.io/queue-name is missing; jobs of tenant `vision` wait in queue `lockstep`: set the label to `lockstep`"},
		"OtherQueue":      {"there is only one", vision, "metadata: {name: x, labels: {kueue.x-k8s.io/queue-name: fast}}\nspec: {runtimeRef: {name: gpu}}", "the label kueue.x-k8s.io/queue-name is `fast`; jobs of tenant `vision` wait in queue `lockstep`: set the label to `lockstep`"},
		"QueueOfNobody":   {"the job would wait forever", language, "spec: {runtimeRef: {name: cpu}}", "the label kueue.x-k8s.io/queue-name is `lockstep`; tenant `language` has no queue on this cluster: remove the label"},
		"Priority":        {"a class of the cluster", vision, "metadata: {name: x, labels: {kueue.x-k8s.io/queue-name: lockstep, kueue.x-k8s.io/priority-class: high}}\nspec: {runtimeRef: {name: gpu}}", ""},
		"UnknownPriority": {"Kueue would only log it", vision, "metadata: {name: x, labels: {kueue.x-k8s.io/queue-name: lockstep, kueue.x-k8s.io/priority-class: highest}}\nspec: {runtimeRef: {name: gpu}}", "the label kueue.x-k8s.io/priority-class is `highest`; the cluster has `high`, `low`: name one of these, or remove the label"},
		"OtherTenant":     {"a job under another flag", vision, "metadata: {name: x, labels: {kueue.x-k8s.io/queue-name: lockstep, lockstep.dev/tenant: language}}\nspec: {runtimeRef: {name: gpu}}", "the label lockstep.dev/tenant is `language`; the namespace belongs to tenant `vision`: remove the label"},

		"Traced":      {"what can be recorded of a run", vision, "metadata: {name: x, labels: {kueue.x-k8s.io/queue-name: lockstep}, annotations: {lockstep.dev/trace: \"traffic, nccl,horovod,waiting\"}}\nspec: {runtimeRef: {name: gpu}}", ""},
		"Untraceable": {"a word that nobody knows would record nothing", vision, "metadata: {name: x, labels: {kueue.x-k8s.io/queue-name: lockstep}, annotations: {lockstep.dev/trace: \"everything,nccl\"}}\nspec: {runtimeRef: {name: gpu}}", "the annotation lockstep.dev/trace has `everything`, which cannot be traced; allowed are `traffic`, `waiting`, `horovod` and `nccl`, with commas between them: correct it, or remove it"},

		"Patch":        {"what a patch may do", vision, patch("{metadata: {labels: {team: x}}, spec: {nodeSelector: {rack: a}, volumes: [{name: v, persistentVolumeClaim: {claimName: data}}], containers: [{name: node, volumeMounts: [{name: v, mountPath: /data}]}]}}"), ""},
		"EmptyPatch":   {"a patch of nothing", vision, "spec: {runtimeRef: {name: gpu}, runtimePatches: [{manager: me.example.com/me}]}", ""},
		"OtherJob":     {"the runtime has two jobs", vision, strings.Replace(patch("{}"), "name: node,", "name: worker,", 1), "spec.runtimePatches patches `worker`; patches may change the jobs `launcher` and `node`: patch one of these"},
		"Account":      {"accounts decide about capabilities", vision, patch("{spec: {serviceAccountName: mpi-rdma}}"), "spec.runtimePatches sets serviceAccountName `mpi-rdma`; pods run with the account of their runtime, because it decides what they may do: remove serviceAccountName"},
		"HostPath":     {"out of the namespace", vision, patch("{spec: {volumes: [{name: root, hostPath: {path: /}}, {name: x, nfs: {server: s, path: /}}]}}"), "spec.runtimePatches adds volume `root, x` of a kind that reaches past the namespace; allowed are configMap, downwardAPI, emptyDir, image, persistentVolumeClaim, projected (of configMap, downwardAPI and secret) and secret: use one of these"},
		"KeyVolume":    {"the key of another job", vision, patch("{spec: {volumes: [{name: k, secret: {secretName: other-mpi-ssh-auth}}]}}"), "volume k reads the key of a job (Secret *-mpi-ssh-auth), with which all its nodes can be commanded; the agent gets the key of its own job by itself: remove it"},
		"KeyProjected": {"the key of another job", vision, patch("{spec: {volumes: [{name: k, projected: {sources: [{configMap: {name: c}}, {secret: {name: other-mpi-ssh-auth}}]}}]}}"), "volume k reads the key of a job (Secret *-mpi-ssh-auth), with which all its nodes can be commanded; the agent gets the key of its own job by itself: remove it"},
		"KeyVariable":  {"the key of another job", vision, gpu("env: [{name: K, valueFrom: {secretKeyRef: {name: other-mpi-ssh-auth, key: ssh-privatekey}}}]"), "variable K reads the key of a job (Secret *-mpi-ssh-auth), with which all its nodes can be commanded; the agent gets the key of its own job by itself: remove it"},
		"KeyPatched":   {"the key of another job", vision, patch("{spec: {containers: [{name: node, env: [{name: K, valueFrom: {secretKeyRef: {name: other-mpi-ssh-auth, key: ssh-privatekey}}}]}]}}"), "variable K reads the key of a job (Secret *-mpi-ssh-auth), with which all its nodes can be commanded; the agent gets the key of its own job by itself: remove it"},
		"Networks":     {"networks without policies", vision, patch("{metadata: {annotations: {k8s.v1.cni.cncf.io/networks: other/net}}}"), "spec.runtimePatches sets annotation `k8s.v1.cni.cncf.io/networks`, by which something in the cluster may give the pods more than the runtime does; allowed are names without domain and dot (`team`), prometheus.io/*, kubectl.kubernetes.io/default-container, cluster-autoscaler.kubernetes.io/safe-to-evict, and kueue.x-k8s.io/podset-required-topology, -preferred- and -unconstrained-: remove it, or set it on the TrainJob itself, whose annotations reach no pod"},
		"Labels":       {"a pod among those of another job", vision, patch("{metadata: {labels: {jobset.sigs.k8s.io/jobset-name: other, a: b, lockstep.dev/trainjob: other}}}"), "spec.runtimePatches sets label `jobset.sigs.k8s.io/jobset-name`, by which policies and controllers of the cluster may select the pods; allowed are names without domain and dot (`team`), and app.kubernetes.io/name, instance, version, component and part-of: remove it, or set it on the TrainJob itself, whose labels reach no pod"},
		"Tolerations":  {"machines that are kept for others", vision, patch("{spec: {tolerations: [{operator: Exists}]}}"), "spec.runtimePatches adds tolerations; those for the machines of its profile come with the runtime, others would take machines that are kept for others: remove tolerations"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, s.Ask(t, "lockstep-trainjob", attacker.CreateTrainJob(tc.in, job(t, tc.job)))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestTrainJobPolicyOnUpdates: what was admitted stays and can be worked with; what a change adds is looked at.
func TestTrainJobPolicyOnUpdates(t *testing.T) {
	c := attacker.PlanOf(t, attacker.Specs)
	s := attacker.NewServer(t, lower.PlatformObjects(c))
	vision := attacker.NamespaceOf(t, c, "vision")
	const wide = "spec: {runtimeRef: {name: cpu}, trainer: {numNodes: 9}"
	const controller = "system:serviceaccount:lockstep-system:mpi-controller"
	const kueuePatch = ", runtimePatches: [{manager: kueue.x-k8s.io/manager, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {metadata: {labels: {kueue.x-k8s.io/podset: node}}, spec: {nodeSelector: {a: b}, tolerations: [{operator: Exists}]}}}}}]}}}}]"
	for name, tc := range map[string]struct {
		user, before, now, want string
	}{
		"Suspend":           {"ada", wide + "}", wide + ", suspend: true}", ""},
		"Finalizer":         {"system:serviceaccount:kubeflow:trainer", "metadata: {name: x}\n" + wide + "}", "metadata: {name: x, finalizers: [a]}\n" + wide + "}", ""},
		"KueuePlaces":       {"system:serviceaccount:kueue-system:kueue-controller-manager", wide + ", suspend: true}", wide + kueuePatch + ", suspend: true}", ""},
		"AfterKueue":        {"ada", wide + kueuePatch + "}", wide + kueuePatch + ", suspend: true}", ""},
		"AsKueue":           {"ada", wide + "}", wide + kueuePatch + "}", "spec.runtimePatches adds tolerations; those for the machines of its profile come with the runtime, others would take machines that are kept for others: remove tolerations"},
		"KueueOfTheTenant":  {"system:serviceaccount:vision:kueue-controller-manager", wide + "}", wide + kueuePatch + "}", "spec.runtimePatches adds tolerations; those for the machines of its profile come with the runtime, others would take machines that are kept for others: remove tolerations"},
		"TrainerAddedLater": {"ada", "spec: {runtimeRef: {name: cpu}}", wide + "}", "spec.trainer.numNodes is 9; runtime `cpu` runs on 2 to 8 nodes: ask for a number between them"},
		"QueueRemoved":      {"ada", wide + "}", "metadata: {name: demo}\n" + wide + "}", "the label kueue.x-k8s.io/queue-name is missing; jobs of tenant `vision` wait in queue `lockstep`: set the label to `lockstep`"},
		"TracedBefore":      {"ada", "metadata: {name: x, annotations: {lockstep.dev/trace: x}}\n" + wide + "}", "metadata: {name: x, annotations: {lockstep.dev/trace: x}}\n" + wide + ", suspend: true}", ""},
		"TracedLater":       {"ada", wide + "}", "metadata: {name: x, labels: {kueue.x-k8s.io/queue-name: lockstep}, annotations: {lockstep.dev/trace: everything}}\n" + wide + "}", "the annotation lockstep.dev/trace has `everything`, which cannot be traced; allowed are `traffic`, `waiting`, `horovod` and `nccl`, with commas between them: correct it, or remove it"},
		"NotesGrow":         {"ada", wide + "}", notes(wide, "a", 130<<10), tooLarge(133121)},
		"WideNotes":         {"ada", wide + "}", annotated("a: "+strings.Repeat("ü", 70<<10), wide), tooLarge(143361)},
		"NotesStay":         {controller, notes(wide, "a", 250<<10), notes(wide, "a", 250<<10), ""},
		"NotesShrink":       {"ada", notes(wide, "a", 250<<10), notes(wide, "a", 240<<10), ""},
		"Record":            {controller, wide + "}", notes(wide, "lockstep.dev/conditions", 200<<10), ""},
		"ManyNotes":         {"ada", wide + "}", manyNotes(wide, 20_000), ""},
		"NeverHadQueue":     {"ada", "metadata: {name: demo}\n" + wide + "}", "metadata: {name: demo, labels: {a: b}}\n" + wide + "}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := attacker.CreateTrainJob(vision, job(t, tc.now))
			r.Operation, r.User, r.Before = admission.Update, tc.user, job(t, tc.before)
			if diff := cmp.Diff(tc.want, s.Ask(t, "lockstep-trainjob", r)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// notes are a TrainJob with an annotation.
func notes(spec, key string, bytes int) string {
	return annotated(key+": "+strings.Repeat("x", bytes), spec)
}

func annotated(annotations, spec string) string {
	const metadata = "metadata: {name: demo, labels: {kueue.x-k8s.io/queue-name: lockstep}, annotations: {"
	return metadata + annotations + "}}\n" + spec + "}"
}

// tooLarge is the answer to annotations of so many bytes.
func tooLarge(bytes int) string {
	return fmt.Sprintf("the annotations of the TrainJob have %d bytes; at most 131072 are allowed, because the platform records "+
		"there how far the job has come: remove large ones; `kubectl apply --server-side` leaves out the copy of the manifest, "+
		"and files belong into a volume or the image", bytes)
}

// manyNotes are a TrainJob with as many annotations as fit, each as short as can be.
func manyNotes(spec string, count int) string {
	all := make([]string, count)
	for i := range all {
		all[i] = fmt.Sprintf("a%d: ''", i)
	}
	return annotated(strings.Join(all, ", "), spec)
}

// manyRuntimes are specs with a number of runtimes.
func manyRuntimes(count int) string {
	specs := []string{attacker.Specs}
	for i := range count {
		specs = append(specs, fmt.Sprintf("apiVersion: lockstep.dev/v1alpha1\nkind: MPIRuntime\nmetadata: {name: runtime-%d}\nspec: {mpi: {implementation: OpenMPI, version: \"5.0.7\"}, image: \"example.org/mpi:1\", profile: gpu, nodes: {default: 2, max: 16}, slotsPerNode: auto}\n", i))
	}
	return strings.Join(specs, "---\n")
}

// TestCostOfTrainJobPolicy: a large catalog stays far from the budget of 10,000,000 that a policy has for a request.
func TestCostOfTrainJobPolicy(t *testing.T) {
	for _, runtimes := range []int{20, 200} {
		c := attacker.PlanOf(t, manyRuntimes(runtimes))
		s := attacker.NewServer(t, lower.PlatformObjects(c))
		r := attacker.CreateTrainJob(attacker.NamespaceOf(t, c, "vision"), job(t, "spec: {runtimeRef: {name: runtime-7}, trainer: {numNodes: 2, resourcesPerNode: {limits: {nvidia.com/gpu: 8}}}}"))
		cost := s.Cost(t, "lockstep-trainjob", r)
		t.Logf("%d runtimes: %d of 10000000", runtimes, cost)
		if cost > 1_000_000 {
			t.Errorf("%d runtimes cost %d, want at most a tenth of the budget", runtimes, cost)
		}
	}
}

// TestCostOfLargeTrainJobs: a TrainJob that says as much as anybody would is judged, and costs a small part of the budget.
func TestCostOfLargeTrainJobs(t *testing.T) {
	many := func(count int, format string) string {
		items := make([]string, count)
		for i := range items {
			items[i] = strings.ReplaceAll(format, "#", fmt.Sprint(i))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	pod := "{metadata: {labels: {team: a}, annotations: {note: b}}, spec: {nodeSelector: {rack: a}, volumes: " + many(60, "{name: v#, configMap: {name: c#}}") +
		", containers: [{name: node, env: " + many(60, "{name: VARIABLE_#, value: x}") + ", volumeMounts: " + many(60, "{name: v#, mountPath: /mnt/v#}") + "}]}}"
	text := "spec: {runtimeRef: {name: gpu}, trainer: {env: " + many(128, "{name: VARIABLE_#, value: x}") + "}, runtimePatches: " +
		many(2, "{manager: m#.example.com/m, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: launcher, template: {spec: {template: "+pod+"}}}, {name: node, template: {spec: {template: "+pod+"}}}]}}}}") + "}"
	c := attacker.PlanOf(t, manyRuntimes(20))
	s := attacker.NewServer(t, lower.PlatformObjects(c))
	r := attacker.CreateTrainJob(attacker.NamespaceOf(t, c, "vision"), job(t, text))
	cost := s.Cost(t, "lockstep-trainjob", r)
	t.Logf("%d of 10000000", cost)
	if refusal := s.Ask(t, "lockstep-trainjob", r); refusal != "" || cost > 2_000_000 {
		t.Errorf("it costs %d, want at most a fifth of the budget; the answer is %q", cost, refusal)
	}
}

// BenchmarkTrainJobPolicy is the time of an API server for one TrainJob.
func BenchmarkTrainJobPolicy(b *testing.B) {
	for _, runtimes := range []int{20, 200} {
		b.Run(fmt.Sprintf("%dRuntimes", runtimes), func(b *testing.B) {
			c := attacker.PlanOf(b, manyRuntimes(runtimes))
			s := attacker.NewServer(b, lower.PlatformObjects(c))
			r := attacker.CreateTrainJob(attacker.NamespaceOf(b, c, "vision"), job(b, "spec: {runtimeRef: {name: runtime-7}, trainer: {numNodes: 2}}"))
			for b.Loop() {
				if refusal := s.Ask(b, "lockstep-trainjob", r); refusal != "" {
					b.Fatal(refusal)
				}
			}
		})
	}
}

// TestOriginsOfPolicies: whoever asks about a bound in a policy or an annotation is led to the spec that has it.
func TestOriginsOfPolicies(t *testing.T) {
	c := attacker.PlanOf(t, attacker.Specs)
	places := map[string]string{}
	for _, o := range append(lower.PlatformObjects(c), lower.TenantObjects(c, c.Tenants[1], &diag.List{})...) {
		if o.ID.Group != "admissionregistration.k8s.io" && o.ID.Kind != "Namespace" {
			continue
		}
		o.Leaves(func(path []string, _ *object.Node, from *origin.Origin) {
			if !from.Known() {
				t.Errorf("%s %v has no origin", o.ID, path)
			}
			if !from.At.IsZero() {
				places[strings.Join(path, " ")] = from.At.String()
			}
		})
	}
	for path, want := range map[string]string{
		"spec variables runtime_gpu expression":              "specs.yaml:39:28",
		"spec variables profile_gpu expression":              "specs.yaml:20:46",
		"metadata annotations lockstep.dev/runtimes":         "specs.yaml:55:18",
		"metadata annotations lockstep.dev/variants":         "specs.yaml:63:21",
		"metadata annotations lockstep.dev/max-accelerators": "specs.yaml:62:86",
		"metadata annotations lockstep.dev/max-container":    "specs.yaml:61:47",
	} {
		if places[path] != want {
			t.Errorf("%s comes from %s, want %s", path, places[path], want)
		}
	}
}
