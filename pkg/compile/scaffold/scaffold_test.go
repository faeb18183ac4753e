package scaffold_test

import (
	"bytes"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	validator "github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/jsonschema"
	"lockstep.dev/lockstep/pkg/compile/patch/chart/helm"
	"lockstep.dev/lockstep/pkg/compile/scaffold"
)

// enough are the flags that a spec of a kind needs in the repository of these tests.
var enough = map[string]scaffold.Written{
	"profile": {"cpu": {"4"}, "memory": {"8Gi"}},
	"runtime": {"profile": {"cpu-ethernet"}, "implementation": {"MPICH"}, "version": {"4.2"}, "image": {"example.org/mpich:4"}},
	"tenant":  {"clusters": {"local"}, "editors": {"CN=Editors,OU=ML", "others"}},
	"cluster": {"platform": {"OpenShift"}, "version": {"1.34"}, "agent-image": {"example.org/agent:1"}, "capacity": {"cpu-ethernet=2"}},
}

var repository = os.DirFS("../../..")

func draft(t *testing.T, root fs.FS, word, name string, written scaffold.Written) (*scaffold.Draft, error) {
	t.Helper()
	kind, _ := jsonschema.KindOf(word)
	return scaffold.NewDraft(root, kind, name, "", written, scaffold.ReadExisting(root, compile.Options{Charts: helm.Renderer{}}))
}

// TestCompiles: what new writes with the flags that it asks for has no mistakes, in this very repository.
func TestCompiles(t *testing.T) {
	for word, written := range enough {
		d, err := draft(t, repository, word, "fresh", written)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range scaffold.FindingsWith(repository, d.Files(), compile.Options{Charts: helm.Renderer{}}).Sorted() {
			if found.Severity == diag.Error {
				t.Errorf("%s: %s: %s\n%s", word, found.Span, found.Message, d.Spec.Data)
			}
		}
		if len(d.Schemas) > 0 {
			t.Errorf("%s: the repository has its schemas, but %d would be written", word, len(d.Schemas))
		}
	}
}

// TestUncomment: without the `#` of its optional keys, a new spec still has the shape that an independent validator wants: the examples
// are right.
func TestUncomment(t *testing.T) {
	optional := regexp.MustCompile(`(?m)^( *)#([A-Za-z]| {2})`)
	for word, written := range enough {
		d, err := draft(t, repository, word, "fresh", written)
		if err != nil {
			t.Fatal(err)
		}
		text := optional.ReplaceAll(d.Spec.Data, []byte("$1$2"))
		if bytes.Count(text, []byte("\n")) != bytes.Count(d.Spec.Data, []byte("\n")) || bytes.Equal(text, d.Spec.Data) {
			t.Fatalf("%s: nothing was a comment", word)
		}
		var value map[string]any
		if err := yaml.Unmarshal(text, &value); err != nil {
			t.Fatalf("%s: %v\n%s", word, err, text)
		}
		if err := schema(t, word).Validate(value); err != nil {
			t.Errorf("%s: %v\n%s", word, err, text)
		}
	}
}

func schema(t *testing.T, word string) *validator.Schema {
	t.Helper()
	kind, _ := jsonschema.KindOf(word)
	document, err := validator.UnmarshalJSON(bytes.NewReader(kind.Text()))
	if err != nil {
		t.Fatal(err)
	}
	compiler := validator.NewCompiler()
	if err := compiler.AddResource(kind.File, document); err != nil {
		t.Fatal(err)
	}
	return compiler.MustCompile(kind.File)
}

// TestEveryKey: every key of a kind that is in its spec's first two levels is in a new spec, so that nobody needs another page.
func TestEveryKey(t *testing.T) {
	for word, written := range enough {
		d, err := draft(t, repository, word, "fresh", written)
		if err != nil {
			t.Fatal(err)
		}
		kind, _ := jsonschema.KindOf(word)
		root := kind.Schema()
		for _, key := range root.Properties.Get("spec").Resolve(root).Properties {
			if !regexp.MustCompile(`(?m)^  #?` + key.Name + `:`).Match(d.Spec.Data) {
				t.Errorf("%s: `%s` is not in the new spec", word, key.Name)
			}
		}
	}
}

const gpuProfile = `apiVersion: lockstep.dev/v1alpha1
kind: HardwareProfile
metadata: {name: gpus}
spec: {fabric: {type: Ethernet}, node: {cpu: 90500m, memory: 1500Gi}, accelerator: {resource: nvidia.com/gpu, count: 8}}
`

