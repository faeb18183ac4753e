package lower_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	"lockstep.dev/lockstep/pkg/compile/lower"
	"lockstep.dev/lockstep/test/attacker"
)

// withPatch is a TrainJob of the runtime gpu with one patch of the template of the JobSet.
func withPatch(template string) string {
	return "spec: {runtimeRef: {name: gpu}, runtimePatches: [{manager: me.example.com/me, trainingRuntimeSpec: {template: " + template + "}}]}"
}

// withPod is one with a patch of the pods of nodes.
func withPod(pod string) string {
	return withPatch("{spec: {replicatedJobs: [{name: node, template: {spec: {template: " + pod + "}}}]}}")
}

// withMount is one that mounts an empty folder.
func withMount(path string) string {
	return withPod("{spec: {volumes: [{name: v, emptyDir: {}}], containers: [{name: node, volumeMounts: [{name: v, mountPath: \"" + path + "\"}]}]}}")
}

func withAntiAffinity(terms string) string {
	return withPod("{spec: {affinity: {podAntiAffinity: {" + terms + "}}}}")
}

// anAttack is a TrainJob that could do something to others, and what its refusal says.
type anAttack struct{ reason, job, want string }

// attacks are what the editor of a namespace could once do to others by a TrainJob.
func attacks() map[string]anAttack {
	const (
		fields, mounts, selects   = "which is the runtime's to set", "nothing may be mounted there", "which tells the machines of profiles apart"
		annotation, label, volume = "spec.runtimePatches sets annotation `", "spec.runtimePatches sets label `", "of a kind that reaches past the namespace"
		required                  = "requiredDuringSchedulingIgnoredDuringExecution: "
	)
	return map[string]anAttack{
		"AntiAffinityToNamespaces": {"keeps named tenants off machines", withAntiAffinity(required + "[{topologyKey: kubernetes.io/hostname, namespaces: [language], labelSelector: {matchLabels: {jobset.sigs.k8s.io/jobset-name: demo}}}]"), "sets `namespaces` in podAffinity or podAntiAffinity"},
		"AntiAffinityToAll":        {"an empty selector is everybody", withAntiAffinity("preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: zone, namespaceSelector: {}}}]"), "sets `namespaceSelector` in podAffinity or podAntiAffinity"},
		"AffinityToNamespaces":     {"finds out who runs where", withPod("{spec: {affinity: {podAffinity: {" + required + "[{topologyKey: zone, namespaces: [language]}]}}}}"), "sets `namespaces` in podAffinity or podAntiAffinity"},
		"AntiAffinityToOthers":     {"the others of the namespace need machines too", withAntiAffinity(required + "[{topologyKey: zone, labelSelector: {}}]"), "requires podAntiAffinity to pods that are not its own"},
		"AntiAffinityToAnother":    {"one term of two", withAntiAffinity(required + "[{topologyKey: zone, labelSelector: {matchLabels: {jobset.sigs.k8s.io/jobset-name: demo}}}, {topologyKey: zone, labelSelector: {matchLabels: {jobset.sigs.k8s.io/jobset-name: other}}}]"), "requires podAntiAffinity to pods that are not its own"},
		"AntiAffinityByDirective":  {"the merge drops a map with a directive, and no label is left", withAntiAffinity(required + "[{topologyKey: zone, labelSelector: {matchLabels: {jobset.sigs.k8s.io/jobset-name: demo, $patch: merge}}}]"), "requires podAntiAffinity to pods that are not its own"},

		"ExclusiveJobSet":   {"JobSet keeps all others off the topology", withPatch("{metadata: {annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: zone}}}"), annotation + "alpha.jobset.sigs.k8s.io/exclusive-topology`"},
		"ExclusiveJob":      {"the same for one replicated job", withPatch("{spec: {replicatedJobs: [{name: node, template: {metadata: {annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: zone}}}}]}}"), annotation + "alpha.jobset.sigs.k8s.io/exclusive-topology`"},
		"ExclusivePod":      {"JobSet's own mark in pods", withPod("{metadata: {annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: zone}}}"), annotation + "alpha.jobset.sigs.k8s.io/exclusive-topology`"},
		"ExclusiveLabel":    {"with labels of nodes", withPatch("{metadata: {labels: {alpha.jobset.sigs.k8s.io/namespaced-job: x}}}"), label + "alpha.jobset.sigs.k8s.io/namespaced-job`"},
		"OtherVolcanoQueue": {"the share of another tenant", withPatch("{metadata: {annotations: {scheduling.volcano.sh/queue-name: language}}}"), annotation + "scheduling.volcano.sh/queue-name`"},

		"Grace": {"others wait for the machine", withPod("{spec: {terminationGracePeriodSeconds: 86400}}"), "sets terminationGracePeriodSeconds to 86400; others wait for the machines while pods end, so that 120 is the most"},

		"MountAgent":         {"another agent", withMount("/opt/lockstep/bin"), mounts},
		"MountParent":        {"a parent of the hostfile", withMount("/etc"), mounts},
		"MountRoot":          {"a parent of everything", withMount("/"), mounts},
		"MountState":         {"the table of hosts", withMount("/run/lockstep/"), mounts},
		"MountRun":           {"the same by another name", withMount("/var/run/lockstep"), mounts},
		"MountKey":           {"another key", withMount("/var/run/secrets/lockstep.dev"), mounts},
		"MountHostfile":      {"a single file", withPod("{spec: {volumes: [{name: v, emptyDir: {}}], containers: [{name: node, volumeMounts: [{name: v, mountPath: /etc/mpi/hostfile, subPath: a}]}]}}"), mounts},
		"MountHosts":         {"names that lead elsewhere", withMount("/etc/hosts"), mounts},
		"MountDots":          {"kubelet cleans paths", withMount("/data/../etc/mpi"), mounts},
		"MountSlashes":       {"kubelet cleans paths", withMount("//etc/mpi"), mounts},
		"MountRelative":      {"kubelet takes it from the root", withMount("etc/mpi"), mounts},
		"ReplaceAgentVolume": {"another image under the agent's name", withPod("{spec: {volumes: [{name: lockstep-agent, image: {reference: evil}}]}}"), "uses volume `lockstep-agent`, which is the platform's"},
		"MountAgentVolume":   {"the agent's folder, to write into", withPod("{spec: {containers: [{name: node, volumeMounts: [{name: lockstep-agent, mountPath: /tmp/a}]}]}}"), "uses volume `lockstep-agent`, which is the platform's"},

		"PodFinalizer":    {"pods stay forever", withPod("{metadata: {finalizers: [example.com/never]}}"), "sets `finalizers`, " + fields},
		"JobFinalizer":    {"Jobs stay forever", withPatch("{spec: {replicatedJobs: [{name: node, template: {metadata: {finalizers: [example.com/never]}}}]}}"), "sets `finalizers`, " + fields},
		"JobSetFinalizer": {"JobSets stay forever", withPatch("{metadata: {finalizers: [example.com/never]}}"), "sets `finalizers`, " + fields},
		"ClaimTemplate":   {"claims of somebody who may make none", withPod("{spec: {volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {resources: {requests: {storage: 1Ti}}}}}}]}}"), volume},
		"CSI":             {"a driver gets a Secret, and mounts what it finds", withPod("{spec: {volumes: [{name: v, csi: {driver: nfs.csi.k8s.io, nodePublishSecretRef: {name: other-mpi-ssh-auth}}}]}}"), volume},
		"TwoSources":      {"one that is allowed hides none", withPod("{spec: {volumes: [{name: v, emptyDir: {}, hostPath: {path: /}}]}}"), volume},
		"Token":           {"pods of jobs are nobody", withPod("{spec: {volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: t}}]}}]}}"), volume},
		"PullSecret":      {"the key of another job", withPod("{spec: {imagePullSecrets: [{name: other-mpi-ssh-auth}]}}"), "image pull secret other-mpi-ssh-auth reads the key of a job"},

		"Calico":              {"an address of somebody else", withPod("{metadata: {annotations: {cni.projectcalico.org/ipAddrs: '[\"10.0.0.1\"]'}}}"), annotation + "cni.projectcalico.org/ipAddrs`"},
		"Multus":              {"another default network", withPod("{metadata: {annotations: {v1.multus-cni.io/default-network: x/y}}}"), annotation + "v1.multus-cni.io/default-network`"},
		"Unheard":             {"the plugin of next year", withPod("{metadata: {annotations: {net.example.com/attach: x}}}"), annotation + "net.example.com/attach`"},
		"CRIO":                {"devices, where CRI-O allows the annotation", withPod("{metadata: {annotations: {io.kubernetes.cri-o.Devices: /dev/sda}}}"), annotation + "io.kubernetes.cri-o.Devices`"},
		"AnnotationDirective": {"takes away what the runtime has", withPod("{metadata: {annotations: {$patch: replace}}}"), annotation + "$patch`"},
		"LabelDirective":      {"lets a mesh in", withPod("{metadata: {labels: {$patch: delete}}}"), label + "$patch`"},
		"Mesh":                {"the runtime keeps it out", withPod("{metadata: {labels: {sidecar.istio.io/inject: \"true\"}}}"), label + "sidecar.istio.io/inject`"},
		"JobLabel":            {"labels of all levels", withPatch("{spec: {replicatedJobs: [{name: launcher, template: {metadata: {labels: {lockstep.dev/trainjob: other}}}}]}}"), label + "lockstep.dev/trainjob`"},

		"Devices":        {"the container runtime hands out all GPUs", "spec: {runtimeRef: {name: cpu}, trainer: {env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}}", "sets NVIDIA_VISIBLE_DEVICES, by which container runtimes hand out devices"},
		"DevicesPatched": {"one GPU is asked for, and eight are taken", withPod("{spec: {containers: [{name: node, env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}]}}"), "sets NVIDIA_VISIBLE_DEVICES, by which"},
		"DevicesOfAMD":   {"others do it too", "spec: {runtimeRef: {name: cpu}, trainer: {env: [{name: AMD_VISIBLE_DEVICES, value: all}]}}", "sets AMD_VISIBLE_DEVICES, by which"},
		"Channels":       {"memory of other nodes", "spec: {runtimeRef: {name: gpu}, trainer: {env: [{name: NVIDIA_IMEX_CHANNELS, value: all}]}}", "sets NVIDIA_IMEX_CHANNELS, by which"},
		"FileVariable":   {"a source of a later version", "spec: {runtimeRef: {name: gpu}, trainer: {env: [{name: A, valueFrom: {fileKeyRef: {volumeName: lockstep-state, path: a, key: b}}}]}}", "takes a variable from `fileKeyRef`"},

		"OtherProfile":   {"machines that the tenant has no share of", withPod("{spec: {nodeSelector: {pool: cpu}}}"), "selects machines by `pool`, " + selects},
		"NoProfile":      {"machines without the label", withPod("{spec: {nodeSelector: {pool: \"\"}}}"), "selects machines by `pool`, " + selects},
		"Directive":      {"takes the profile's selector away", withPod("{spec: {nodeSelector: {$patch: replace, rack: a}}}"), "selects machines by `$patch`, " + selects},
		"ByAffinity":     {"the same by affinity", withPod("{spec: {affinity: {nodeAffinity: {" + required + "{nodeSelectorTerms: [{matchExpressions: [{key: pool, operator: Exists}]}]}}}}}"), "selects machines by `pool`, " + selects},
		"OtherTolerance": {"machines that are kept for others", withPod("{spec: {tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}, {key: reserved, operator: Exists}]}}"), "adds tolerations"},

		"OtherContainer":  {"an image of nobody", withPod("{spec: {containers: [{name: sidecar}]}}"), "patches container `sidecar`; patches may change the container `node`"},
		"InitContainer":   {"the platform's own", withPod("{spec: {initContainers: [{name: gate, volumeMounts: []}]}}"), "sets `initContainers`, " + fields},
		"Privileged":      {"root on the machine", withPod("{spec: {containers: [{name: node, securityContext: {privileged: true}}]}}"), "sets `privileged`, " + fields},
		"Sysctl":          {"reaches past the pod", withPod("{spec: {securityContext: {sysctls: [{name: kernel.msgmax, value: \"1\"}]}}}"), "sets `sysctls`, " + fields},
		"PodField":        {"a field of a later version", withPod("{spec: {hostNetwork: true}}"), "sets `hostNetwork`, " + fields},
		"ContainerField":  {"a field of a later version", withPod("{spec: {containers: [{name: node, resources: {limits: {nvidia.com/gpu: 8}}}]}}"), "sets `resources`, " + fields},
		"JobField":        {"a field of a later version", withPatch("{spec: {replicatedJobs: [{name: node, replicas: 100}]}}"), "sets `replicas`, " + fields},
		"Initializer":     {"its nodes could be commanded", "spec: {runtimeRef: {name: gpu}, initializer: {dataset: {secretRef: {name: other-mpi-ssh-auth}}}}", "initializer dataset reads the key of a job"},
		"KeyOfAnother":    {"the same by a variable", "spec: {runtimeRef: {name: gpu}, initializer: {model: {env: [{name: A, valueFrom: {secretKeyRef: {name: other-mpi-ssh-auth, key: a}}}]}}}", "variable A reads the key of a job"},
		"DeviceOfData":    {"a GPU past the scheduler", "spec: {runtimeRef: {name: gpu}, initializer: {dataset: {env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}}}", "sets NVIDIA_VISIBLE_DEVICES, by which"},
		"DataField":       {"a field of a later version", "spec: {runtimeRef: {name: gpu}, initializer: {dataset: {image: a}}}", "sets `image`, which the platform does not support"},
		"TrainerField":    {"a field of a later version", "spec: {runtimeRef: {name: gpu}, trainer: {hostNetwork: true}}", "sets `hostNetwork`, which the platform does not support"},
		"Claims":          {"devices by another way", "spec: {runtimeRef: {name: gpu}, trainer: {resourcesPerNode: {claims: [{name: all-gpus}]}}}", "sets `claims`, which the platform does not support"},
		"OthersWorkload":  {"the room of another job", "metadata: {name: x, labels: {kueue.x-k8s.io/queue-name: lockstep, kueue.x-k8s.io/prebuilt-workload-name: other}}\nspec: {runtimeRef: {name: gpu}}", "has `kueue.x-k8s.io/prebuilt-workload-name`; of Kueue's labels users may set"},
		"KueueAnnotation": {"goes before others", "metadata: {name: x, labels: {kueue.x-k8s.io/queue-name: lockstep}, annotations: {kueue.x-k8s.io/priority-boost: \"9\"}}\nspec: {runtimeRef: {name: gpu}}", "has `kueue.x-k8s.io/priority-boost`; of Kueue's labels users may set"},
	}
}

