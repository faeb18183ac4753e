package lower_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"lockstep.dev/lockstep/pkg/compile/lower"
	"lockstep.dev/lockstep/pkg/compile/source"
	"lockstep.dev/lockstep/pkg/jobs/convert"
	"lockstep.dev/lockstep/pkg/jobs/convert/corpus"
	"lockstep.dev/lockstep/test/attacker"
)

// convertCorpus are the MPIJobs on which conversion is tested.
const convertCorpus = "../../jobs/convert/testdata"

// TestConvertedTrainJobs: what conversion makes of MPIJobs is admitted, with what they ask for that is not possible left out.
func TestConvertedTrainJobs(t *testing.T) {
	mutations, root := corpus.LoadMutations(t, convertCorpus), corpus.LoadRepository(t, convertCorpus)
	made := map[string]*convert.Result{}
	for name, text := range mutations {
		in := convert.ReadInput(source.NewFile(name, []byte(text)))
		if len(in.Jobs) != 1 {
			t.Fatalf("%s: %v", name, in.Problems)
		}
		r := convert.Convert(in.Jobs[0], convert.LoadCatalog(corpus.LoadRepository(t, convertCorpus)), convert.Options{})
		if r.Job.Namespace() != "vision" || !catalogHas(root, r.Profile) || name == "above-the-limit" || name == "odd-texts" {
			continue // of drafts there are no machines; what is above the tenant's limit is told to be too much, and left to whoever reads that, and so are texts that name nothing
		}
		// Each case proposes for itself, so that each needs a name of its own here.
		for _, spec := range r.Specs {
			root["catalog/runtimes/"+name+".yaml"] = &fstest.MapFile{Data: []byte(strings.Replace(spec.Text, "name: "+r.Runtime, "name: "+name, 1))}
			r.TrainJob.Spec.RuntimeRef.Name = name
		}
		made[name] = r
	}
	c := attacker.PlanOf(t, onlyCluster(root))
	s, vision := attacker.NewServer(t, lower.PlatformObjects(c)), attacker.NamespaceOf(t, c, "vision")
	for name, r := range made {
		trainJob := &unstructured.Unstructured{}
		if err := trainJob.UnmarshalJSON(r.JSON()); err != nil {
			t.Fatal(err)
		}
		if got := s.Ask(t, "lockstep-trainjob", attacker.CreateTrainJob(vision, trainJob)); got != "" {
			t.Errorf("%s: %s\n%s", name, got, r.YAML())
		}
	}
	if len(made) < 60 {
		t.Errorf("only %d TrainJobs", len(made))
	}
}

// catalogHas reports whether the machines of a profile are in the cluster: of drafts there are none.
func catalogHas(root fstest.MapFS, profile string) bool {
	return strings.Contains(string(root["overlays/lab/cluster.yaml"].Data), "{profile: "+profile+",")
}

// onlyCluster returns the specs of the cluster that queues.
func onlyCluster(root fstest.MapFS) string {
	var specs []string
	for _, name := range slices.Sorted(maps.Keys(root)) {
		text := string(root[name].Data)
		if !strings.HasPrefix(name, "overlays/plain/") && !strings.HasPrefix(name, "tenants/clinic") && !strings.HasPrefix(name, "tenants/robots") && !strings.Contains(text, "tenants: [clinic]") {
			specs = append(specs, text)
		}
	}
	return strings.Join(specs, "---\n")
}
