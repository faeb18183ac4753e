package decode

import (
	"testing"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/source"
)

const cluster = `apiVersion: lockstep.dev/v1alpha1
kind: Cluster
metadata:
  name: c
spec:
  platform: Kubernetes
  version: "1.36"
  agent:
    image: example.org/agent:1
    imageVolumes: false
  podUser: {uid: 1, fsGroup: 2}
  network:
    dns:
      namespace: kube-system
      podLabels: {k8s-app: kube-dns}
  components:
    - chart: charts/a
      values:
        a: {b: 1}
        c: x
    - chart: charts/b
`

func decodeOne[T any](t *testing.T, text string) (*Document, *T) {
	t.Helper()
	list := &diag.List{}
	documents := Files([]*source.File{source.NewFile("f.yaml", []byte(text))}, list)
	if len(documents) != 1 || !documents[0].Valid {
		for _, d := range list.Sorted() {
			t.Errorf("%s: %s", d.Span, d.Message)
		}
		t.Fatalf("%d documents", len(documents))
	}
	return documents[0], documents[0].Spec.(*T)
}

// TestWritten: a field knows whether somebody wrote it, through pointers, lists and defaults; one that nobody wrote has the key around it.
func TestWritten(t *testing.T) {
	d, c := decodeOne[v1alpha1.Cluster](t, cluster)
	spec := &c.Spec
	for name, field := range map[string]struct {
		reason  string
		field   any
		at      string
		written bool
	}{
		"root":             {"the document begins with its first key", c, "f.yaml:1:1", true},
		"first field":      {"it has the address of the struct around it, but its own place", &spec.Platform, "f.yaml:6:13", true},
		"struct":           {"the struct with that address", spec, "f.yaml:6:3", true},
		"pointer":          {"a pointer", &spec.Agent.ImageVolumes, "f.yaml:10:19", true},
		"target":           {"and what it points to", spec.Agent.ImageVolumes, "f.yaml:10:19", true},
		"false":            {"a value that is that of a missing key", &spec.PodUser.UID, "f.yaml:11:18", true},
		"missing deep":     {"a missing key in a pointer's target has its key", &spec.PodUser.GID, "f.yaml:11:3", false},
		"default":          {"a default below a written key", &spec.Network.DNS.Port, "f.yaml:13:5", false},
		"default constant": {"a default of the spec", &spec.Executor, "f.yaml:5:1", false},
		"absent struct":    {"a struct that is not there", &spec.Controller, "f.yaml:5:1", false},
		"absent deep":      {"its default", &spec.Controller.Namespace, "f.yaml:5:1", false},
		"item":             {"an item of a list", &spec.Components[1], "f.yaml:21:7", true},
		"item field":       {"its field", &spec.Components[1].Chart, "f.yaml:21:14", true},
		"item absent":      {"what it lacks has the place of the item", &spec.Components[1].Namespace, "f.yaml:21:7", false},
		"nothing":          {"what is not in the spec is nowhere", new(string), "", false},
	} {
		t.Run(name, func(t *testing.T) {
			if at, written := d.At(field.field).String(), d.Written(field.field); at != field.at || written != field.written {
				t.Errorf("%s: at %q, written %v; want %q, %v", field.reason, at, written, field.at, field.written)
			}
		})
	}
}

// TestEntry: an entry of a map has a place too.
func TestEntry(t *testing.T) {
	d, c := decodeOne[v1alpha1.Cluster](t, cluster)
	for name, e := range map[string]struct {
		field      any
		name       string
		key, value string
	}{
		"labels":  {&c.Spec.Network.DNS.PodLabels, "k8s-app", "f.yaml:15:19", "f.yaml:15:28"},
		"values":  {&c.Spec.Components[0].Values, "c", "f.yaml:20:9", "f.yaml:20:12"},
		"missing": {&c.Spec.Components[0].Values, "x", "", ""},
		"absent":  {&c.Spec.Components[1].Values, "c", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if key, value := d.Entry(e.field, e.name); key.String() != e.key || value.String() != e.value {
				t.Errorf("got %s and %s, want %s and %s", key, value, e.key, e.value)
			}
		})
	}
}