func TestTrainJobsCannotHurtOthers(t *testing.T) {
	c := attacker.PlanOf(t, attacker.Specs)
	s := attacker.NewServer(t, lower.PlatformObjects(c))
	vision := attacker.NamespaceOf(t, c, "vision")
	for name, tc := range attacks() {
		t.Run(name, func(t *testing.T) {
			if got := s.Ask(t, "lockstep-trainjob", attacker.CreateTrainJob(vision, job(t, tc.job))); !strings.Contains(got, tc.want) {
				t.Errorf("%s: the answer is %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestTrainJobsThatWereAdmittedStay: what the policy refuses today may run since yesterday, and can be suspended.
func TestTrainJobsThatWereAdmittedStay(t *testing.T) {
	c := attacker.PlanOf(t, attacker.Specs)
	s := attacker.NewServer(t, lower.PlatformObjects(c))
	for name, text := range map[string]string{
		"Patch":       withPod("{metadata: {finalizers: [a]}, spec: {terminationGracePeriodSeconds: 900}}"),
		"Variable":    "spec: {runtimeRef: {name: gpu}, trainer: {env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}}",
		"Initializer": "spec: {runtimeRef: {name: gpu}, initializer: {dataset: {secretRef: {name: a-mpi-ssh-auth}}}}",
		"Label":       "metadata: {name: x, labels: {kueue.x-k8s.io/queue-name: lockstep, kueue.x-k8s.io/prebuilt-workload-name: a}}\nspec: {runtimeRef: {name: gpu}}",
	} {
		before := job(t, text)
		now := before.DeepCopy()
		now.Object["spec"].(map[string]any)["suspend"] = true
		r := attacker.CreateTrainJob(attacker.NamespaceOf(t, c, "vision"), now)
		r.Operation, r.Before = admission.Update, before
		if got := s.Ask(t, "lockstep-trainjob", r); got != "" {
			t.Errorf("%s: %s", name, got)
		}
		r.Operation, r.Before = admission.Create, nil
		if s.Ask(t, "lockstep-trainjob", r) == "" {
			t.Errorf("%s: a new one is admitted", name)
		}
	}
}

// TestNodesTakeNoMoreThanTheirQueueCounts: Kueue counts resourcesPerNode for the launcher only (test/integration/kueue), and where the
// launcher is a node, requests and no limits.
func TestNodesTakeNoMoreThanTheirQueueCounts(t *testing.T) {
	specs := strings.Replace(attacker.Specs, "  slotsPerNode: 1\n", "  slotsPerNode: 1\n  resourcesPerNode: {memory: 8Gi}\n", 1)
	c := attacker.PlanOf(t, specs)
	s := attacker.NewServer(t, lower.PlatformObjects(c))
	first := attacker.PlanOf(t, strings.Replace(specs, "resourcesPerNode: {memory: 8Gi}", "resourcesPerNode: {memory: 8Gi}\n  launcher: {runsRanks: true}", 1))
	const refusal = "spec.trainer.resourcesPerNode asks for 12Gi memory, a node of the runtime has 8Gi; queue `lockstep` counts a node as runtime `cpu` has it, and more would be taken from others: ask for at most that, or name a runtime with larger nodes"
	queued, free := attacker.NamespaceOf(t, c, "vision"), attacker.NamespaceOf(t, c, "language")
	for name, tc := range map[string]struct {
		reason       string
		server       *attacker.Server
		in           *corev1.Namespace
		amount, want string
	}{
		"Limit":      {"a limit is also the request", s, queued, "limits: {memory: 12Gi}", refusal},
		"Request":    {"a request alone", s, queued, "requests: {memory: 12Gi}", refusal},
		"AsMuch":     {"what the queue counts", s, queued, "limits: {memory: 8192Mi}", ""},
		"NoQueue":    {"a ResourceQuota counts pods", s, free, "limits: {memory: 12Gi}", ""},
		"RunsRanks":  {"of a limit alone Kueue counts nothing", attacker.NewServer(t, lower.PlatformObjects(first)), queued, "limits: {memory: 12Gi}", refusal},
		"NoMachines": {"a machine has less", s, queued, "limits: {memory: 32Gi}", "spec.trainer.resourcesPerNode asks for 32Gi memory, a machine of profile `cpu` has 16Gi: ask for at most that, or leave it out to get what the runtime has"},
	} {
		text := "metadata: {name: x}\nspec: {runtimeRef: {name: cpu}, trainer: {resourcesPerNode: {" + tc.amount + "}}}"
		if tc.in == queued {
			text = strings.Replace(text, "{name: x}", "{name: x, labels: {kueue.x-k8s.io/queue-name: lockstep}}", 1)
		}
		if got := tc.server.Ask(t, "lockstep-trainjob", attacker.CreateTrainJob(tc.in, job(t, text))); got != tc.want {
			t.Errorf("%s: %s: the answer is %q, want %q", name, tc.reason, got, tc.want)
		}
	}
}

// TestPodsStayInTheirNamespace: whoever makes a pod of a tenant, it is not placed by pods of others.
func TestPodsStayInTheirNamespace(t *testing.T) {
	s := attacker.NewServer(t, lower.PlatformObjects(attacker.PlanOf(t, attacker.Specs)))
	term := func(change func(*corev1.PodAffinityTerm)) corev1.PodAffinityTerm {
		own := corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{}}
		change(&own)
		return own
	}
	weighted := func(t corev1.PodAffinityTerm) []corev1.WeightedPodAffinityTerm {
		return []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: t}}
	}
	for name, tc := range map[string]struct {
		change  func(*corev1.PodAffinityTerm)
		refused bool
	}{
		"Own":               {func(*corev1.PodAffinityTerm) {}, false},
		"Namespaces":        {func(t *corev1.PodAffinityTerm) { t.Namespaces = []string{"language"} }, true},
		"NamespaceSelector": {func(t *corev1.PodAffinityTerm) { t.NamespaceSelector = &metav1.LabelSelector{} }, true},
	} {
		for place, affinity := range map[string]corev1.Affinity{
			"required":       {PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term(tc.change)}}},
			"preferred":      {PodAffinity: &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: weighted(term(tc.change))}},
			"required anti":  {PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term(tc.change)}}},
			"preferred anti": {PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: weighted(term(tc.change))}},
		} {
			pod := attacker.GoodPod()
			pod.Spec.Affinity = &affinity
			if got := s.Ask(t, "lockstep-pod-affinity", createPod(t, pod)); strings.Contains(got, "namespaceSelector") != tc.refused {
				t.Errorf("%s, %s: the answer is %q", name, place, got)
			}
		}
	}
	if got := s.Ask(t, "lockstep-pod-affinity", createPod(t, attacker.GoodPod())); got != "" {
		t.Errorf("a pod without affinity: %s", got)
	}
}
