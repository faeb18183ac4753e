package compile_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/internal/golden"
	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
)

// implementations are those for which the environment of a fabric is compiled, by the name of the runtime.
var implementations = map[string][2]string{
	"openmpi4": {"OpenMPI", "4.1.8"}, "openmpi5": {"OpenMPI", "5.0.7"}, "intelmpi": {"IntelMPI", "2021.17"}, "mpich": {"MPICH", "4.3.0"},
}

// TestFabrics keeps what each implementation of MPI gets on each fabric: a case is a profile, its output is what nodes have in common,
// and the environment of each implementation.
func TestFabrics(t *testing.T) {
	golden.Run(t, "testdata/fabrics", func(t *testing.T, c *golden.Case) {
		files := c.Files
		files["tenants/vision.yaml"] = &fstest.MapFile{Data: []byte(largeTenant)}
		var runtimes strings.Builder
		for _, name := range slices.Sorted(maps.Keys(implementations)) {
			mpi := implementations[name]
			fmt.Fprintf(&runtimes, "---\napiVersion: lockstep.dev/v1alpha1\nkind: MPIRuntime\nmetadata: {name: %s}\nspec:\n"+
				"  mpi: {implementation: %s, version: %q}\n  image: example.org/mpi:1\n  profile: cpu\n  slotsPerNode: 2\n", name, mpi[0], mpi[1])
		}
		files["catalog/runtime.yaml"] = &fstest.MapFile{Data: []byte(runtimes.String())}
		got := leaves(t, objectsOf(t, withBase(t, files)))
		for name := range implementations {
			c.Output(name, environmentOf(got, name))
		}
		c.Output("pods", podOf(got, "openmpi5"))
	})
}

const largeTenant = `apiVersion: lockstep.dev/v1alpha1
kind: Tenant
metadata:
  name: vision
spec:
  people: {editors: [vision-editors]}
  namespaces: [vision]
  clusters: [local]
  quota: {cpu: 1k, memory: 10Ti, pods: 40, jobs: 20, accelerators: {nvidia.com/gpu: 64}}
`

// jobsPath is where the jobs of a catalog runtime are.
const jobsPath = " spec template spec replicatedJobs "

// podPath is where the pods of a job are.
const podPath = " template spec template "

