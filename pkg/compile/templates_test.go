package compile_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/jobtemplate"
	"lockstep.dev/lockstep/pkg/mpi"
)

// templateOf returns a TrainJob whose runtimeRef has these fields.
func templateOf(runtime string) *fstest.MapFile {
	return &fstest.MapFile{Data: fmt.Appendf(nil, `# Mine: it prints names.
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: hello}
spec:
  runtimeRef: {%s}
  trainer: {command: [mpirun, hostname]}
`, runtime)}
}

// TestTenantsGetTheTemplatesOfTheirRuntimes: each namespace gets the text of each template whose runtime its tenant can
// use, be it of the catalog, a variant or an external one.
func TestTenantsGetTheTemplatesOfTheirRuntimes(t *testing.T) {
	nlp := strings.NewReplacer("[vision]", "[nlp, batch]", "vision", "nlp").
		Replace(string(baseFiles(t)["tenants/vision.yaml"].Data))
	root := withBase(t, fstest.MapFS{
		"tenants/nlp.yaml": &fstest.MapFile{Data: []byte(nlp)},
		"tenants/vision.yaml.edit": &fstest.MapFile{Data: []byte(`  externalRuntimes: [torch]
  variants:
    - {name: mpi-two, runtime: mpi, nodes: {max: 2}}
`)},
		"overlays/local/cluster.yaml.edit": &fstest.MapFile{Data: []byte("  executor: KubeflowTrainer\n")},
		"templates/hello.yaml":             templateOf("name: mpi"),
		"templates/two.yaml":               templateOf("kind: TrainingRuntime, name: mpi-two"),
		"templates/torch.yaml":             templateOf("name: torch"),
		"templates/README.md":              &fstest.MapFile{Data: []byte("Jobs to begin with.")},
	})
	clusters, list := compile.Compile(root, compile.Options{})
	if list.Errors()+list.Warnings() > 0 {
		t.Fatal(text(t, list))
	}
	got := map[string][]string{}
	for _, o := range clusters[0].Objects.Sorted() {
		if o.Root.At("metadata", "labels", mpi.TemplatesLabel) == nil {
			continue
		}
		for data := range o.Root.Get("data").Items() {
			got[o.ID.Namespace] = append(got[o.ID.Namespace], data.Key)
			if want := string(root["templates/"+data.Key].Data); data.Text != want {
				t.Errorf("%s is\n%s, want\n%s", data.Key, data.Text, want)
			}
		}
	}
	hello := []string{"hello.yaml"}
	want := map[string][]string{"vision": {"hello.yaml", "torch.yaml", "two.yaml"}, "batch": hello, "nlp": hello}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTemplatesAreBounded: templates of all files together are refused before they fill each namespace.
func TestTemplatesAreBounded(t *testing.T) {
	large := templateOf("name: mpi")
	large.Data = append(large.Data, "# "+strings.Repeat("x", jobtemplate.MaxBytes)...)
	_, list := compile.Compile(withBase(t, fstest.MapFS{"templates/large.yaml": large}), compile.Options{})
	if got := text(t, list); !strings.Contains(got, "all templates have more than 512 KiB") {
		t.Error(got)
	}
}
