package convert_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/internal/golden"
	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/schema"
	"lockstep.dev/lockstep/pkg/compile/source"
	"lockstep.dev/lockstep/pkg/jobs/convert"
	"lockstep.dev/lockstep/pkg/jobs/convert/corpus"
)

// converted converts the one MPIJob of a text with the repository of the tests.
func converted(tb testing.TB, text string, catalog *convert.Catalog) *convert.Result {
	tb.Helper()
	in := convert.ReadInput(source.NewFile("job.yaml", []byte(text)))
	if len(in.Jobs) != 1 || len(in.Problems) > 0 {
		tb.Fatalf("%d jobs, problems %v in\n%s", len(in.Jobs), in.Problems, text)
	}
	return convert.Convert(in.Jobs[0], catalog, convert.Options{})
}

func catalogOf(tb testing.TB) *convert.Catalog {
	tb.Helper()
	catalog := convert.LoadCatalog(corpus.LoadRepository(tb, "testdata"))
	if len(catalog.Unread) > 0 || catalog.IsEmpty() {
		tb.Fatalf("the repository of the tests has mistakes: %v", catalog.Unread)
	}
	return catalog
}

// lines are the entries of a result without their places, which a change moves.
func lines(r *convert.Result) []string {
	var all []string
	for _, e := range r.Entries {
		line := fmt.Sprintf("%s: %s", e.Class, e.From)
		for _, part := range []struct{ before, text string }{{" = ", e.Value}, {" → ", e.To}, {": ", e.Note}} {
			if part.text != "" {
				line += part.before + part.text
			}
		}
		all = append(all, line)
	}
	return all
}

// without returns what is not among others, as lines.
func without(all, others []string) string {
	var text strings.Builder
	for _, line := range all {
		if !slices.Contains(others, line) {
			text.WriteString(line + "\n")
		}
	}
	return text.String()
}

// TestMutations shows what one change of a plain MPIJob changes in the report and in the TrainJob, and which specs it needs.
func TestMutations(t *testing.T) {
	base := converted(t, corpus.Base, catalogOf(t))
	golden.Run(t, "testdata/mutations", func(t *testing.T, c *golden.Case) {
		r := converted(t, corpus.ChangedMPIJob(t, string(c.Files["change.yaml"].Data)), catalogOf(t))
		c.Output("report", without(lines(r), lines(base)))
		before, after := strings.Split(base.YAML(), "\n"), strings.Split(r.YAML(), "\n")
		c.Output("trainjob", without(after, before))
		c.Output("gone", without(before, after))
		for _, spec := range r.Specs {
			c.Output(spec.Path, spec.Text)
		}
	})
}

// TestWhole shows whole reports, as people read them, and the TrainJobs.
func TestWhole(t *testing.T) {
	golden.Run(t, "testdata/whole", func(t *testing.T, c *golden.Case) {
		catalog := catalogOf(t)
		var in convert.Input
		for _, name := range slices.Sorted(maps.Keys(c.Files)) {
			in.Append(convert.ReadInput(source.NewFile(name, c.Files[name].Data)))
		}
		var results []*convert.Result
		for _, job := range in.Jobs {
			results = append(results, convert.Convert(job, catalog, convert.Options{}))
		}
		var text strings.Builder
		if err := convert.WriteText(&text, in, results); err != nil {
			t.Fatal(err)
		}
		c.Output("report", text.String())
		for _, r := range results {
			c.Output("trainjobs/"+r.Job.Name(), r.YAML())
		}
	})
}

// TestNothingIsDropped: every value of every MPIJob is named by the report, itself or what holds it, and what the report calls carried is in
// the TrainJob.
func TestNothingIsDropped(t *testing.T) {
	for name, text := range corpus.LoadMutations(t, "testdata") {
		r := converted(t, text, catalogOf(t))
		nothingIsDropped(t, name, text, r)
	}
}

