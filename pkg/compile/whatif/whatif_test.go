package whatif_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/proof/capacity"
	"lockstep.dev/lockstep/pkg/compile/whatif"
)

// plans are those of the specs with which the proof of capacity is tested: two tenants in a cohort on `queues`, one of them also on
// `computes`, where quotas count.
func plans(t *testing.T) []*plan.Cluster {
	t.Helper()
	data, err := os.ReadFile("../proof/capacity/testdata/clusters.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for _, f := range txtar.Parse(data).Files {
		files[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	clusters, list := compile.Plans(files, compile.Options{})
	if list.Errors() > 0 {
		t.Fatal(list.Sorted()[0].Message)
	}
	return clusters
}

// TestTable: whole machines, with what a cohort has itself beside what is guaranteed.
func TestTable(t *testing.T) {
	table := whatif.CapacityTable(plans(t))
	wantQueues := whatif.Cluster{
		Name: "queues", Queues: true,
		Profiles: []capacity.ProfileCapacity{{Profile: "cpu", Machines: 6, Guaranteed: 4, Free: 2}, {Profile: "gpu", Machines: 10, Guaranteed: 8, Cohorts: 2}},
		Tenants: []capacity.TenantCapacity{
			{Tenant: "speech", Cohort: "research", Profile: "cpu", Guaranteed: 2, Busy: 2, Most: 2},
			{Tenant: "speech", Cohort: "research", Profile: "gpu", Guaranteed: 4, Busy: 5, Most: 9},
			{Tenant: "vision", Cohort: "research", Profile: "cpu", Guaranteed: 2, Busy: 2, Most: 4},
			{Tenant: "vision", Cohort: "research", Profile: "gpu", Guaranteed: 4, Busy: 5, Most: 8},
		},
		Quotas: []capacity.QuotaPromise{},
	}
	if diff := cmp.Diff(wantQueues, table[1]); diff != "" {
		t.Errorf("queues (-want +got):\n%s", diff)
	}
	wantQuotas := []capacity.QuotaPromise{
		{Resource: "cpu", Has: "2096", Promised: "2k"}, {Resource: "memory", Has: "18384Gi", Promised: "20Ti", Over: true}, {Resource: "nvidia.com/gpu", Has: "80", Promised: "64"},
	}
	if diff := cmp.Diff(wantQuotas, table[0].Quotas); diff != "" {
		t.Errorf("computes (-want +got):\n%s", diff)
	}
}

func TestAsk(t *testing.T) {
	four, none := int32(4), int32(0)
	for name, test := range map[string]struct {
		reason string
		change whatif.Change
		// want is the verdict, the codes and the tenants with less room, per cluster.
		want string
	}{
		"Fits":          {"two machines are free", whatif.Change{Tenant: "new", Profile: "cpu", Nodes: 2}, "computes fits no LS7010 | queues fits yes"},
		"TooMany":       {"nothing is free", whatif.Change{Tenant: "new", Profile: "gpu", Nodes: 1}, "computes fits no LS7009 LS7010 LS7010 | queues fits no LS7001 LS7007"},
		"BorrowsOnly":   {"one more divides what the cohort has", whatif.Change{Tenant: "new", Profile: "gpu", Borrow: &four, Cohort: "research"}, "queues fits yes speech/gpu vision/gpu"},
		"NothingAtAll":  {"no machines and nobody to borrow from", whatif.Change{Tenant: "new", Profile: "gpu", Borrow: &none, Cohort: "research"}, "queues fits no LS4091 LS7007"},
		"MachinesGo":    {"what is guaranteed stays guaranteed", whatif.Change{Resizes: []whatif.Resize{{Profile: "gpu", By: -2}}}, "computes fits no LS7010 LS7010 | queues fits no LS7001"},
		"MachinesCome":  {"and are given away", whatif.Change{Tenant: "new", Profile: "gpu", Nodes: 2, Cohort: "research", Resizes: []whatif.Resize{{Profile: "gpu", By: 2}}}, "queues fits yes speech/gpu vision/gpu"},
		"AnotherNumber": {"instead of what there is", whatif.Change{Resizes: []whatif.Resize{{Profile: "cpu", To: &four}}}, "computes fits no LS7010 | queues fits yes"},
	} {
		t.Run(name, func(t *testing.T) {
			answers, err := whatif.Ask(plans(t), test.change)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, a := range answers {
				got = append(got, summary(a))
			}
			if diff := cmp.Diff(test.want, strings.Join(got, " | ")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

func summary(a whatif.Answer) string {
	parts := []string{a.After.Name, "fits", map[bool]string{true: "yes", false: "no"}[a.Fits]}
	for _, f := range a.Why {
		parts = append(parts, string(f.Code))
	}
	for _, s := range a.Shrinks {
		parts = append(parts, s.After.Tenant+"/"+s.After.Profile)
	}
	return strings.Join(parts, " ")
}

// TestNonsense: a question about what is not there is refused, with what is.
func TestNonsense(t *testing.T) {
	for name, test := range map[string]struct {
		change whatif.Change
		want   string
	}{
		"Profile": {whatif.Change{Tenant: "new", Profile: "tpu"}, "no cluster has machines of the profile `tpu`: there are `cpu`, `gpu`"},
		"Cohort":  {whatif.Change{Tenant: "new", Profile: "gpu", Cohort: "reserch"}, "no cluster has the cohort `reserch`: there are `company`, `research`"},
		"TooFew":  {whatif.Change{Resizes: []whatif.Resize{{Profile: "cpu", By: -10000}}}, "machines of the profile `cpu`: 10000 cannot go"},
		"Tenant":  {whatif.Change{Tenant: "vision", Profile: "gpu"}, "the tenant `vision` exists"},
	} {
		if _, err := whatif.Ask(plans(t), test.change); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// TestPlansStay: asking changes nothing.
func TestPlansStay(t *testing.T) {
	clusters := plans(t)
	before := whatif.CapacityTable(clusters)
	if _, err := whatif.Ask(clusters, whatif.Change{Tenant: "new", Profile: "gpu", Nodes: 1, Resizes: []whatif.Resize{{Profile: "gpu", By: 7}}}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, whatif.CapacityTable(clusters)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

func TestParseResize(t *testing.T) {
	twenty := int32(20)
	for text, want := range map[string]whatif.Resize{
		"h100=+4": {Profile: "h100", By: 4}, "h100=-4": {Profile: "h100", By: -4}, "h100=20": {Profile: "h100", To: &twenty},
	} {
		if got, err := whatif.ParseResize(text); err != nil || !cmp.Equal(want, got) {
			t.Errorf("%s is %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "h100", "=4", "h100=", "h100=many", "h100=+", "h100=99999999999", "h100=+1000001", "h100=-1000001"} {
		if got, err := whatif.ParseResize(text); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
}

// TestOverAlready: where quotas promise too much as it is, the answer says that the change is not the whole reason.
func TestOverAlready(t *testing.T) {
	answers, err := whatif.Ask(plans(t), whatif.Change{Tenant: "new", Profile: "cpu", Nodes: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range answers[0].Why {
		if strings.Contains(f.Message, "memory") && !strings.Contains(f.Message, "quotas promise 20Ti already, too much without the change, and would promise") {
			t.Errorf("it does not say what was before: %s", f.Message)
		}
	}
}

// TestAgreesWithCheck: what plan says of a tenant that may come is what check says once its spec is there, whether it fits or not.
func TestAgreesWithCheck(t *testing.T) {
	for _, nodes := range []int32{1, 2, 5, 6, 7} {
		for _, size := range []int32{1, 2, 4} {
			before := newcomer(nodes, size)
			delete(before, "tenants/new.yaml")
			clusters, list := compile.Plans(before, compile.Options{})
			if list.Errors() > 0 {
				t.Fatal(list.Sorted()[0].Message)
			}
			answers, err := whatif.Ask(clusters, whatif.Change{Tenant: "new", Profile: "cpu", Nodes: nodes})
			if err != nil || len(answers) != 1 {
				t.Fatalf("%d answers, error %v", len(answers), err)
			}
			_, checked := compile.Compile(newcomer(nodes, size), compile.Options{})
			if fits := checked.Errors() == 0; fits != answers[0].Fits {
				t.Errorf("%d machines for jobs of %d: plan says %v, check says %v", nodes, size, answers[0].Fits, fits)
			}
		}
	}
}

// newcomer is a cluster of ten machines, of which a tenant has four and another one asks for some, with a runtime whose jobs have a size.
func newcomer(nodes, size int32) fstest.MapFS {
	tenant := func(name string, nodes int32) string {
		return fmt.Sprintf("apiVersion: lockstep.dev/v1alpha1\nkind: Tenant\nmetadata: {name: %s}\nspec: {people: {editors: [%s-editors]}, namespaces: [%s], clusters: [local], runtimes: [mpi], "+
			"quota: {cpu: 99, memory: 999Gi, pods: 99, jobs: 9}, queue: {shares: [{profile: cpu, nodes: %d}]}}\n", name, name, name, nodes)
	}
	return fstest.MapFS{
		"catalog/p.yaml":              {Data: []byte("apiVersion: lockstep.dev/v1alpha1\nkind: HardwareProfile\nmetadata: {name: cpu}\nspec: {fabric: {type: Ethernet}, node: {cpu: 4, memory: 8Gi}}\n")},
		"catalog/r.yaml":              {Data: fmt.Appendf(nil, "apiVersion: lockstep.dev/v1alpha1\nkind: MPIRuntime\nmetadata: {name: mpi}\nspec: {mpi: {implementation: OpenMPI, version: \"5.0.7\"}, image: \"example.org/mpi:5\", profile: cpu, nodes: {default: %d, max: 6}, launcher: {runsRanks: true}}\n", size)},
		"overlays/local/cluster.yaml": {Data: []byte("apiVersion: lockstep.dev/v1alpha1\nkind: Cluster\nmetadata: {name: local}\nspec: {platform: Kubernetes, version: \"1.36\", agent: {image: \"example.org/agent:1\"}, capacity: [{profile: cpu, nodes: 10}], queueing: {}}\n")},
		"tenants/old.yaml":            {Data: []byte(tenant("old", 4))},
		"tenants/new.yaml":            {Data: []byte(tenant("new", nodes))},
	}
}
