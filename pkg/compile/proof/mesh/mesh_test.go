package mesh_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/proof/mesh"
	"lockstep.dev/lockstep/pkg/compile/proof/prooftest"
)

// specs have a tenant who may use one runtime of two.
const specs = `apiVersion: lockstep.dev/v1alpha1
kind: Cluster
metadata: {name: local}
spec: {platform: Kubernetes, version: "1.34", agent: {image: "example.org/agent:1"}}
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
kind: MPIRuntime
metadata: {name: unused}
spec: {mpi: {implementation: OpenMPI, version: "5.0.7"}, image: "example.org/mpi:5", profile: cpu}
---
apiVersion: lockstep.dev/v1alpha1
kind: Tenant
metadata: {name: vision}
spec:
  people: {editors: [vision-editors]}
  namespaces: [vision, vision-batch]
  clusters: [local]
  runtimes: [mpi]
  quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}
`

const (
	sidecar = "sidecar.istio.io/inject"
	ambient = "istio.io/dataplane-mode"
)

// put returns objects with a label or an annotation of one object, "" for none; of a runtime, it is that of the pods of its job `node`.
func put(objects []object.Object, kind, name, field, key, value string) []object.Object {
	changed := slices.Clone(objects)
	i := slices.IndexFunc(changed, func(o object.Object) bool { return o.ID.Kind == kind && o.ID.Name == name })
	content := changed[i].Root.Value().(map[string]any)
	at := content
	if kind != "Namespace" {
		jobs := content["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)["replicatedJobs"].([]any)
		node := jobs[slices.IndexFunc(jobs, func(j any) bool { return j.(map[string]any)["name"] == "node" })]
		at = node.(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)["template"].(map[string]any)
	}
	metadata := at["metadata"].(map[string]any)
	entries, _ := metadata[field].(map[string]any)
	if entries == nil {
		entries = map[string]any{}
		metadata[field] = entries
	}
	if value == "" {
		delete(entries, key)
	} else {
		entries[key] = value
	}
	changed[i] = object.New(object.FromValue("", content, nil), object.Place{}, nil)
	return changed
}

func TestProve(t *testing.T) {
	s := prooftest.CompileSample(t, specs, nil)
	namespace := func(key, value string) [5]string { return [5]string{"Namespace", "vision", "labels", key, value} }
	other := func(key, value string) [5]string { return [5]string{"Namespace", "vision-batch", "labels", key, value} }
	pods := func(key, value string) [5]string {
		return [5]string{"ClusterTrainingRuntime", "mpi", "labels", key, value}
	}
	annotated := func(key, value string) [5]string {
		return [5]string{"ClusterTrainingRuntime", "mpi", "annotations", key, value}
	}
	unused := func(key, value string) [5]string {
		return [5]string{"ClusterTrainingRuntime", "unused", "labels", key, value}
	}
	const taken, asking = "the namespace `vision` takes the pods `node` of the runtime `mpi` into Istio", "the pods `node` of the runtime `mpi` ask for Istio"

	for name, c := range map[string]struct {
		reason  string
		changes [][5]string
		want    []string
	}{
		"Compiled": {"nothing is changed", nil, nil},
		"Labelled": {"labels on pods win over all that a namespace can say", [][5]string{
			namespace("istio-injection", "enabled"), namespace(ambient, "ambient"), other("istio.io/rev", "stable"),
		}, nil},
		"NoMesh": {"pods that say nothing stay out where the namespace says nothing", [][5]string{pods(sidecar, ""), pods(ambient, "")}, nil},

		"Injected":         {"a sidecar", [][5]string{namespace("istio-injection", "enabled"), pods(sidecar, "")}, []string{taken}},
		"Revision":         {"a sidecar of a revision", [][5]string{namespace("istio.io/rev", "stable"), pods(sidecar, "")}, []string{taken}},
		"RevisionDisabled": {"istio-injection decides", [][5]string{namespace("istio.io/rev", "stable"), namespace("istio-injection", "disabled"), pods(sidecar, "")}, nil},
		"Annotated":        {"the old form refuses as well", [][5]string{namespace("istio-injection", "enabled"), pods(sidecar, ""), annotated(sidecar, "false")}, nil},
		"LabelBeforeAnnotation": {"the label decides where both are there", [][5]string{
			namespace("istio-injection", "enabled"), annotated(sidecar, "true"),
		}, nil},
		"AnotherWay": {"a label against ambient mode keeps no sidecar off", [][5]string{namespace("istio-injection", "enabled"), pods(sidecar, ""), pods(ambient, "none")}, []string{taken}},

		"Ambient":    {"captured", [][5]string{namespace(ambient, "ambient"), pods(ambient, "")}, []string{taken}},
		"AmbientOff": {"the namespace says no", [][5]string{namespace(ambient, "none"), pods(ambient, "")}, nil},
		"Both": {"each way is told once", [][5]string{
			namespace(ambient, "ambient"), namespace("istio-injection", "enabled"), pods(ambient, ""), pods(sidecar, ""), other(ambient, "ambient"),
		}, []string{taken, taken}},

		"AskSidecar": {"pods that ask get it in any namespace", [][5]string{pods(sidecar, "true")}, []string{asking}},
		"AskAmbient": {"pods that ask get it in any namespace", [][5]string{pods(ambient, "ambient")}, []string{asking}},
		"NotUsable":  {"nobody runs it", [][5]string{namespace("istio-injection", "enabled"), unused(sidecar, "true"), unused(ambient, "")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			objects := s.Objects
			for _, change := range c.changes {
				objects = put(objects, change[0], change[1], change[2], change[3], change[4])
			}
			// Namespaces and runtimes are in units of their own.
			list, half := &diag.List{}, len(objects)/2
			mesh.Prove(s.Plan, mesh.FactsOf(objects[:half]).Join(mesh.FactsOf(objects[half:])), list)
			var got []string
			for _, d := range list.Sorted() {
				what, _, _ := strings.Cut(d.Message, ", which")
				if got = append(got, what); d.Code != diag.PodsInMesh {
					t.Errorf("%s: %s", d.Code, d.Message)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