func nothingIsDropped(t *testing.T, name, text string, r *convert.Result) {
	t.Helper()
	var job, made any
	for from, to := range map[string]*any{text: &job, r.YAML(): &made} {
		if err := yaml.Unmarshal([]byte(from), to); err != nil {
			t.Fatal(err)
		}
	}
	out := map[string]bool{}
	scalars(made, "", func(_, value string) { out[value] = true })
	scalars(job, "", func(at, value string) {
		var named []convert.Outcome
		for _, e := range r.Entries {
			if rest, found := strings.CutPrefix(at, e.From); found && (rest == "" || rest[0] == '.' || rest[0] == '[') {
				named = append(named, e)
			}
		}
		if len(named) == 0 {
			t.Errorf("%s: the report says nothing of %s: %s", name, at, value)
			return
		}
		if at == "apiVersion" || at == "kind" || slices.ContainsFunc(named, func(e convert.Outcome) bool { return e.Class != convert.Carried }) {
			return
		}
		if !out[value] && at != "spec.mpiReplicaSpecs.Worker.replicas" {
			t.Errorf("%s: %s: %s is called carried over, and is not in the TrainJob", name, at, value)
		}
	})
}

// scalars calls visit with all values that are neither maps, lists nor null.
func scalars(value any, at string, visit func(at, value string)) {
	switch v := value.(type) {
	case map[string]any:
		for key, below := range v {
			path := at + "." + key
			if strings.ContainsAny(key, "./") {
				path = fmt.Sprintf("%s[%q]", at, key)
			}
			scalars(below, strings.TrimPrefix(path, "."), visit)
		}
	case []any:
		for i, below := range v {
			scalars(below, fmt.Sprintf("%s[%d]", at, i), visit)
		}
	case nil:
	default:
		visit(at, fmt.Sprint(v))
	}
}

// TestTrainJobsAreValid asks the schemas of the API server: CRD, CEL rules and all.
func TestTrainJobsAreValid(t *testing.T) {
	schemas := newestSchemas(t)
	for name, text := range corpus.LoadMutations(t, "testdata") {
		r := converted(t, text, catalogOf(t))
		if name == "long-name" || name == "generated-name" || name == "odd-texts" {
			continue // the name is for hands, or the API server's to make
		}
		valid(t, schemas, name, r)
	}
}

func newestSchemas(t *testing.T) *schema.Schemas {
	t.Helper()
	if !schema.Available() {
		t.Skip("SKIPPED: no schemas in this build: run `make schemas`")
	}
	minors := schema.AvailableMinors()
	schemas, err := schema.SchemasFor(minors[len(minors)-1])
	if err != nil {
		t.Fatal(err)
	}
	return schemas
}

func valid(t *testing.T, schemas *schema.Schemas, name string, r *convert.Result) {
	t.Helper()
	var tree any
	if err := json.Unmarshal(r.JSON(), &tree); err != nil {
		t.Fatal(err)
	}
	root := object.FromValue("", tree, nil)
	for _, problem := range schemas.Check(&root) {
		t.Errorf("%s: %s\n%s", name, problem, r.YAML())
	}
}

// TestSpecsCompile: what is proposed compiles with the repository for which it was proposed, without a finding.
func TestSpecsCompile(t *testing.T) {
	root, catalog := corpus.LoadRepository(t, "testdata"), catalogOf(t)
	mutations := corpus.LoadMutations(t, "testdata")
	specs := 0
	delete(mutations, "odd-texts") // what is not an image makes no runtime, and is told to be none
	for _, name := range slices.Sorted(maps.Keys(mutations)) {
		for _, spec := range converted(t, mutations[name], catalog).Specs {
			root[spec.Path] = &fstest.MapFile{Data: []byte(spec.Text)}
			specs++
			compiles(t, root, name)
		}
	}
	if specs < 5 {
		t.Errorf("only %d specs were proposed", specs)
	}
}

func compiles(t *testing.T, root fs.FS, name string) {
	t.Helper()
	clusters, list := compile.Compile(root, compile.Options{})
	for _, d := range list.Sorted() {
		if d.Severity == diag.Error {
			t.Errorf("%s: %s %s %s", name, d.Span, d.Code, d.Message)
		}
	}
	if len(clusters) != 2 {
		t.Errorf("%s: %d clusters were compiled", name, len(clusters))
	}
}

