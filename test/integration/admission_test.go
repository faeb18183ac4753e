package integration

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing/fstest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/patch/chart/helm"
)

// admissionSpecs are a cluster that queues, with two tenants: cameras has a queue, a runtime of its own and pins memory; microphones may
// use a runtime that others installed, which takes a cluster with Kubeflow Trainer.
const admissionSpecs = `apiVersion: lockstep.dev/v1alpha1
kind: Cluster
metadata: {name: admission}
spec:
  platform: Kubernetes
  version: "1.36"
  executor: KubeflowTrainer
  agent: {image: "registry.example.com/agent:1"}
  capacity: [{profile: cpu, nodes: 4}, {profile: h100, nodes: 16}]
  queueing: {cohorts: [{name: research}]}
  priorities: [{name: production, value: 10}, {name: research, value: 1}]
---
apiVersion: lockstep.dev/v1alpha1
kind: HardwareProfile
metadata: {name: cpu}
spec: {fabric: {type: Ethernet}, node: {cpu: 4, memory: 16Gi}, nodeSelector: {pool: cpu}}
---
apiVersion: lockstep.dev/v1alpha1
kind: HardwareProfile
metadata: {name: h100}
spec:
  fabric: {type: InfiniBand, resource: rdma/ib, count: 1, hcas: [mlx5_0]}
  node: {cpu: 96, memory: 1Ti}
  accelerator: {resource: nvidia.com/gpu, count: 8}
  nodeSelector: {pool: h100}
---
apiVersion: lockstep.dev/v1alpha1
kind: MPIRuntime
metadata: {name: openmpi5-h100}
spec:
  mpi: {implementation: OpenMPI, version: "5.0.7"}
  image: "registry.example.com/mpi:1"
  profile: h100
  nodes: {default: 2, max: 16}
  slotsPerNode: auto
  resourcesPerNode: {memory: 512Gi}
  tenants: [cameras]
---
apiVersion: lockstep.dev/v1alpha1
kind: MPIRuntime
metadata: {name: speech-only}
spec:
  mpi: {implementation: OpenMPI, version: "5.0.7"}
  image: "registry.example.com/mpi:1"
  profile: cpu
  nodes: {default: 2, max: 100}
  slotsPerNode: 1
  tenants: [microphones]
---
apiVersion: lockstep.dev/v1alpha1
kind: Tenant
metadata: {name: cameras}
spec:
  people: {editors: [camera-editors]}
  namespaces: [cameras]
  clusters: [admission]
  quota: {cpu: 800, memory: 8Ti, pods: 40, jobs: 20}
  limits: {container: {max: {cpu: 96, memory: 768Gi}}}
  queue: {cohort: research, shares: [{profile: h100, nodes: 3, borrow: 1}]}
  variants: [{name: openmpi5-wide, runtime: openmpi5-h100, nodes: {default: 3, min: 3, max: 4}}]
---
apiVersion: lockstep.dev/v1alpha1
kind: Tenant
metadata: {name: microphones}
spec:
  people: {editors: [microphone-editors]}
  namespaces: [microphones]
  externalRuntimes: [torch-distributed]
  clusters: [admission]
  quota: {cpu: 80, memory: 64Gi, pods: 40, jobs: 20}
  queue: {shares: [{profile: cpu, nodes: 4}]}
`

// admissionKinds are what this test needs of all that is compiled: no CRDs of other projects.
var admissionKinds = []string{
	"Namespace", "ResourceQuota", "ClusterRole", "ClusterRoleBinding", "RoleBinding", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
	"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
}

// queued is a TrainJob with the label of the queue, and a spec as YAML.
func queued(spec string) string {
	return "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: demo, namespace: cameras, labels: {kueue.x-k8s.io/queue-name: lockstep}}\nspec: " + spec
}

// patched is a TrainJob with a patch of the pods of nodes.
func patched(manager, pod string) string {
	return queued("{runtimeRef: {name: openmpi5-h100}, suspend: true, runtimePatches: [{manager: " + manager +
		", trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: " + pod + "}}}]}}}}]}")
}

