package access_test

import (
	"os"
	"testing"
	"testing/fstest"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/proof/access"
	"lockstep.dev/lockstep/pkg/compile/proof/prooftest"
)

// specs have every kind of role and binding that is compiled: those of people, of the controller with its chart, of the accounts of
// jobs on OpenShift, and of what applies the objects of a tenant.
const specs = `apiVersion: lockstep.dev/v1alpha1
kind: Cluster
metadata: {name: local}
spec:
  platform: OpenShift
  version: "1.34"
  agent: {image: "example.org/agent:1"}
  capacity: [{profile: cpu, nodes: 8}]
  queueing: {apiVersion: v1beta1}
  gitops: {engine: Flux, repository: "https://git.example.com/platform.git"}
  components:
    - chart: charts/mpi-controller
      values: {image: {tag: "1"}, everyNamespace: false}
---
apiVersion: lockstep.dev/v1alpha1
kind: HardwareProfile
metadata: {name: cpu}
spec: {fabric: {type: Ethernet}, node: {cpu: 2, memory: 4Gi}, nodeSelector: {pool: cpu}}
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
  people: {admins: [vision-admins], editors: [vision-editors, vision-interns, {serviceAccount: ci/robot}, {serviceAccount: vision/workbench}, {user: ann@example.com}], viewers: [vision-auditors], shell: [vision-interns], secrets: [vision-vault, {serviceAccount: ci/vault}]}
  namespaces: [vision, vision-batch]
  clusters: [local]
  quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}
  queue: {shares: [{profile: cpu, nodes: 2}]}
  gitops: {jobs: true, repository: "https://git.example.com/vision/jobs.git"}
---
apiVersion: lockstep.dev/v1alpha1
kind: Tenant
metadata: {name: speech}
spec:
  people: {editors: [speech-editors], viewers: [speech-auditors]}
  namespaces: [speech]
  clusters: [local]
  quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}
  queue: {shares: [{profile: cpu, nodes: 2}]}
`

func compiled(t testing.TB, text string) prooftest.Sample {
	t.Helper()
	charts := fstest.MapFS{}
	if err := addFolder(charts, "../../../../charts/mpi-controller", "charts/mpi-controller"); err != nil {
		t.Fatal(err)
	}
	return prooftest.CompileSample(t, text, charts)
}

// addFolder adds the files of a folder of the machine.
func addFolder(files fstest.MapFS, folder, name string) error {
	entries, err := os.ReadDir(folder)
	for _, entry := range entries {
		from, to := folder+"/"+entry.Name(), name+"/"+entry.Name()
		if entry.IsDir() {
			err = addFolder(files, from, to)
		} else {
			var data []byte
			data, err = os.ReadFile(from)
			files[to] = &fstest.MapFile{Data: data}
		}
		if err != nil {
			return err
		}
	}
	return err
}

// prove runs the proof over objects of a sample.
func prove(s prooftest.Sample, objects []object.Object) ([]*diag.Diagnostic, []access.Held) {
	list, c := &diag.List{}, &access.Cluster{}
	c.Add(access.FactsOf(objects))
	held := c.Prove(s.Plan, list)
	return list.Sorted(), held
}