func environmentOf(leaves map[string]string, runtime string) string {
	prefix := "ClusterTrainingRuntime.trainer.kubeflow.org " + runtime + jobsPath + "node" + podPath + "spec containers node env "
	var lines []string
	for path, value := range leaves {
		if name, found := strings.CutPrefix(path, prefix); found && strings.HasSuffix(name, " value") {
			lines = append(lines, strings.TrimSuffix(name, " value")+"="+value+"\n")
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// podOf shows what of launcher and nodes depends on the profile.
func podOf(leaves map[string]string, runtime string) string {
	var lines []string
	for _, job := range []string{"launcher", "node"} {
		prefix := "ClusterTrainingRuntime.trainer.kubeflow.org " + runtime + jobsPath + job + podPath
		for path, value := range leaves {
			rest, found := strings.CutPrefix(path, prefix)
			for _, part := range []string{"metadata annotations", "spec nodeSelector", "spec serviceAccountName", "spec containers node resources", "spec containers node securityContext capabilities"} {
				if found && strings.HasPrefix(rest, part) {
					lines = append(lines, job+" "+rest+": "+value+"\n")
				}
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// leaves returns the value of every leaf by identity and path, and fails for one without an origin.
func leaves(t *testing.T, clusters []compile.Cluster) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, c := range clusters {
		for _, o := range c.Objects.Sorted() {
			o.Leaves(func(path []string, leaf *object.Node, from *origin.Origin) {
				expectKnown(t, o.ID.String()+" "+strings.Join(path, " "), from)
				value := leaf.Text
				if leaf.Kind == object.MapNode || leaf.Kind == object.ListNode {
					value = "empty"
				}
				all[o.ID.String()+" "+strings.Join(path, " ")] = value
			})
		}
	}
	return all
}

// edits are changes of the base, as in the corpus of wrong specs.
type edits map[string]string

// TestRuntimes says in single values what settings of runtimes, profiles, variants and clusters become. Values of "" must not be there.
func TestRuntimes(t *testing.T) {
	const (
		runtime  = "ClusterTrainingRuntime.trainer.kubeflow.org mpi "
		launcher = "ClusterTrainingRuntime.trainer.kubeflow.org mpi" + jobsPath + "launcher" + podPath
		node     = "ClusterTrainingRuntime.trainer.kubeflow.org mpi" + jobsPath + "node" + podPath
		profile  = "catalog/profile.yaml"
		spec     = "catalog/runtime.yaml.edit"
		tenant   = "tenants/vision.yaml.edit"
		cluster  = "overlays/local/cluster.yaml.edit"
	)
	machine := func(fabric string, more ...string) string {
		return "apiVersion: lockstep.dev/v1alpha1\nkind: HardwareProfile\nmetadata: {name: cpu}\nspec:\n  node: {cpu: 2, memory: 4Gi}\n" +
			"  fabric: " + fabric + "\n" + strings.Join(more, "\n") + "\n"
	}
	const infiniband = "{type: InfiniBand, resource: rdma/ib}"
	for name, tc := range map[string]struct {
		reason string
		edits  edits
		want   map[string]string
	}{
		"Product": {
			reason: "a job for one product never lands on another, and a selector that names the product wins",
			edits: edits{profile: machine("{type: Ethernet}", "  accelerator: {resource: nvidia.com/gpu, count: 2, product: H100}", "  nodeSelector: {pool: mpi}"),
				tenant: "    accelerators: {nvidia.com/gpu: 8}"},
			want: map[string]string{node + "spec nodeSelector nvidia.com/gpu.product": "H100", node + "spec nodeSelector pool": "mpi"},
		},
		"ProductOfSelector": {
			reason: "what a profile says about its machines is not said twice",
			edits: edits{profile: machine("{type: Ethernet}", "  accelerator: {resource: nvidia.com/gpu, count: 2, product: H100}", "  nodeSelector: {nvidia.com/gpu.product: H100-MIG}"),
				tenant: "    accelerators: {nvidia.com/gpu: 8}"},
			want: map[string]string{node + "spec nodeSelector nvidia.com/gpu.product": "H100-MIG"},
		},
		"MarkOfPods": {
			reason: "policies for the pods of other runtimes leave these out, whoever makes them",
			want: map[string]string{
				node + "metadata labels lockstep.dev/mpi-implementation":     "OpenMPI",
				launcher + "metadata labels lockstep.dev/mpi-implementation": "OpenMPI",
			},
		},
		"Coscheduling": {
			reason: "the scheduler reads the policy of the runtime, and mpi-controller ends a job whose pods did not run in time",
			edits:  edits{spec: "  gang: {scheduler: Coscheduling, timeout: 2m}", cluster: "  schedulers: [Coscheduling]\n  executor: KubeflowTrainer"},
			want: map[string]string{
				runtime + "spec podGroupPolicy coscheduling scheduleTimeoutSeconds": "120",
				runtime + "metadata annotations lockstep.dev/gang-timeout":          "2m0s",
			},
		},
		"Volcano": {
			reason: "the scheduler reads the policy of the runtime",
			edits:  edits{spec: "  gang: {scheduler: Volcano}", cluster: "  schedulers: [Volcano]"},
			want: map[string]string{
				runtime + "spec podGroupPolicy volcano":                    "empty",
				runtime + "metadata annotations lockstep.dev/gang-timeout": "5m0s",
			},
		},
		"KueueGang": {
			reason: "Kueue admits whole jobs: the runtime says only where its nodes should be, and how long they may take until they run",
			edits: edits{
				profile: machine("{type: Ethernet}", "  topology: [{name: rack, nodeLabel: example.com/rack}]"),
				spec:    "  gang: {scheduler: Kueue, within: rack}",
				tenant:  "  queue: {shares: [{profile: cpu, nodes: 4}]}",
				cluster: "  queueing: {}\n  capacity: [{profile: cpu, nodes: 8}]",
			},
			want: map[string]string{
				node + "metadata annotations kueue.x-k8s.io/podset-required-topology":     "example.com/rack",
				launcher + "metadata annotations kueue.x-k8s.io/podset-required-topology": "",
				runtime + "spec podGroupPolicy coscheduling scheduleTimeoutSeconds":       "",
				runtime + "metadata annotations lockstep.dev/gang-timeout":                "5m0s",
			},
		},
		"NamedPriority": {
			reason: "a runtime's own priority wins over the default",
			edits: edits{spec: "  gang: {priority: high}",
				cluster: "  priorities: [{name: high, value: 2, description: Goes first.}, {name: low, value: -1, default: true}]"},
			want: map[string]string{
				launcher + "spec priorityClassName": "high", node + "spec priorityClassName": "high",
				"PriorityClass.scheduling.k8s.io high value":            "2",
				"PriorityClass.scheduling.k8s.io high description":      "Goes first.",
				"PriorityClass.scheduling.k8s.io low value":             "-1",
				"PriorityClass.scheduling.k8s.io low preemptionPolicy":  "Never",
				"PriorityClass.scheduling.k8s.io low globalDefault":     "",
				"PriorityClass.scheduling.k8s.io high preemptionPolicy": "Never",
			},
		},
		"DefaultPriority": {
			reason: "jobs that name none get the cluster's",
			edits:  edits{cluster: "  priorities: [{name: low, value: -1, default: true}]"},
			want:   map[string]string{node + "spec priorityClassName": "low"},
		},
		"NoPriority": {
			reason: "a class that does not exist would have the pods refused",
			edits:  edits{spec: "  gang: {priority: high}"},
			want:   map[string]string{node + "spec priorityClassName": ""},
		},
		"ForTools": {
			reason: "what no controller of upstream reads is for people and our own controller",
			edits:  edits{spec: "  restarts: 3\n  maxDuration: 36h\n  default: true"},
			want: map[string]string{
				runtime + "metadata annotations lockstep.dev/restarts":                                                    "3",
				runtime + "metadata labels lockstep.dev/default":                                                          "true",
				strings.TrimSuffix(launcher, podPath) + " template spec activeDeadlineSeconds":                            "129600",
				"ClusterTrainingRuntime.trainer.kubeflow.org mpi" + jobsPath + "node template spec activeDeadlineSeconds": "",
			},
		},
		"Deprecation": {
			reason: "users learn from the runtime where to move, when and why",
			edits: edits{
				"catalog/new.yaml": "apiVersion: lockstep.dev/v1alpha1\nkind: MPIRuntime\nmetadata: {name: new}\nspec:\n  mpi: {implementation: OpenMPI, version: \"5.0.8\"}\n" +
					"  image: example.org/mpi:6\n  profile: cpu\n",
				spec: "  lifecycle: Deprecated\n  deprecation: {successor: new, retireOn: 2027-03-31, reason: Open MPI 5 is twice as fast.}",
			},
			want: map[string]string{
				runtime + "metadata annotations lockstep.dev/successor":          "new",
				runtime + "metadata annotations lockstep.dev/retire-on":          "2027-03-31",
				runtime + "metadata annotations lockstep.dev/deprecation-reason": "Open MPI 5 is twice as fast.",
				runtime + "metadata labels trainer.kubeflow.org/support":         "deprecated",
			},
		},
		"Volumes": {
			reason: "launcher and nodes see the same folders",
			edits: edits{spec: "  volumes: [{name: data, mountPath: /data, claim: datasets, readOnly: true}, {name: tmp, mountPath: /scratch, scratch: 10Gi}]",
				tenant: "  storage: [{name: datasets, size: 1Gi}]"},
			want: map[string]string{
				launcher + "spec volumes data persistentVolumeClaim claimName": "datasets",
				node + "spec volumes data persistentVolumeClaim claimName":     "datasets",
				node + "spec volumes tmp emptyDir sizeLimit":                   "10Gi",
				node + "spec containers node volumeMounts data mountPath":      "/data",
				node + "spec containers node volumeMounts data readOnly":       "true",
				launcher + "spec containers node volumeMounts tmp mountPath":   "/scratch",
				node + "spec containers node volumeMounts tmp readOnly":        "",
			},
		},
		"PinnedMemoryOnKubernetes": {
			reason: "only nodes lock memory; the namespace leaves the rest to the admission policy",
			edits:  edits{profile: machine(infiniband), tenant: "  pullSecrets: [registry]"},
			want: map[string]string{
				node + "spec containers node securityContext capabilities add 0":      "IPC_LOCK",
				launcher + "spec containers node securityContext capabilities add 0":  "",
				node + "spec serviceAccountName":                                      "mpi-rdma",
				launcher + "spec serviceAccountName":                                  "mpi-rdma",
				node + "spec containers node resources limits rdma/ib":                "1",
				"Namespace vision metadata labels pod-security.kubernetes.io/enforce": "privileged",
				"Namespace vision metadata labels pod-security.kubernetes.io/audit":   "restricted",
				"Namespace vision metadata labels pod-security.kubernetes.io/warn":    "restricted",
				"Namespace vision metadata labels lockstep.dev/pod-security":          "restricted-rdma",
				"ServiceAccount vision/mpi-rdma automountServiceAccountToken":         "false",
				"ServiceAccount vision/mpi-rdma imagePullSecrets registry name":       "registry",
				"ServiceAccount vision/default imagePullSecrets registry name":        "registry",
			},
		},
		"MachinesWithoutLimit": {
			reason: "where nothing bounds pinned memory, nothing needs a capability",
			edits:  edits{profile: machine("{type: EFA, resource: vpc.amazonaws.com/efa, lockedMemory: Unlimited}", "  hugePages: {size: 2Mi, amount: 1Gi}")},
			want: map[string]string{
				node + "spec containers node securityContext capabilities add 0":      "",
				node + "spec containers node resources limits hugepages-2Mi":          "1Gi",
				node + "spec containers node resources requests hugepages-2Mi":        "1Gi",
				node + "spec serviceAccountName":                                      "",
				"Namespace vision metadata labels pod-security.kubernetes.io/enforce": "restricted",
			},
		},
		"PinnedMemoryOnOpenShift": {
			reason: "the account of such jobs, and no other, may use the SCC with IPC_LOCK",
			edits: edits{
				profile:              machine(infiniband),
				cluster:              "  platform: OpenShift",
				"catalog/other.yaml": strings.Replace(machine("{type: Ethernet}"), "name: cpu", "name: other", 1),
				"catalog/plain.yaml": "apiVersion: lockstep.dev/v1alpha1\nkind: MPIRuntime\nmetadata: {name: plain}\nspec:\n  mpi: {implementation: MPICH, version: \"4.3\"}\n" +
					"  image: example.org/mpich:4\n  profile: other\n",
			},
			want: map[string]string{
				"SecurityContextConstraints.security.openshift.io lockstep-mpi allowedCapabilities":                  "empty",
				"SecurityContextConstraints.security.openshift.io lockstep-mpi-rdma allowedCapabilities 0":           "IPC_LOCK",
				"SecurityContextConstraints.security.openshift.io lockstep-mpi-rdma allowedCapabilities 1":           "",
				"SecurityContextConstraints.security.openshift.io lockstep-mpi-rdma allowHostDirVolumePlugin":        "false",
				"SecurityContextConstraints.security.openshift.io lockstep-mpi-rdma runAsUser type":                  "MustRunAsRange",
				"SecurityContextConstraints.security.openshift.io lockstep-mpi-rdma volumes 2":                       "image",
				"ClusterRole.rbac.authorization.k8s.io lockstep-use-scc-mpi-rdma rules 0 resourceNames 0":            "lockstep-mpi-rdma",
				"ClusterRole.rbac.authorization.k8s.io lockstep-use-scc-mpi-rdma rules 0 verbs 0":                    "use",
				"RoleBinding.rbac.authorization.k8s.io vision/lockstep-use-scc-mpi-rdma subjects mpi-rdma namespace": "vision",
				"RoleBinding.rbac.authorization.k8s.io vision/lockstep-use-scc-mpi subjects mpi namespace":           "vision",
				node + "spec serviceAccountName": "mpi-rdma",
				"ClusterTrainingRuntime.trainer.kubeflow.org plain" + jobsPath + "node" + podPath + "spec serviceAccountName": "mpi",
				"Namespace vision metadata labels pod-security.kubernetes.io/enforce":                                         "privileged",
			},
		},
		"OpenShiftWithoutPinnedMemory": {
			reason: "what nobody needs does not exist",
			edits:  edits{cluster: "  platform: OpenShift\n  version: \"1.34\""},
			want: map[string]string{
				"SecurityContextConstraints.security.openshift.io lockstep-mpi volumes 0":                  "configMap",
				"SecurityContextConstraints.security.openshift.io lockstep-mpi volumes 2":                  "persistentVolumeClaim",
				"SecurityContextConstraints.security.openshift.io lockstep-mpi-rdma allowedCapabilities 0": "",
				"RoleBinding.rbac.authorization.k8s.io vision/lockstep-use-scc-mpi-rdma roleRef name":      "",
				"ServiceAccount vision/mpi-rdma automountServiceAccountToken":                              "",
				"ServiceAccount vision/mpi automountServiceAccountToken":                                   "false",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := leaves(t, objectsOf(t, withBase(t, filesOf(tc.edits))))
			for leaf, want := range tc.want {
				if got[leaf] != want {
					t.Errorf("%s: %s is %q, want %q", tc.reason, leaf, got[leaf], want)
				}
			}
		})
	}
}

func filesOf(e edits) fstest.MapFS {
	files := fstest.MapFS{}
	for name, text := range e {
		files[name] = &fstest.MapFile{Data: []byte(text + "\n")}
	}
	return files
}

// TestVariant: a tenant's own runtime is in each of its namespaces, differs from the catalog's in what the tenant wrote, and says what
// it changed.
func TestVariant(t *testing.T) {
	clusters := objectsOf(t, withBase(t, filesOf(edits{
		"catalog/runtime.yaml.edit": "  nodes: {min: 2, max: 8}\n  env: [{name: A, value: catalog}, {name: B, value: catalog}]",
		"tenants/vision.yaml.edit": "  namespaces: [vision, vision-dev]\n  objectStore: {secret: bucket, endpoint: \"https://s3.example.com\"}\n" +
			"  variants: [{name: own, runtime: mpi, image: example.org/own:1, nodes: {max: 4}, env: [{name: A, value: tenant}], volumes: [{name: tmp, mountPath: /tmp/x, scratch: 1Gi}]}]",
		"overlays/local/cluster.yaml.edit": "  images:\n    mirrors: [{from: example.org, to: mirror.test}]\n    digests:\n      example.org/own:1: sha256:" + strings.Repeat("0", 64),
	})))
	got, from := leaves(t, clusters), origins(clusters)
	for _, namespace := range []string{"vision", "vision-dev"} {
		runtime := "TrainingRuntime.trainer.kubeflow.org " + namespace + "/own "
		node := strings.TrimSuffix(runtime, " ") + jobsPath + "node" + podPath + "spec containers node "
		for leaf, want := range map[string]string{
			runtime + "kind": "TrainingRuntime",
			runtime + "metadata labels lockstep.dev/tenant":         "vision",
			runtime + "metadata annotations lockstep.dev/min-nodes": "2",
			runtime + "metadata annotations lockstep.dev/max-nodes": "4",
			node + "image":                      "mirror.test/own:1@sha256:" + strings.Repeat("0", 64),
			node + "env A value":                "tenant",
			node + "env B value":                "catalog",
			node + "env AWS_ENDPOINT_URL value": "https://s3.example.com",
			node + "volumeMounts tmp mountPath": "/tmp/x",
		} {
			if got[leaf] != want {
				t.Errorf("%s is %q, want %q", leaf, got[leaf], want)
			}
		}
		if secret := got[node+"envFrom 0 secretRef name"]; secret != "bucket" {
			t.Errorf("the secret is %q", secret)
		}
		var lost []string
		for _, l := range from[node+"image"].Lost {
			lost = append(lost, l.Value+" "+l.Origin.At.String())
		}
		want := []string{
			"example.org/own:1@sha256:" + strings.Repeat("0", 64) + " overlays/local/cluster.yaml:14:26",
			"example.org/own:1 tenants/vision.yaml:16:47",
			"example.org/mpi:5 catalog/runtime.yaml:9:10",
		}
		if diff := cmp.Diff(want, lost); diff != "" || from[node+"image"].At.Line != 12 {
			t.Errorf("the image comes from %s, instead of (-want +got):\n%s", from[node+"image"].At, diff)
		}
	}
	catalog := "ClusterTrainingRuntime.trainer.kubeflow.org mpi" + jobsPath + "node" + podPath + "spec containers node "
	if got[catalog+"image"] != "mirror.test/mpi:5" || got[catalog+"env AWS_ENDPOINT_URL value"] != "" || got[catalog+"envFrom 0 secretRef name"] != "" {
		t.Errorf("the catalog's runtime knows the tenant's secrets: %v", got[catalog+"image"])
	}
	if agent := got[strings.TrimSuffix(catalog, "containers node ")+"volumes lockstep-agent image reference"]; agent != "mirror.test/agent:1" {
		t.Errorf("the agent comes from %q", agent)
	}
}
