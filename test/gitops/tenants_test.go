package gitops

// The tenants: climate has a volume, and so a folder of its own; geology has none.
const geology = `apiVersion: lockstep.dev/v1alpha1
kind: Tenant
metadata:
  name: geology
spec:
  people:
    editors: [geology-editors]
  namespaces: [geology]
  clusters: [onprem]
  runtimes: [openmpi5-cpu]
  quota:
    cpu: 8
    memory: 16Gi
    pods: 40
    jobs: 20
  queue:
    shares:
      - profile: cpu-ethernet
        nodes: 1
`

// commits is of how many commits the seconds are told.
const commits = 20