const gpuRuntime = `apiVersion: lockstep.dev/v1alpha1
kind: MPIRuntime
metadata: {name: big}
spec: {mpi: {implementation: OpenMPI, version: "5.0.7"}, image: example.org/mpi:5, profile: gpus, slotsPerNode: auto, nodes: {default: 2}}
`

const oneCluster = `apiVersion: lockstep.dev/v1alpha1
kind: Cluster
metadata: {name: local}
spec: {platform: Kubernetes, version: "1.36", agent: {image: example.org/agent:1}}
`

func gpus() fstest.MapFS {
	return fstest.MapFS{
		"catalog/p.yaml":              {Data: []byte(gpuProfile)},
		"catalog/r.yaml":              {Data: []byte(gpuRuntime)},
		"overlays/local/cluster.yaml": {Data: []byte(oneCluster)},
	}
}

// TestQuota: the quota of a new tenant holds a job of default size of the largest runtime that it could use.
func TestQuota(t *testing.T) {
	d, err := draft(t, gpus(), "tenant", "vision", scaffold.Written{"clusters": {"local"}, "editors": {"e"}, "jobs": {"7"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"    cpu: 182\n", "    memory: 3001Gi\n", "    jobs: 7\n", "      nvidia.com/gpu: 16\n"} {
		if !strings.Contains(string(d.Spec.Data), want) {
			t.Errorf("no %q in\n%s", want, d.Spec.Data)
		}
	}
	if list := scaffold.FindingsWith(gpus(), d.Files(), compile.Options{Charts: helm.Renderer{}}); list.Errors() > 0 {
		t.Errorf("%d errors, the first: %s", list.Errors(), list.Sorted()[0].Message)
	}
}

// TestSlots: on machines with accelerators a new runtime has a rank for each.
func TestSlots(t *testing.T) {
	written := scaffold.Written{"profile": {"gpus"}, "implementation": {"MPICH"}, "version": {"4.2"}, "image": {"example.org/mpich:4"}}
	d, err := draft(t, gpus(), "runtime", "other", written)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(d.Spec.Data), "\n  slotsPerNode: auto\n") {
		t.Errorf("no slotsPerNode: auto in\n%s", d.Spec.Data)
	}
}

// TestRefused: names that are taken or invalid, and values that are not values, are refused with what is allowed.
func TestRefused(t *testing.T) {
	taken := gpus()
	taken["tenants/there.yaml"] = &fstest.MapFile{Data: []byte("# nothing yet\n")}
	tenant := scaffold.Written{"clusters": {"local"}, "editors": {"e"}}
	cases := map[string]struct {
		reason, word, name string
		written            scaffold.Written
		want               string
	}{
		"taken":     {"a name is taken wherever its spec is", "runtime", "big", nil, "the MPIRuntime `big` exists already"},
		"file":      {"a file is never overwritten", "tenant", "there", tenant, "`tenants/there.yaml` is there already"},
		"no name":   {"a name is also a path", "tenant", "../x", tenant, "`../x` cannot be a name"},
		"no number": {"a map needs both sides", "cluster", "east", scaffold.Written{"capacity": {"gpus"}}, "write for example `some-profile=2`"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := draft(t, taken, c.word, c.name, c.written); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got %v, want %q", c.reason, err, c.want)
			}
		})
	}
}

// TestTry: only what the new spec causes is told, wherever it shows.
func TestTry(t *testing.T) {
	files := gpus()
	files["tenants/old.yaml"] = &fstest.MapFile{Data: []byte("kind: Tenannt\n")}
	written := scaffold.Written{"clusters": {"nowhere"}, "editors": {"system:masters"}}
	d, err := draft(t, files, "tenant", "vision", written)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, found := range scaffold.FindingsWith(files, d.Files(), compile.Options{Charts: helm.Renderer{}}).Sorted() {
		got = append(got, found.Span.Path())
	}
	if len(got) == 0 || strings.Join(got, "") != strings.Repeat("tenants/vision.yaml", len(got)) {
		t.Errorf("findings in %v, want those in tenants/vision.yaml", got)
	}
}

// TestExamplesThatExist: a key that refers to another spec is shown with the name of one that there is.
func TestExamplesThatExist(t *testing.T) {
	kind, _ := jsonschema.KindOf("tenant")
	text := string(scaffold.SpecText(kind, "vision", "tenant.json", scaffold.Values{}, map[string]string{"runtimes": "openmpi", "runtime": "openmpi", "profile": "cpu"}))
	for _, want := range []string{"#runtimes: [openmpi]", "#    - profile: cpu\n", "#    runtime: openmpi"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}
