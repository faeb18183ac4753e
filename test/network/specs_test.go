package network

// specs are six tenants of two namespaces each, with what tenants can have: machines that they lend each other, none lent and no way
// out, ways out to ranges of both families with and without ports, to pods and to a service of the platform, storage that pods of
// many machines write, others who may come in, and runtimes that others installed.
const specs = `apiVersion: lockstep.dev/v1alpha1
kind: Cluster
metadata: {name: local}
spec:
  platform: Kubernetes
  executor: KubeflowTrainer
  version: "1.36"
  agent: {image: "example.org/agent:1"}
  network:
    ranges: [10.244.0.0/16, 10.96.0.0/12, "fd00:244::/56"]
    encryption: WireGuard
    services: [{name: object-store, namespace: storage, podLabels: {app: minio}, ports: [{port: 9000}]}]
  capacity: [{profile: cpu, nodes: 12}]
  queueing: {apiVersion: v1beta2, cohorts: [{name: research}]}
  storageClasses: [shared]
---
apiVersion: lockstep.dev/v1alpha1
kind: HardwareProfile
metadata: {name: cpu}
spec: {fabric: {type: Ethernet}, node: {cpu: 2, memory: 4Gi}}
---
apiVersion: lockstep.dev/v1alpha1
kind: MPIRuntime
metadata: {name: mpi}
spec: {mpi: {implementation: OpenMPI, version: "5.0.7"}, image: "example.org/mpi:5", profile: cpu, nodes: {default: 2, max: 2}}
---
apiVersion: lockstep.dev/v1alpha1
kind: Tenant
metadata: {name: language}
spec:
  people: {editors: [language-editors]}
  namespaces: [language, language-batch]
  clusters: [local]
  quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}
  queue: {cohort: research, shares: [{profile: cpu, nodes: 2}]}
---
apiVersion: lockstep.dev/v1alpha1
kind: Tenant
metadata: {name: robotics}
spec:
  people: {editors: [robotics-editors]}
  namespaces: [robotics, robotics-batch]
  clusters: [local]
  quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}
  queue: {cohort: research, shares: [{profile: cpu, nodes: 2}]}
  network: {egress: [{cidr: 192.0.2.0/24, ports: [{port: 443}]}]}
---
apiVersion: lockstep.dev/v1alpha1
kind: Tenant
metadata: {name: clinical}
spec:
  people: {editors: [clinical-editors]}
  namespaces: [clinical, clinical-batch]
  clusters: [local]
  quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}
  queue: {shares: [{profile: cpu, nodes: 2}]}
  network: {requireEncryption: true}
---
apiVersion: lockstep.dev/v1alpha1
kind: Tenant
metadata: {name: vision}
spec:
  people: {editors: [vision-editors]}
  namespaces: [vision, vision-batch]
  clusters: [local]
  quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}
  queue: {shares: [{profile: cpu, nodes: 2}]}
  network:
    egress:
      - {cidr: 192.0.2.0/25, ports: [{port: 2049}, {port: 111, protocol: UDP}]}
      - {cidr: "2001:db8:1::/48"}
      - {cidr: 198.51.100.7/32}
    ingress: [{namespace: monitoring}, {namespace: gateway}]
---
apiVersion: lockstep.dev/v1alpha1
kind: Tenant
metadata: {name: climate}
spec:
  people: {editors: [climate-editors]}
  namespaces: [climate, climate-batch]
  clusters: [local]
  quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20, storage: 4Ti}
  queue: {shares: [{profile: cpu, nodes: 2}]}
  network:
    egress:
      - {cidr: 192.0.2.64/26, ports: [{port: 2049}]}
      - {service: object-store}
      - {namespace: gateway, podLabels: {app: models}, ports: [{port: 8080}]}
    ingress: [{namespace: monitoring, podLabels: {app: scraper}, ports: [{port: 8181}]}]
  storage: [{name: observations, size: 1Ti, storageClass: shared, access: ReadWriteMany}]
---
apiVersion: lockstep.dev/v1alpha1
kind: Tenant
metadata: {name: speech}
spec:
  people: {editors: [speech-editors]}
  namespaces: [speech, speech-batch]
  externalRuntimes: [torch-distributed]
  clusters: [local]
  quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20, storage: 4Ti}
  queue: {shares: [{profile: cpu, nodes: 2}]}
  network: {ingress: [{namespace: monitoring}]}
  storage: [{name: recordings, size: 1Ti, storageClass: shared, access: ReadWriteMany}]
`
