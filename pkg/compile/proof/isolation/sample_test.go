package isolation_test

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/proof/isolation"
	"lockstep.dev/lockstep/pkg/compile/proof/prooftest"
)

// specs open all that a tenant can have opened.
const specs = `apiVersion: lockstep.dev/v1alpha1
kind: Cluster
metadata: {name: local}
spec:
  platform: Kubernetes
  version: "1.36"
  agent: {image: "example.org/agent:1"}
  network: {ranges: [10.244.0.0/16, 10.96.0.0/12, "fd00:244::/56"]}
---
apiVersion: lockstep.dev/v1alpha1
kind: HardwareProfile
metadata: {name: cpu}
spec: {fabric: {type: Ethernet}, node: {cpu: 2, memory: 4Gi}}
---
apiVersion: lockstep.dev/v1alpha1
kind: MPIRuntime
metadata: {name: mpi}
spec: {mpi: {implementation: OpenMPI, version: "5.0.7"}, image: "example.org/mpi:5", profile: cpu}
---
apiVersion: lockstep.dev/v1alpha1
kind: Tenant
metadata: {name: vision}
spec:
  people: {admins: [vision-admins], editors: [vision-editors], viewers: [auditors]}
  namespaces: [vision, vision-batch]
  clusters: [local]
  quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}
  network:
    egress:
      - {cidr: 192.0.2.0/24, ports: [{port: 2049}, {port: 111, protocol: UDP}]}
      - {cidr: "2001:db8:1::/48"}
    ingress: [{namespace: monitoring}, {namespace: gateway, podLabels: {app: scraper}, ports: [{port: 9400}]}]
---
apiVersion: lockstep.dev/v1alpha1
kind: Tenant
metadata: {name: speech}
spec:
  people: {editors: [speech-editors]}
  namespaces: [speech]
  clusters: [local]
  quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}
  network:
    egress: [{namespace: storage, podLabels: {app: minio}, ports: [{port: 9000}]}]
`

// prove runs the proof over objects of a sample.
func prove(s prooftest.Sample, objects []object.Object) ([]*diag.Diagnostic, isolation.Reachability) {
	list := &diag.List{}
	c := &isolation.Cluster{}
	for _, o := range objects {
		c.Add(isolation.FactsOf([]object.Object{o}))
	}
	reach := c.Prove(s.Plan, list)
	return list.Sorted(), reach
}
