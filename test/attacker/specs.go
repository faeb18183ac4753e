package attacker

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
)

// Specs are a cluster that queues, of the oldest version with policies, with two tenants: vision has a queue, bounds and a runtime of its own,
// language a quota.
const Specs = `apiVersion: lockstep.dev/v1alpha1
kind: Cluster
metadata: {name: big}
spec:
  platform: Kubernetes
  version: "1.30"
  agent: {image: "example.org/agent:1"}
  capacity: [{profile: cpu, nodes: 4}, {profile: gpu, nodes: 16}]
  queueing: {cohorts: [{name: research}]}
  priorities: [{name: high, value: 10}, {name: low, value: 1}]
---
apiVersion: lockstep.dev/v1alpha1
kind: HardwareProfile
metadata: {name: cpu}
spec: {fabric: {type: Ethernet}, node: {cpu: 4, memory: 16Gi}, nodeSelector: {pool: cpu}}
---
apiVersion: lockstep.dev/v1alpha1
kind: HardwareProfile
metadata: {name: gpu}
spec: {fabric: {type: Ethernet}, node: {cpu: 96, memory: 1Ti}, accelerator: {resource: nvidia.com/gpu, count: 8}, nodeSelector: {pool: gpu}, tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]}
---
apiVersion: lockstep.dev/v1alpha1
kind: MPIRuntime
metadata: {name: cpu}
spec:
  mpi: {implementation: OpenMPI, version: "5.0.7"}
  image: "example.org/mpi:1"
  profile: cpu
  nodes: {default: 2, min: 2, max: 8}
  slotsPerNode: 1
---
apiVersion: lockstep.dev/v1alpha1
kind: MPIRuntime
metadata: {name: gpu}
spec:
  mpi: {implementation: OpenMPI, version: "5.0.7"}
  image: "example.org/mpi:1"
  profile: gpu
  nodes: {default: 2, max: 16}
  slotsPerNode: auto
---
apiVersion: lockstep.dev/v1alpha1
kind: MPIRuntime
metadata: {name: others}
spec:
  mpi: {implementation: OpenMPI, version: "5.0.7"}
  image: "example.org/mpi:1"
  profile: cpu
  nodes: {default: 2}
  slotsPerNode: 1
  tenants: [language]
---
apiVersion: lockstep.dev/v1alpha1
kind: Tenant
metadata: {name: vision}
spec:
  people: {editors: [vision-editors]}
  namespaces: [vision]
  clusters: [big]
  quota: {cpu: 800, memory: 8Ti, pods: 40, jobs: 20}
  limits: {container: {max: {cpu: 64, memory: 512Gi}}}
  queue: {cohort: research, shares: [{profile: cpu, nodes: 4}, {profile: gpu, nodes: 3, borrow: 1}]}
  variants: [{name: gpu-wide, runtime: gpu, nodes: {default: 3, min: 3, max: 6}}]
---
apiVersion: lockstep.dev/v1alpha1
kind: Tenant
metadata: {name: language}
spec:
  people: {editors: [language-editors]}
  namespaces: [language]
  clusters: [big]
  runtimes: [cpu, gpu, others]
  quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20, accelerators: {nvidia.com/gpu: 8}}
`

var trainJobs = schema.GroupVersionKind{Group: "trainer.kubeflow.org", Version: "v1alpha1", Kind: "TrainJob"}

// CreateTrainJob is a request of somebody who makes a TrainJob.
func CreateTrainJob(namespace *corev1.Namespace, now *unstructured.Unstructured) *Request {
	return &Request{
		Operation: admission.Create, User: "ada", Now: now, Namespace: namespace,
		Resource: trainJobs.GroupVersion().WithResource("trainjobs"), Kind: trainJobs,
	}
}

// ExternalSpecs let the tenant vision use a runtime that others installed. That it names two of the catalog as such is a mistake that checks
// refuse: it must not cost them their bounds.
var ExternalSpecs = strings.Replace(Specs, "  namespaces: [vision]\n", "  namespaces: [vision]\n  externalRuntimes: [torch-distributed, gpu, others]\n", 1)