var _ = Describe("Admission policies", ofTheCompiler, onEachVersion, Ordered, func() {
	var editor client.Client

	BeforeAll(func(ctx SpecContext) {
		install(ctx, admissionSpecs)
		editor = userIn("grace", "camera-editors")
		enforced(ctx, editor)
	})

	DescribeTable("refuse a TrainJob with the documented message", func(ctx SpecContext, trainJob, message string) {
		err := editor.Create(ctx, parsed(trainJob), client.DryRunAll)
		Expect(err).To(MatchError(HaveSuffix("denied request: " + message)))
		documentation, readErr := os.ReadFile("../../docs/admission.md")
		Expect(readErr).NotTo(HaveOccurred())
		Expect(string(documentation)).To(ContainSubstring(message))
	},
		Entry("of a runtime that is not Lockstep's", queued("{runtimeRef: {name: torch-distributed}}"),
			"spec.runtimeRef is ClusterTrainingRuntime `torch-distributed`; tenant `cameras` may use ClusterTrainingRuntime `openmpi5-h100`, TrainingRuntime `openmpi5-wide`: name one of these, or ask the platform team for the other"),
		Entry("of a runtime of another tenant", queued("{runtimeRef: {name: speech-only}}"),
			"spec.runtimeRef is ClusterTrainingRuntime `speech-only`; tenant `cameras` may use ClusterTrainingRuntime `openmpi5-h100`, TrainingRuntime `openmpi5-wide`: name one of these, or ask the platform team for the other"),
		Entry("with too many nodes", queued("{runtimeRef: {name: openmpi5-h100}, trainer: {numNodes: 64}}"),
			"spec.trainer.numNodes is 64; runtime `openmpi5-h100` runs on 1 to 16 nodes: ask for a number between them"),
		Entry("with too few nodes for a runtime of its own", queued("{runtimeRef: {name: openmpi5-wide, kind: TrainingRuntime}, trainer: {numNodes: 1}}"),
			"spec.trainer.numNodes is 1; runtime `openmpi5-wide` runs on 3 to 4 nodes: ask for a number between them"),
		Entry("with too many slots", queued("{runtimeRef: {name: openmpi5-h100}, trainer: {numProcPerNode: 16}}"),
			"spec.trainer.numProcPerNode is 16; a node of runtime `openmpi5-h100` has 1 to 8 ranks, one per nvidia.com/gpu: ask for a number between them"),
		Entry("with more than a machine has", queued("{runtimeRef: {name: openmpi5-h100}, trainer: {resourcesPerNode: {limits: {nvidia.com/gpu: 16}}}}"),
			"spec.trainer.resourcesPerNode asks for 16 nvidia.com/gpu, a machine of profile `h100` has 8: ask for at most that, or leave it out to get what the runtime has"),
		Entry("with more than the LimitRange allows", queued("{runtimeRef: {name: openmpi5-h100}, trainer: {resourcesPerNode: {limits: {memory: 1000Gi}}}}"),
			"spec.trainer.resourcesPerNode asks for more than one container of tenant `cameras` may have (memory=768Gi, LimitRange lockstep-limits): ask for at most that"),
		Entry("with more accelerators than the tenant has", queued("{runtimeRef: {name: openmpi5-h100}, trainer: {numNodes: 8}}"),
			"8 nodes with 8 nvidia.com/gpu each are 64; tenant `cameras` may use 32 on machines of profile `h100`: ask for at most 4 nodes"),
		Entry("without queue", strings.Replace(queued("{runtimeRef: {name: openmpi5-h100}}"), ", labels: {kueue.x-k8s.io/queue-name: lockstep}", "", 1),
			"the label kueue.x-k8s.io/queue-name is missing; jobs of tenant `cameras` wait in queue `lockstep`: set the label to `lockstep`"),
		Entry("with an unknown priority", strings.Replace(queued("{runtimeRef: {name: openmpi5-h100}}"), "queue-name: lockstep", "queue-name: lockstep, kueue.x-k8s.io/priority-class: urgent", 1),
			"the label kueue.x-k8s.io/priority-class is `urgent`; the cluster has `production`, `research`: name one of these, or remove the label"),
		Entry("under another tenant's name", strings.Replace(queued("{runtimeRef: {name: openmpi5-h100}}"), "queue-name: lockstep", "queue-name: lockstep, lockstep.dev/tenant: microphones", 1),
			"the label lockstep.dev/tenant is `microphones`; the namespace belongs to tenant `cameras`: remove the label"),
		Entry("with a service account", patched("example.com/me", "{spec: {serviceAccountName: mpi-rdma}}"),
			"spec.runtimePatches sets serviceAccountName `mpi-rdma`; pods run with the account of their runtime, because it decides what they may do: remove serviceAccountName"),
		Entry("with a folder of the machine", patched("example.com/me", "{spec: {volumes: [{name: root, hostPath: {path: /}}]}}"),
			"spec.runtimePatches adds volume `root` of a kind that reaches past the namespace; allowed are configMap, downwardAPI, emptyDir, image, persistentVolumeClaim, projected (of configMap, downwardAPI and secret) and secret: use one of these"),
		Entry("with the key of another job", patched("example.com/me", "{spec: {volumes: [{name: keys, secret: {secretName: other-mpi-ssh-auth}}]}}"),
			"volume keys reads the key of a job (Secret *-mpi-ssh-auth), with which all its nodes can be commanded; the agent gets the key of its own job by itself: remove it"),
		Entry("with more networks", patched("example.com/me", "{metadata: {annotations: {k8s.v1.cni.cncf.io/networks: other/net}}}"),
			"spec.runtimePatches sets annotation `k8s.v1.cni.cncf.io/networks`, by which something in the cluster may give the pods more than the runtime does; allowed are names without domain and dot (`team`), prometheus.io/*, kubectl.kubernetes.io/default-container, cluster-autoscaler.kubernetes.io/safe-to-evict, and kueue.x-k8s.io/podset-required-topology, -preferred- and -unconstrained-: remove it, or set it on the TrainJob itself, whose annotations reach no pod"),
		Entry("with labels of another job", patched("example.com/me", "{metadata: {labels: {lockstep.dev/trainjob: other}}}"),
			"spec.runtimePatches sets label `lockstep.dev/trainjob`, by which policies and controllers of the cluster may select the pods; allowed are names without domain and dot (`team`), and app.kubernetes.io/name, instance, version, component and part-of: remove it, or set it on the TrainJob itself, whose labels reach no pod"),
		Entry("with tolerations", patched("example.com/me", "{spec: {tolerations: [{operator: Exists}]}}"),
			"spec.runtimePatches adds tolerations; those for the machines of its profile come with the runtime, others would take machines that are kept for others: remove tolerations"),
		Entry("with a job that runtimes do not have", strings.Replace(patched("example.com/me", "{}"), "name: node,", "name: worker,", 1),
			"spec.runtimePatches patches `worker`; patches may change the jobs `launcher` and `node`: patch one of these"),
		Entry("with a container that pods do not have", patched("example.com/me", "{spec: {containers: [{name: sidecar}]}}"),
			"spec.runtimePatches patches container `sidecar`; patches may change the container `node`: patch that one"),
		Entry("with more per node than its queue counts", queued("{runtimeRef: {name: openmpi5-h100}, trainer: {resourcesPerNode: {limits: {memory: 768Gi}}}}"),
			"spec.trainer.resourcesPerNode asks for 768Gi memory, a node of the runtime has 512Gi; queue `lockstep` counts a node as runtime `openmpi5-h100` has it, and more would be taken from others: ask for at most that, or name a runtime with larger nodes"),
		Entry("with the Workload of another job", strings.Replace(queued("{runtimeRef: {name: openmpi5-h100}}"), "queue-name: lockstep", "queue-name: lockstep, kueue.x-k8s.io/prebuilt-workload-name: other", 1),
			"the TrainJob has `kueue.x-k8s.io/prebuilt-workload-name`; of Kueue's labels users may set kueue.x-k8s.io/queue-name, priority-class and max-exec-time-seconds, and no annotation: remove it"),
		Entry("with annotations that leave no room for what the controller records",
			strings.Replace(queued("{runtimeRef: {name: openmpi5-h100}}"), "labels:",
				"annotations: {notes: "+strings.Repeat("x", 150<<10)+"}, labels:", 1),
			"the annotations of the TrainJob have 153605 bytes; at most 131072 are allowed, because the platform records there "+
				"how far the job has come: remove large ones; `kubectl apply --server-side` leaves out the copy of the manifest, "+
				"and files belong into a volume or the image"),
		Entry("with what cannot be recorded of its run", strings.Replace(queued("{runtimeRef: {name: openmpi5-h100}}"), "labels:", "annotations: {lockstep.dev/trace: everything}, labels:", 1),
			"the annotation lockstep.dev/trace has `everything`, which cannot be traced; allowed are `traffic`, `waiting`, `horovod` and `nccl`, with commas between them: correct it, or remove it"),
		Entry("with devices by a claim", queued("{runtimeRef: {name: openmpi5-h100}, trainer: {resourcesPerNode: {claims: [{name: gpus}]}}}"),
			"the TrainJob sets `claims`, which the platform does not support; spec may have activeDeadlineSeconds, initializer, managedBy, runtimePatches, runtimeRef, suspend and trainer, spec.initializer dataset and model (env, secretRef, storageUri), and spec.trainer args, command, env, image, numNodes, numProcPerNode and resourcesPerNode (limits, requests): remove it"),
		Entry("with all devices of the machine", queued("{runtimeRef: {name: openmpi5-h100}, trainer: {env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}}"),
			"the TrainJob sets NVIDIA_VISIBLE_DEVICES, by which container runtimes hand out devices that nobody asked the scheduler for; pods get those that the runtime or spec.trainer.resourcesPerNode asks for: remove it, and choose among them with CUDA_VISIBLE_DEVICES"),
		Entry("with a variable from a file", queued("{runtimeRef: {name: openmpi5-h100}, trainer: {env: [{name: A, valueFrom: {fileKeyRef: {volumeName: v, path: p, key: k}}}]}}"),
			"the TrainJob takes a variable from `fileKeyRef`; allowed are configMapKeyRef, fieldRef, resourceFieldRef and secretKeyRef: use one of these"),
		Entry("with finalizers of pods", patched("example.com/me", "{metadata: {finalizers: [example.com/never]}}"),
			"spec.runtimePatches sets `finalizers`, which is the runtime's to set; patches may set labels, annotations, and of pods affinity, containers, imagePullSecrets, nodeSelector, schedulingGates, securityContext, terminationGracePeriodSeconds, tolerations, volumes (of a securityContext users and groups, of containers env, securityContext and volumeMounts): remove it"),
		Entry("with pods that take an hour to end", patched("example.com/me", "{spec: {terminationGracePeriodSeconds: 3600}}"),
			"spec.runtimePatches sets terminationGracePeriodSeconds to 3600; others wait for the machines while pods end, so that 120 is the most: ask for at most that, and save checkpoints as the job runs"),
		Entry("on machines of another profile", patched("example.com/me", "{spec: {nodeSelector: {pool: cpu}}}"),
			"spec.runtimePatches selects machines by `pool`, which tells the machines of profiles apart; pods run on machines of profile `h100`, which come with the runtime: remove it, or name another runtime"),
		Entry("apart from pods of other namespaces", patched("example.com/me", "{spec: {affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, namespaceSelector: {}}]}}}}"),
			"spec.runtimePatches sets `namespaceSelector` in podAffinity or podAntiAffinity; by pods of other namespaces a job would keep them off machines; a term may have labelSelector, matchLabelKeys, mismatchLabelKeys and topologyKey: remove it"),
		Entry("apart from other jobs", patched("example.com/me", "{spec: {affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {}}]}}}}"),
			"spec.runtimePatches requires podAntiAffinity to pods that are not its own, which keeps them off the machines of this job; its own have the label jobset.sigs.k8s.io/jobset-name: `demo`: add it to matchLabels of each required term, or prefer instead of require"),
		Entry("with another agent", patched("example.com/me", "{spec: {volumes: [{name: lockstep-agent, emptyDir: {}}]}}"),
			"spec.runtimePatches uses volume `lockstep-agent`, which is the platform's (lockstep-agent, lockstep-state, mpi-ssh-auth, mpi-hostfile, lockstep-user-home): give the volume another name, or remove the mount"),
		Entry("with a mount over the hostfile", patched("example.com/me", "{spec: {volumes: [{name: v, emptyDir: {}}], containers: [{name: node, volumeMounts: [{name: v, mountPath: /etc}]}]}}"),
			"spec.runtimePatches mounts a volume at `/etc`; the platform has /opt/lockstep, /var/run/secrets/lockstep.dev/mpi-ssh, /run/lockstep, /etc/mpi, /etc/hosts, /proc and /sys, and nothing may be mounted there, above or below; a path begins with a slash and has no `//`, `.` or `..`: choose another folder"),
	)

	DescribeTable("let pass what the specs allow", func(ctx SpecContext, trainJob string) {
		Expect(editor.Create(ctx, parsed(trainJob), client.DryRunAll)).To(Succeed())
	},
		Entry("a TrainJob that leaves all to the runtime", queued("{runtimeRef: {name: openmpi5-h100}}")),
		Entry("one that says everything", strings.Replace(queued("{runtimeRef: {name: openmpi5-h100, kind: ClusterTrainingRuntime, apiGroup: trainer.kubeflow.org}, suspend: true, activeDeadlineSeconds: 60, trainer: {image: x, command: [a], args: [b], numNodes: 4, numProcPerNode: 8, env: [{name: A, value: b}, {name: B, valueFrom: {secretKeyRef: {name: s, key: k}}}], resourcesPerNode: {requests: {cpu: 90}, limits: {cpu: \"96\", memory: 512Gi, nvidia.com/gpu: 8}}}}"),
			"queue-name: lockstep", "queue-name: lockstep, kueue.x-k8s.io/priority-class: production, lockstep.dev/tenant: cameras, lockstep.dev/trainjob: demo", 1)),
		Entry("half of the accelerators of twice as many machines", queued("{runtimeRef: {name: openmpi5-h100}, trainer: {numNodes: 8, resourcesPerNode: {limits: {nvidia.com/gpu: 4}}}}")),
		Entry("a runtime of the tenant's own", queued("{runtimeRef: {name: openmpi5-wide, kind: TrainingRuntime}}")),
		Entry("a patch", patched("example.com/me", "{metadata: {labels: {a: b}}, spec: {nodeSelector: {rack: a}, volumes: [{name: v, persistentVolumeClaim: {claimName: data}}], containers: [{name: node, volumeMounts: [{name: v, mountPath: /v}]}]}}")),
	)

	DescribeTable("judge TrainJobs of runtimes that others installed", func(ctx SpecContext, trainer, message string) {
		job := parsed(queued("{runtimeRef: {name: torch-distributed}, trainer: {" + trainer + "}}"))
		job.SetNamespace("microphones")
		err := userIn("heinrich", "microphone-editors").Create(ctx, job, client.DryRunAll)
		if message == "" {
			Expect(err).NotTo(HaveOccurred())
			return
		}
		Expect(err).To(MatchError(HaveSuffix("denied request: " + message)))
		documentation, readErr := os.ReadFile("../../docs/admission.md")
		Expect(readErr).NotTo(HaveOccurred())
		Expect(string(documentation)).To(ContainSubstring(message))
	},
		Entry("of any size", "numNodes: 500, resourcesPerNode: {requests: {cpu: 8, memory: 64Gi, nvidia.com/gpu: 4}, limits: {memory: 64Gi, nvidia.com/gpu: 4}}", ""),
		Entry("with a device that no profile has", "resourcesPerNode: {limits: {nvidia.com/mig-1g.5gb: 1}}",
			"spec.trainer.resourcesPerNode asks for nvidia.com/mig-1g.5gb, which no machine of the cluster's profiles has, so that no quota counts it; they have cpu, memory, nvidia.com/gpu, rdma/ib: ask for these"),
		Entry("with memory that Kueue does not count", "resourcesPerNode: {limits: {memory: 64Gi}}",
			"spec.trainer.resourcesPerNode limits memory to 64Gi and requests none; queue `lockstep` counts requests, and more would be taken from others: request as much as the limit"),
	)

	It("let as many nodes pass as the runtime has, and not one more", func(ctx SpecContext) {
		of := func(nodes int) client.Object {
			job := parsed(queued(fmt.Sprintf("{runtimeRef: {name: speech-only}, suspend: true, trainer: {numNodes: %d}}", nodes)))
			job.SetNamespace("microphones")
			return job
		}
		speaker := userIn("heinrich", "microphone-editors")
		Expect(speaker.Create(ctx, of(100), client.DryRunAll)).To(Succeed())
		Expect(speaker.Create(ctx, of(101), client.DryRunAll)).To(MatchError(HaveSuffix(
			"denied request: spec.trainer.numNodes is 101; runtime `speech-only` runs on 1 to 100 nodes: ask for a number between them")))
	})

	It("let controllers do their work on a job that was admitted", func(ctx SpecContext) {
		trainJob := parsed(queued("{runtimeRef: {name: openmpi5-h100}, suspend: true}"))
		Expect(editor.Create(ctx, trainJob)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(admin.Delete(ctx, trainJob)).To(Succeed()) })

		kueue := userIn("system:serviceaccount:kueue-system:kueue-controller-manager", "system:masters")
		placement := `[{"manager":"kueue.x-k8s.io/manager","trainingRuntimeSpec":{"template":{"spec":{"replicatedJobs":[{"name":"node","template":{"spec":{"template":{"metadata":{"labels":{"kueue.x-k8s.io/podset":"node"}},"spec":{"nodeSelector":{"a":"b"},"tolerations":[{"operator":"Exists"}]}}}}}]}}}}]`
		patchAs(ctx, kueue, trainJob, `{"spec":{"runtimePatches":`+placement+`}}`)
		patchAs(ctx, kueue, trainJob, `{"spec":{"suspend":false}}`)

		upstream := userIn("system:serviceaccount:kubeflow-system:kubeflow-trainer-controller-manager", "system:masters")
		patchAs(ctx, upstream, trainJob, `{"metadata":{"finalizers":["example.com/test"]}}`)
		patchAs(ctx, upstream, trainJob, `{"metadata":{"finalizers":null}}`)
		for _, name := range []string{"system:serviceaccount:kubeflow-system:kubeflow-trainer-controller-manager", "system:serviceaccount:lockstep-system:mpi-controller"} {
			status := []byte(`{"status":{"conditions":[{"type":"Suspended","status":"False","reason":"Resumed","message":"","lastTransitionTime":"2026-11-21T00:00:00Z"}]}}`)
			Expect(userIn(name, "system:masters").Status().Patch(ctx, trainJob.DeepCopy(), client.RawPatch(types.MergePatchType, status))).To(Succeed())
		}
		ours := userIn("system:serviceaccount:lockstep-system:mpi-controller", "system:masters")
		patchAs(ctx, ours, trainJob, `{"metadata":{"labels":{"lockstep.dev/trainjob":"demo"},"annotations":{"lockstep.dev/conditions":"{}"}}}`)

		By("the user, who may suspend it, and may not pass for Kueue")
		patchAs(ctx, editor, trainJob, `{"spec":{"suspend":true}}`)
		err := editor.Patch(ctx, trainJob.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"runtimePatches":`+strings.ReplaceAll(placement, `"a":"b"`, `"a":"c"`)+`}}`)))
		Expect(err).To(MatchError(ContainSubstring("adds tolerations")))
	})

	It("keep people from changing what is compiled, and nobody else", func(ctx SpecContext) {
		allow(ctx, "quota-writers", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"resourcequotas", "namespaces"}, Verbs: []string{"*"}})
		allow(ctx, "everything", rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}})
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "cameras", Name: "lockstep-quota"}}
		const change = `{"metadata":{"annotations":{"touched":"true"}}}`
		message := "may not change ResourceQuota `lockstep-quota`, which is compiled (label app.kubernetes.io/managed-by=lockstep): change its spec in the repository of the platform, or ask the platform team"
		for _, person := range []string{"mallory", "system:serviceaccount:cameras:default"} {
			err := tryPatch(ctx, userIn(person, "quota-writers"), quota, change)
			Expect(err).To(MatchError(HaveSuffix("denied request: " + person + " " + message)))
			err = userIn(person, "quota-writers").Delete(ctx, quota.DeepCopy(), client.DryRunAll)
			Expect(err).To(MatchError(ContainSubstring("may not delete ResourceQuota")))
			By("not even by taking the label away first")
			Expect(tryPatch(ctx, userIn(person, "quota-writers"), quota, `{"metadata":{"labels":null}}`)).NotTo(Succeed())
		}
		for _, part := range []string{"system:serviceaccount:flux-system:kustomize-controller", "system:serviceaccount:kube-system:namespace-controller", "system:kube-controller-manager"} {
			Expect(tryPatch(ctx, userIn(part, "quota-writers"), quota, change)).To(Succeed(), part)
		}
		By("a cluster administrator, who could switch the policy off")
		Expect(tryPatch(ctx, userIn("root", "everything"), quota, change)).To(Succeed())
		By("what is not compiled")
		own := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "cameras", Name: "own"}}
		Expect(userIn("mallory", "quota-writers").Create(ctx, own)).To(Succeed())
		Expect(userIn("mallory", "quota-writers").Delete(ctx, own)).To(Succeed())
	})

	It("keep a namespace with its tenant", func(ctx SpecContext) {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "cameras"}}
		for value, text := range map[string]string{`"microphones"`: "`microphones`", "null": "``"} {
			err := tryPatch(ctx, admin, namespace, `{"metadata":{"labels":{"lockstep.dev/tenant":`+value+`}}}`)
			Expect(err).To(MatchError(HaveSuffix("the label lockstep.dev/tenant of namespace `cameras` is `cameras` and cannot become " + text +
				": its jobs, volumes and secrets would go to another team; delete the namespace, and it is made again for the other tenant")))
		}
		Expect(tryPatch(ctx, admin, namespace, `{"metadata":{"labels":{"other":"x"}}}`)).To(Succeed())
		By("a namespace that somebody takes over has no tenant before")
		ensureNamespace(ctx, "taken-over")
		taken := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "taken-over"}}
		Expect(tryPatch(ctx, admin, taken, `{"metadata":{"labels":{"lockstep.dev/tenant":"cameras"}}}`)).To(Succeed())
	})

	It("keep pods from being placed by those of other namespaces", func(ctx SpecContext) {
		pod := func(namespaces string) client.Object {
			return parsed("apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: microphones}\nspec: {securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}, containers: [{name: node, image: x, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}], " +
				"affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: zone, labelSelector: {}" + namespaces + "}}]}}}")
		}
		Expect(client.IgnoreAlreadyExists(admin.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "microphones", Name: "default"}}))).To(Succeed())
		Expect(admin.Create(ctx, pod(""), client.DryRunAll)).To(Succeed())
		const message = "the pod sets namespaces or namespaceSelector in podAffinity or podAntiAffinity, and would keep pods of other namespaces off its machine: remove them; JobSet's annotation alpha.jobset.sigs.k8s.io/exclusive-topology sets them too"
		documentation, err := os.ReadFile("../../docs/admission.md")
		Expect(err).NotTo(HaveOccurred())
		Expect(string(documentation)).To(ContainSubstring(message))
		for _, namespaces := range []string{", namespaces: [cameras]", ", namespaceSelector: {}"} {
			Expect(admin.Create(ctx, pod(namespaces), client.DryRunAll)).To(MatchError(HaveSuffix("denied request: " + message)))
		}
	})

	It("warn of deprecated runtimes, and refuse nothing for it", func(ctx SpecContext) {
		heard := &warnings{}
		config := rest.CopyConfig(environment.Config)
		config.WarningHandler = heard
		user := newClient(config)
		submit := func(ref string) []string {
			heard.texts = nil
			trainJob := "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n" +
				"metadata: {name: demo, namespace: default}\nspec: {runtimeRef: {" + ref + "}}"
			Expect(user.Create(ctx, parsed(trainJob), client.DryRunAll)).To(Succeed())
			return heard.texts
		}
		Expect(submit("name: openmpi4-cpu")).To(BeEmpty(), "there is no deprecated runtime")

		runtime := func(kind, metadata string) *unstructured.Unstructured {
			made := parsed("apiVersion: trainer.kubeflow.org/v1alpha1\nkind: " + kind +
				"\nmetadata: {" + metadata + "}\n" +
				"spec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: " +
				"{spec: {containers: [{name: node, image: x}]}}}}}]}}}")
			Expect(admin.Create(ctx, made)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { Expect(admin.Delete(ctx, made)).To(Succeed()) })
			return made
		}
		const deprecated = ", labels: {trainer.kubeflow.org/support: deprecated}"
		old := runtime("ClusterTrainingRuntime", "name: openmpi4-cpu"+deprecated+
			", annotations: {lockstep.dev/retire-on: \"2027-06-30\", lockstep.dev/successor: openmpi5-cpu, "+
			"lockstep.dev/deprecation-reason: Open MPI 4 gets no fixes.}")
		runtime("ClusterTrainingRuntime", "name: other"+deprecated)
		runtime("ClusterTrainingRuntime", "name: openmpi5-cpu")
		runtime("TrainingRuntime", "name: wide, namespace: default"+deprecated)
		runtime("TrainingRuntime", "name: elsewhere, namespace: cameras"+deprecated)
		message := func(policy, text string) []string {
			const warning = "Validation failed for ValidatingAdmissionPolicy '%[1]s' with binding '%[1]s': %s"
			return []string{fmt.Sprintf(warning, policy, text)}
		}
		const end = "runtime `openmpi4-cpu` is deprecated and retires on 2027-06-30; " +
			"use `openmpi5-cpu` instead: Open MPI 4 gets no fixes."
		documentation, err := os.ReadFile("../../docs/admission.md")
		Expect(err).NotTo(HaveOccurred())
		told := "Warning: " + message("lockstep-runtime-deprecated", end)[0] + "\n"
		Expect(string(documentation)).To(ContainSubstring(told))
		for ref, want := range map[string][]string{
			"name: openmpi4-cpu":                        message("lockstep-runtime-deprecated", end),
			"name: other, kind: ClusterTrainingRuntime": message("lockstep-runtime-deprecated", "runtime `other` is deprecated"),
			"name: wide, kind: TrainingRuntime":         message("lockstep-variant-deprecated", "runtime `wide` is deprecated"),
		} {
			Eventually(func() []string { return submit(ref) }).Should(Equal(want), ref)
		}
		for _, ref := range []string{
			"name: openmpi5-cpu", "name: unknown", "name: wide",
			"name: other, kind: TrainingRuntime", "name: elsewhere, kind: TrainingRuntime",
		} {
			Expect(submit(ref)).To(BeEmpty(), ref)
		}
		const active = `{"metadata":{"labels":{"trainer.kubeflow.org/support":null}}}`
		Expect(admin.Patch(ctx, old, client.RawPatch(types.MergePatchType, []byte(active)))).To(Succeed())
		Eventually(func() []string { return submit("name: openmpi4-cpu") }).Should(BeEmpty())
	})

	It("refuse nothing if the kind of runtimes is not installed", func(ctx SpecContext) {
		for kind, path := range map[string][]string{
			"ValidatingAdmissionPolicy":        {"spec", "paramKind", "kind"},
			"ValidatingAdmissionPolicyBinding": {"spec", "policyName"},
		} {
			made := &unstructured.Unstructured{}
			made.SetAPIVersion("admissionregistration.k8s.io/v1")
			made.SetKind(kind)
			Expect(admin.Get(ctx, types.NamespacedName{Name: "lockstep-runtime-deprecated"}, made)).To(Succeed())
			made.Object["metadata"] = map[string]any{"name": "missing"}
			Expect(unstructured.SetNestedField(made.Object, "missing", path...)).To(Succeed())
			Expect(admin.Create(ctx, made)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { Expect(admin.Delete(ctx, made)).To(Succeed()) })
		}
		trainJob := "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n" +
			"metadata: {name: demo, namespace: default}\nspec: {runtimeRef: {name: x}}"
		Consistently(func() error {
			return admin.Create(ctx, parsed(trainJob), client.DryRunAll)
		}).WithTimeout(3 * time.Second).Should(Succeed())
	})

	It("judge pods that pin memory as `restricted` does, with one exception", func(ctx SpecContext) {
		pod := func(account, capability string) *unstructured.Unstructured {
			return parsed("apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: cameras}\nspec: {serviceAccountName: " + account +
				", securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}, containers: [{name: node, image: x, resources: {requests: {cpu: 1, memory: 1Gi}, limits: {memory: 1Gi}}, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL], add: [" + capability + "]}}}]}")
		}
		for _, account := range []string{"default", "mpi-rdma"} {
			Expect(client.IgnoreAlreadyExists(admin.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "cameras", Name: account}}))).To(Succeed())
		}
		Expect(admin.Create(ctx, pod("mpi-rdma", "IPC_LOCK"), client.DryRunAll)).To(Succeed())
		Expect(admin.Create(ctx, pod("default", "IPC_LOCK"), client.DryRunAll)).To(MatchError(ContainSubstring("container node adds capabilities")))
		Expect(admin.Create(ctx, pod("mpi-rdma", "SYS_ADMIN"), client.DryRunAll)).To(MatchError(ContainSubstring("container node adds capabilities")))

		By("a container that is added to a running pod")
		running := &corev1.Pod{}
		Expect(admin.Create(ctx, pod("mpi-rdma", "IPC_LOCK"))).To(Succeed())
		Expect(admin.Get(ctx, in("cameras", "p"), running)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(admin.Delete(ctx, running, client.GracePeriodSeconds(0))).To(Succeed()) })
		running.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", Image: "x"}}}
		Expect(admin.SubResource("ephemeralcontainers").Update(ctx, running.DeepCopy())).To(MatchError(ContainSubstring("container debug keeps capabilities")))
	})

	It("never fail to judge, whatever a TrainJob looks like", func(ctx SpecContext) {
		refused := 0
		for seed := range uint64(400) {
			err := editor.Create(ctx, odd(seed), client.DryRunAll)
			if err == nil {
				continue
			}
			refused++
			Expect(err.Error()).NotTo(Or(ContainSubstring("resulted in error"), ContainSubstring("budget"), ContainSubstring("failed expression")), "seed %d", seed)
		}
		Expect(refused).To(BeNumerically(">", 100))
	})

	It("stay fast with 200 runtimes", func(ctx SpecContext) {
		trainJob := queued("{runtimeRef: {name: openmpi5-h100}}")
		AddReportEntry("2 runtimes, one TrainJob", took(ctx, editor, trainJob).String())
		specs := []string{admissionSpecs}
		for i := range 200 {
			specs = append(specs, fmt.Sprintf("apiVersion: lockstep.dev/v1alpha1\nkind: MPIRuntime\nmetadata: {name: r-%d}\nspec: {mpi: {implementation: OpenMPI, version: \"5.0.7\"}, image: \"registry.example.com/mpi:1\", profile: h100, nodes: {default: 2, max: 16}, slotsPerNode: auto, resourcesPerNode: {memory: 512Gi}, tenants: [cameras]}\n", i))
		}
		install(ctx, strings.Join(specs, "---\n"))
		last := queued("{runtimeRef: {name: r-199}}")
		Eventually(func() error { return editor.Create(ctx, parsed(last), client.DryRunAll) }).Should(Succeed())
		AddReportEntry("202 runtimes, one TrainJob", took(ctx, editor, last).String())
		AddReportEntry("202 runtimes, one TrainJob without policy", took(ctx, userIn("root", "system:masters"), strings.ReplaceAll(last, "cameras", "default")).String())
	})
})

// warnings keeps what an API server warns of.
type warnings struct{ texts []string }

func (w *warnings) HandleWarningHeader(_ int, _ string, text string) { w.texts = append(w.texts, text) }

// took is the time of one request, the median of 50.
func took(ctx context.Context, c client.Client, trainJob string) time.Duration {
	GinkgoHelper()
	var times []time.Duration
	for range 50 {
		request := parsed(trainJob)
		start := time.Now()
		Expect(c.Create(ctx, request, client.DryRunAll)).To(Succeed())
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	return times[len(times)/2]
}

// install compiles specs and applies what admission needs of them.
func install(ctx context.Context, specs string) {
	GinkgoHelper()
	files := fstest.MapFS{}
	for i, document := range strings.Split(specs, "---\n") {
		name := fmt.Sprintf("catalog/%d.yaml", i)
		switch {
		case strings.Contains(document, "\nkind: Tenant\n"):
			name = fmt.Sprintf("tenants/%d.yaml", i)
		case strings.Contains(document, "\nkind: Cluster\n"):
			name = "overlays/admission/cluster.yaml"
		}
		files[name] = &fstest.MapFile{Data: []byte(document)}
	}
	clusters, list := compile.Compile(files, compile.Options{Charts: helm.Renderer{}})
	var problems []string
	for _, d := range list.Sorted() {
		problems = append(problems, d.Message)
	}
	Expect(list.Errors()).To(BeZero(), "%s", strings.Join(problems, "\n"))
	for _, o := range decodeFiles(clusters[0]) {
		if !slices.Contains(admissionKinds, o.GetKind()) {
			continue
		}
		Expect(client.WithFieldValidation(admin, "Strict").Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("integration"), client.ForceOwnership)).To(Succeed(), "%s %s", o.GetKind(), o.GetName())
		if o.GroupVersionKind().Group == "admissionregistration.k8s.io" {
			DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(admin.Delete(ctx, o))).To(Succeed()) })
		}
	}
}

// enforced waits until the API server has seen the policies, and no longer those of a test before, which knew other runtimes.
func enforced(ctx context.Context, editor client.Client) {
	GinkgoHelper()
	try := func(runtime string) error {
		return editor.Create(ctx, parsed(queued("{runtimeRef: {name: "+runtime+"}}")), client.DryRunAll)
	}
	Eventually(func(g Gomega) {
		g.Expect(try("nothing")).To(MatchError(ContainSubstring("lockstep-trainjob")))
		g.Expect(try("openmpi5-h100")).To(Succeed())
	}).Should(Succeed())
	Eventually(func() error {
		return tryPatch(ctx, admin, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "cameras"}}, `{"metadata":{"labels":{"lockstep.dev/tenant":"x"}}}`)
	}).Should(HaveOccurred())
}

// userIn returns a client of a user in a group.
func userIn(name, group string) client.Client {
	GinkgoHelper()
	made, err := environment.AddUser(envtest.User{Name: name, Groups: []string{group, "system:authenticated"}}, nil)
	Expect(err).NotTo(HaveOccurred())
	config := made.Config()
	// Without a limit of its own: client-go's default is 20 requests per second.
	config.QPS = -1
	return newClient(config)
}

// allow gives a group a rule in the whole cluster.
func allow(ctx context.Context, group string, rule rbacv1.PolicyRule) {
	GinkgoHelper()
	Expect(admin.Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: group}, Rules: []rbacv1.PolicyRule{rule}})).To(Succeed())
	Expect(admin.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: group},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: group},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: group}},
	})).To(Succeed())
}

func patchAs(ctx context.Context, c client.Client, o client.Object, text string) {
	GinkgoHelper()
	Expect(c.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(text)))).To(Succeed())
}

// tryPatch patches a copy, without keeping the change.
func tryPatch(ctx context.Context, c client.Client, o client.Object, text string) error {
	return c.Patch(ctx, o.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, []byte(text)), client.DryRunAll) //nolint:forcetypeassert // it was one before
}

func parsed(text string) *unstructured.Unstructured {
	GinkgoHelper()
	objects, err := decode(text)
	Expect(err).NotTo(HaveOccurred())
	Expect(objects).To(HaveLen(1))
	return objects[0]
}

// odd is a TrainJob with random and often senseless values under the keys that policies read.
func odd(seed uint64) *unstructured.Unstructured {
	r := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // the same TrainJobs in each run
	any1 := func(values ...any) any { return values[r.IntN(len(values))] }
	set := func(m map[string]any, key string, values ...any) map[string]any {
		if value := any1(append(values, nil)...); value != nil {
			m[key] = value
		}
		return m
	}
	amounts := func() any {
		m := map[string]any{}
		for _, key := range []string{"cpu", "memory", "nvidia.com/gpu", "rdma/ib", "=", ""} {
			set(m, key, nil, int64(1), int64(-1), "9223372036854775807", int64(9223372036854775807), "1e18", "-9E", "0.5", "8", "1Ki", "100m", "0")
		}
		return m
	}
	odds := []any{"", "x", "node", "launcher", "a=b:c", "'", "`", "other-mpi-ssh-auth", strings.Repeat("x", 300)}
	text := func() any { return any1(odds...) }
	env := func() any {
		return []any{set(map[string]any{"name": text()}, "valueFrom", map[string]any{"secretKeyRef": map[string]any{"name": text(), "key": "k"}}, map[string]any{"fieldRef": map[string]any{"fieldPath": "x"}})}
	}
	pod := map[string]any{}
	set(pod, "metadata", map[string]any{}, map[string]any{"labels": map[string]any{"lockstep.dev/": "x", "jobset.sigs.k8s.io/a": "x"}}, map[string]any{"annotations": map[string]any{"k8s.v1.cni.cncf.io/networks": ""}})
	podSpec := map[string]any{}
	set(podSpec, "volumes", []any{}, []any{map[string]any{"name": "a"}}, []any{map[string]any{"name": "b", "secret": map[string]any{}}}, []any{map[string]any{"name": "c", "projected": map[string]any{}}, map[string]any{"name": "d", "projected": map[string]any{"sources": []any{map[string]any{"secret": map[string]any{}}}}}})
	set(podSpec, "serviceAccountName", "", "x")
	set(podSpec, "containers", []any{}, []any{map[string]any{"name": "node"}}, []any{map[string]any{"name": "other", "env": env()}})
	set(podSpec, "tolerations", []any{}, []any{map[string]any{}})
	set(podSpec, "nodeSelector", map[string]any{}, map[string]any{"": ""}, map[string]any{"pool": "h100", "$patch": "replace"})
	set(podSpec, "terminationGracePeriodSeconds", int64(0), int64(math.MaxInt64))
	set(podSpec, "affinity", map[string]any{}, map[string]any{"podAntiAffinity": map[string]any{"requiredDuringSchedulingIgnoredDuringExecution": []any{map[string]any{"topologyKey": ""}}}},
		map[string]any{"nodeAffinity": map[string]any{"preferredDuringSchedulingIgnoredDuringExecution": []any{map[string]any{"weight": int64(1), "preference": map[string]any{}}}}})
	set(pod, "spec", podSpec)
	replicated := map[string]any{"name": any1("node", "launcher", "worker")}
	set(replicated, "template", map[string]any{}, map[string]any{"spec": map[string]any{}}, map[string]any{"spec": map[string]any{"template": pod}})
	runtimePatch := map[string]any{"manager": any1("a/b", "kueue.x-k8s.io/manager")}
	set(runtimePatch, "trainingRuntimeSpec", map[string]any{}, map[string]any{"template": map[string]any{}}, map[string]any{"template": map[string]any{"spec": map[string]any{"replicatedJobs": []any{replicated}}}})

	trainer := map[string]any{}
	set(trainer, "numNodes", int64(0), int64(-2147483648), int64(2147483647), int64(2))
	set(trainer, "numProcPerNode", int64(0), int64(-1), int64(2147483647), int64(8))
	set(trainer, "env", []any{}, env())
	set(trainer, "resourcesPerNode", map[string]any{}, map[string]any{"limits": amounts()}, map[string]any{"requests": amounts(), "limits": amounts()})
	reference := map[string]any{"name": any1("openmpi5-h100", "openmpi5-h100", "openmpi5-wide", text())}
	set(reference, "kind", "TrainingRuntime", "ClusterTrainingRuntime", "", "Odd")
	set(reference, "apiGroup", "trainer.kubeflow.org", "", "odd")
	spec := map[string]any{"runtimeRef": reference}
	set(spec, "trainer", trainer, trainer, map[string]any{})
	set(spec, "runtimePatches", []any{}, []any{runtimePatch}, []any{runtimePatch})
	labels := map[string]any{}
	set(labels, "kueue.x-k8s.io/queue-name", "lockstep", "lockstep", "", "x")
	set(labels, "kueue.x-k8s.io/priority-class", "research", "", "x")
	set(labels, "lockstep.dev/tenant", "cameras", "", "x")
	metadata := map[string]any{"name": "odd", "namespace": "cameras"}
	set(metadata, "labels", labels, labels, maps.Clone(labels))
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": metadata, "spec": spec}}
}