// TestExamples converts mpi-operator's own examples with the catalog of this repository: most without manual work, the others for a reason
// that is named here.
func TestExamples(t *testing.T) {
	hands := map[string]string{
		"v2beta1/pi/pi-intel.yaml":              "ENTRYPOINT",
		"v2beta1/horovod/tensorflow-mnist.yaml": "no profile of the catalog has machines",
	}
	examples := corpus.LoadExamples(t)
	free := 0
	// One catalog for all: a draft that one of them needs is not taken for those that have machines.
	catalog := convert.LoadCatalog(repositoryOfThisProject())
	for _, name := range slices.Sorted(maps.Keys(examples)) {
		r := converted(t, examples[name], catalog)
		var notes []string
		for _, e := range r.Entries {
			if e.Class == convert.NotPossible {
				notes = append(notes, e.Note)
			}
		}
		switch why := hands[name]; {
		case why == "" && len(notes) == 0:
			free++
		case why == "", len(notes) != 1, !strings.Contains(strings.Join(notes, ""), why):
			t.Errorf("%s needs hands: %q, expected was %q", name, notes, why)
		}
		nothingIsDropped(t, name, examples[name], r)
		r.TrainJob.Namespace = "vision" // the examples go where kubectl's context says
		valid(t, newestSchemas(t), name, r)
	}
	t.Logf("%d of %d examples convert without manual work", free, len(examples))
	if free*10 < len(examples)*6 {
		t.Errorf("%d of %d examples convert without manual work, want 60 %%", free, len(examples))
	}
}

// TestConstants: what is written down a second time is the same.
func TestConstants(t *testing.T) {
	r := converted(t, corpus.Base, catalogOf(t))
	if queue := r.TrainJob.Labels["kueue.x-k8s.io/queue-name"]; queue != plan.LocalQueue {
		t.Errorf("the queue is %q, the compiler's is %q", queue, plan.LocalQueue)
	}
}

// TestJSON: the report for programs has the same entries, and is JSON.
func TestJSON(t *testing.T) {
	in := convert.ReadInput(source.NewFile("job.yaml", []byte(corpus.Base+"---\nkind: Service\nmetadata: {name: s}\n---\n- no object\n")))
	r := convert.Convert(in.Jobs[0], catalogOf(t), convert.Options{MPIVersion: "5.0.7"})
	report := convert.NewReport(in, []*convert.Result{r})
	data, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	var back convert.Report
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if len(back.Jobs) != 1 || len(back.Jobs[0].Entries) != len(r.Entries) || len(back.Others) != 1 || len(back.Problems) != 1 || back.NeedHands != 0 {
		t.Errorf("the report is %s", data)
	}
	if back.Jobs[0].Runtime != "openmpi5" || path.Ext(back.Jobs[0].File) != ".yaml" || back.Jobs[0].Line != 1 {
		t.Errorf("the job is %+v", back.Jobs[0])
	}
}

// TestWithoutCatalog: nothing is known of machines, and everything is proposed.
func TestWithoutCatalog(t *testing.T) {
	r := converted(t, corpus.Base, &convert.Catalog{})
	if !r.Proposed || len(r.Specs) != 2 || r.CountToReview() != 1 || r.TrainJob.Labels != nil {
		t.Errorf("%d specs, %d for hands, labels %v", len(r.Specs), r.CountToReview(), r.TrainJob.Labels)
	}
}

// TestTheTenantsRuntimeComesFirst: a runtime with the image of the job is of no use to a tenant that does not use it.
func TestTheTenantsRuntimeComesFirst(t *testing.T) {
	const head = "apiVersion: lockstep.dev/v1alpha1\nkind: "
	runtime := func(name, image string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(head + "MPIRuntime\nmetadata: {name: " + name + "}\nspec: {mpi: {implementation: OpenMPI, version: \"4.1.4\"}, " +
			"image: " + image + ", profile: p, slotsPerNode: 8}\n")}
	}
	image := regexp.MustCompile(`image: (\S+)`).FindStringSubmatch(corpus.Base)[1]
	catalog := convert.LoadCatalog(fstest.MapFS{
		"catalog/p.yaml": {Data: []byte(head + "HardwareProfile\nmetadata: {name: p}\nspec: {fabric: {type: Ethernet}, node: {cpu: 64, memory: 256Gi}}\n")},
		"catalog/a.yaml": runtime("unused", image),
		"catalog/b.yaml": runtime("used", "example.org/other:4"),
		"tenants/t.yaml": {Data: []byte(head + "Tenant\nmetadata: {name: t}\nspec: {people: {editors: [t]}, namespaces: [" +
			regexp.MustCompile(`namespace: (\S+)`).FindStringSubmatch(corpus.Base)[1] +
			"], clusters: [c], runtimes: [used], quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}}\n")},
	})
	if text := converted(t, corpus.Base, catalog).YAML(); !strings.Contains(text, "name: used\n") {
		t.Errorf("the tenant does not use the runtime of\n%s", text)
	}
}
