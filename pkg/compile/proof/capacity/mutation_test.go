package capacity_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"lockstep.dev/lockstep/pkg/compile/check"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/lower"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/proof/capacity"
	"lockstep.dev/lockstep/pkg/compile/resolve"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// cluster is a plan and its objects, unit by unit.
type cluster struct {
	plan  *plan.Cluster
	units [][]object.Object
}

// clusters compiles the specs of testdata anew, so that a test may change the objects.
func clusters(t testing.TB, edits ...string) []cluster {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/clusters.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for _, f := range archive.Files {
		files[f.Name] = &fstest.MapFile{Data: []byte(strings.NewReplacer(edits...).Replace(string(f.Data)))}
	}
	return compile(t, files)
}

func compile(t testing.TB, files fstest.MapFS) []cluster {
	t.Helper()
	list := &diag.List{}
	var result []cluster
	for _, p := range plan.Clusters(resolve.IndexDocuments(decode.Loader{Root: files}.Load(source.Find(files), list), list), "") {
		check.Cluster(p, list)
		c := cluster{plan: p, units: [][]object.Object{lower.PlatformObjects(p), lower.RuntimeObjects(p, list)}}
		for _, tenant := range p.Tenants {
			c.units = append(c.units, lower.TenantObjects(p, tenant, list))
		}
		result = append(result, c)
	}
	for _, d := range list.Sorted() {
		// A cluster may accept that a tenant does not queue.
		if d.Code != diag.TenantWithoutQueue {
			t.Fatalf("%s: %s %s", d.Span, d.Code, d.Message)
		}
	}
	return result
}

// prove returns what the proof says about a cluster.
func (c *cluster) prove() []*diag.Diagnostic {
	list := &diag.List{}
	capacity.Prove(c.plan, c.facts(), list)
	return list.Sorted()
}

func (c *cluster) facts() []capacity.Facts {
	facts := make([]capacity.Facts, len(c.units))
	for i, objects := range c.units {
		facts[i] = capacity.FactsOf(objects)
	}
	return facts
}

// TestNothingToFind: what the compiler makes is proven.
func TestNothingToFind(t *testing.T) {
	for _, c := range clusters(t) {
		for _, d := range c.prove() {
			t.Errorf("%s: %s: %s %s", c.plan.Name.V, d.Span, d.Code, d.Message)
		}
	}
}

// gone stands for a value that is taken out.
const gone = "\x00"

// mutations have another value for each kind of leaf of each object that says something about capacity. Each must be found at every leaf,
// in every object. A segment `*` stands for an item of a list or for any name.
var mutations = map[string]string{
	"ResourceFlavor metadata name":          "other",
	"ResourceFlavor spec nodeLabels *":      "other",
	"ResourceFlavor spec nodeTaints effect": "PreferNoSchedule",
	"ResourceFlavor spec nodeTaints key":    "other",
	"ResourceFlavor spec nodeTaints value":  "other",
	"ResourceFlavor spec topologyName":      gone,

	"Topology metadata name":         "other",
	"Topology spec levels nodeLabel": "example.org/other",

	"Cohort metadata name":                                        "other",
	"Cohort spec parentName":                                      "other",
	"Cohort spec resourceGroups coveredResources":                 "other",
	"Cohort spec resourceGroups flavors name":                     "other",
	"Cohort spec resourceGroups flavors resources name":           "other",
	"Cohort spec resourceGroups flavors resources nominalQuota":   "7",
	"Cohort spec resourceGroups flavors resources borrowingLimit": "7",
	"Cohort spec resourceGroups flavors resources lendingLimit":   gone,

	"ClusterQueue metadata name":                                        "other",
	"ClusterQueue spec cohortName":                                      "company",
	"ClusterQueue spec namespaceSelector matchExpressions key":          "other",
	"ClusterQueue spec namespaceSelector matchExpressions operator":     "NotIn",
	"ClusterQueue spec namespaceSelector matchExpressions values":       "other",
	"ClusterQueue spec preemption reclaimWithinCohort":                  "LowerPriority",
	"ClusterQueue spec preemption withinClusterQueue":                   "LowerOrNewerEqualPriority",
	"ClusterQueue spec resourceGroups coveredResources":                 "other",
	"ClusterQueue spec resourceGroups flavors name":                     "other",
	"ClusterQueue spec resourceGroups flavors resources name":           "other",
	"ClusterQueue spec resourceGroups flavors resources nominalQuota":   "7",
	"ClusterQueue spec resourceGroups flavors resources borrowingLimit": "7",
	"ClusterQueue spec resourceGroups flavors resources lendingLimit":   "7",

	"LocalQueue metadata name":      "default",
	"LocalQueue metadata namespace": "other",
	"LocalQueue spec clusterQueue":  "other",

	"WorkloadPriorityClass metadata name": "other",
	"WorkloadPriorityClass value":         "7",
	"WorkloadPriorityClass description":   "other",

	"ResourceQuota metadata namespace":                             "other",
	"ResourceQuota spec hard count/trainjobs.trainer.kubeflow.org": "0",
	"ResourceQuota spec hard pods":                                 "1",
	"ResourceQuota spec hard requests.storage":                     "1Gi",
	"ResourceQuota spec hard requests.cpu":                         "1",
	"ResourceQuota spec hard requests.memory":                      "1Gi",
	"ResourceQuota spec hard limits.memory":                        "1Gi",
	"ResourceQuota spec hard requests.nvidia.com/gpu":              "1M",

	"LimitRange metadata namespace":                "other",
	"LimitRange spec limits type":                  "Pod",
	"LimitRange spec limits max cpu":               "500m",
	"LimitRange spec limits max memory":            "500Mi",
	"LimitRange spec limits default memory":        "1Pi",
	"LimitRange spec limits defaultRequest cpu":    "1M",
	"LimitRange spec limits defaultRequest memory": "1Pi",

	"PersistentVolumeClaim spec resources requests storage": "20Ti",
}

// anyName are the maps whose keys are names.
var anyName = []string{"nodeLabels"}

// saysNothing are leaves that capacity does not depend on: names and labels of objects that others do not name, and what volumes are
// like, which is not how large they are.
func saysNothing(pattern string) bool {
	kind, path, _ := strings.Cut(pattern, " ")
	switch {
	case path == "apiVersion" || path == "kind" || strings.HasPrefix(path, "metadata labels") || strings.HasPrefix(path, "metadata annotations"):
		return true
	case path == "metadata name":
		return kind == "ResourceQuota" || kind == "LimitRange" || kind == "PersistentVolumeClaim"
	case path == "metadata namespace":
		return kind == "PersistentVolumeClaim"
	case kind == "PersistentVolumeClaim":
		return path == "spec accessModes" || path == "spec storageClassName"
	}
	return kind == "Cohort" && path == "spec" // a cohort without anything of its own
}

// leaf is a value in an object.
type leaf struct {
	pattern, where string
	node           *object.Node
	around         *object.Node
}

// leaves returns the values of objects that say something about capacity.
func leaves(c *cluster) []leaf {
	kinds := []string{"ResourceFlavor", "Topology", "Cohort", "ClusterQueue", "LocalQueue", "WorkloadPriorityClass", "ResourceQuota", "LimitRange", "PersistentVolumeClaim"}
	var result []leaf
	for _, unit := range c.units {
		for i := range unit {
			if slices.Contains(kinds, unit[i].ID.Kind) {
				result = walk(result, &unit[i].Root, unit[i].ID.Kind, unit[i].ID.String())
			}
		}
	}
	return result
}

func walk(result []leaf, n *object.Node, pattern, where string) []leaf {
	for i := range n.Children {
		child, segment := &n.Children[i], ""
		switch {
		case n.Kind == object.MapNode && slices.Contains(anyName, n.Key):
			segment = " *"
		case n.Kind == object.MapNode:
			segment = " " + child.Key
		}
		at := where + " " + n.Segment(i)
		if child.Leaf() {
			result = append(result, leaf{pattern + segment, at, child, n})
			continue
		}
		result = walk(result, child, pattern+segment, at)
	}
	return result
}

// change applies a mutation. It returns how to take it back.
func (l leaf) change(to string) func() {
	if to != gone {
		before := l.node.Text
		l.node.Text = to
		return func() { l.node.Text = before }
	}
	before := l.around.Children
	l.around.Children = slices.DeleteFunc(slices.Clone(before), func(n object.Node) bool { return n.Key == l.node.Key })
	return func() { l.around.Children = before }
}

// TestMutations breaks every value of every queue, quota and limit, one at a time: the proof finds each. A field without mutation
// fails, so that the next one that is emitted gets one.
func TestMutations(t *testing.T) {
	used := map[string]bool{}
	count := 0
	for _, c := range clusters(t) {
		for _, l := range leaves(&c) {
			value, found := mutations[l.pattern]
			if !found {
				if !saysNothing(l.pattern) {
					t.Errorf("there is no mutation for %q (%s)", l.pattern, l.where)
				}
				continue
			}
			used[l.pattern] = true
			was := l.node.Text
			undo := l.change(value)
			refresh(&c)
			if len(c.prove()) == 0 {
				t.Errorf("%s: nobody notices that %s is not %s any more", c.plan.Name.V, l.where, was)
			}
			undo()
			refresh(&c)
			count++
		}
	}
	for pattern := range mutations {
		if !used[pattern] {
			t.Errorf("no object has %q", pattern)
		}
	}
	t.Logf("%d mutations", count)
}

// refresh gives objects the identity that their content has now.
func refresh(c *cluster) {
	for _, unit := range c.units {
		for i := range unit {
			unit[i].ID = unit[i].Root.ID()
		}
	}
}

// TestKueueAgrees: the arithmetic is Kueue's.
func TestKueueAgrees(t *testing.T) {
	for _, c := range clusters(t) {
		if c.plan.Name.V == "queues" {
			capacity.CheckKueue(t, c.facts())
		}
	}
}

// TestFindings: what specs do wrong together is found once, where it was written.
func TestFindings(t *testing.T) {
	for name, test := range map[string]struct {
		reason string
		edits  []string
		want   string
	}{
		"CohortOnTop": {
			reason: "machines of a cohort come on top of those of its members",
			edits:  []string{"{profile: gpu, nodes: 2, borrow: 4, lend: 4}", "{profile: gpu, nodes: 3, borrow: 4, lend: 4}"},
			want:   "overlays/queues/cluster.yaml:11:29 LS7001 `queues` has 10 machines of `gpu` (2020 cpu), its queues guarantee 11 (2222 cpu)",
		},
		"DefaultJob": {
			reason: "the launcher counts: it takes from the machines of the nodes, and where nobody queues from the quota",
			edits:  []string{"nodes: {default: 2, max: 4}\n  launcher: {cpu: 2, memory: 8Gi}", "nodes: {default: 10}\n  launcher: {cpu: 2, memory: 8Gi}", "{profile: gpu, nodes: 10}", "{profile: gpu, nodes: 30}"},
			want: "tenants/tenants.yaml:13:31 LS7007 the default job of `train` (nodes: 10) takes 2002 cpu of `gpu`, and the queue of `vision` can get 1616: it would wait forever\n" +
				"tenants/tenants.yaml:31:31 LS7007 the default job of `train` (nodes: 10) takes 2002 cpu of `gpu`, and the queue of `speech` can get 1818: it would wait forever\n" +
				"tenants/tenants.yaml:8:16 LS7009 the quota of `vision` has 1k requests.cpu, the default job of `train` (nodes: 10) takes 2002\n" +
				"tenants/tenants.yaml:8:30 LS7009 the quota of `vision` has 10Ti limits.memory, the default job of `train` (nodes: 10) takes 18008Gi\n" +
				"tenants/tenants.yaml:8:88 LS7009 the quota of `vision` has 32 requests.nvidia.com/gpu, the default job of `train` (nodes: 10) takes 80",
		},
		"LargestJob": {
			reason: "runtimes of one share are one warning",
			edits:  []string{"nodes: {default: 2, max: 4}", "nodes: {default: 2, max: 9}"},
			want:   "tenants/tenants.yaml:13:31 LS7008 the largest jobs never fit the share of `gpu` that `vision` has, with all that it may borrow: `first` allows 9 nodes and gets 8, `train` allows 9 nodes and gets 8",
		},
		"Overcommitted": {
			reason: "quotas of all namespaces count together",
			edits:  []string{"nvidia.com/gpu: 32", "nvidia.com/gpu: 44"},
			want:   "overlays/computes/cluster.yaml:11:29 LS7010 `computes` has 80 nvidia.com/gpu, and quotas and queues promise 88",
		},
		"QuotaOfTheDefaultJob": {
			reason: "a quota that admits the smallest job only",
			edits:  []string{"quota: {cpu: 1000,", "quota: {cpu: 401,"},
			want:   "tenants/tenants.yaml:8:16 LS7009 the quota of `vision` has 401 requests.cpu, the default job of `train` (nodes: 2) takes 402",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, c := range clusters(t, test.edits...) {
				for _, d := range c.prove() {
					got = append(got, d.Span.String()+" "+string(d.Code)+" "+d.Message)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(strings.Split(test.want, "\n"), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// TestOvercommittedHelp: who queues already is not told to switch queueing on.
func TestOvercommittedHelp(t *testing.T) {
	for name, test := range map[string]struct {
		reason string
		edits  []string
		want   string
	}{
		"Quotas": {"nobody queues", []string{"nvidia.com/gpu: 32", "nvidia.com/gpu: 44"}, "switch `queueing` on"},
		"Queues": {"a tenant without shares goes around the queue", []string{
			"quota: {cpu: 1, memory: 1Gi,", "quota: {cpu: 1000, memory: 10Ti, accelerators: {nvidia.com/gpu: 80},",
			"  queue:\n    cohort: research\n    preempts: Lower\n    shares:\n      - {profile: gpu, nodes: 4}\n      - {profile: cpu, nodes: 2, borrow: 0}\n", "",
		}, "give the tenants shares in a `queue`"},
	} {
		t.Run(name, func(t *testing.T) {
			var helps []string
			for _, c := range clusters(t, test.edits...) {
				for _, d := range c.prove() {
					if d.Code == diag.Overcommitted {
						helps = append(helps, d.Help...)
					}
				}
			}
			if len(helps) == 0 || !strings.Contains(strings.Join(helps, "\n"), test.want) {
				t.Errorf("%s: got %q, want %q", test.reason, helps, test.want)
			}
		})
	}
}

// BenchmarkProve is the cost of the proof for a thousand tenants that queue, facts included.
func BenchmarkProve(b *testing.B) {
	c := clusters(b)[1]
	tenant, units := c.plan.Tenants[0], c.units[:2:2]
	c.plan.Tenants = nil
	for i := range 1000 {
		one := *tenant
		one.Name.V = fmt.Sprintf("%s%d", tenant.Name.V, i)
		one.Namespaces = []plan.Value[string]{{V: one.Name.V}}
		c.plan.Tenants = append(c.plan.Tenants, &one)
		units = append(units, lower.TenantObjects(c.plan, &one, &diag.List{}))
	}
	for i := range c.plan.Capacity {
		c.plan.Capacity[i].Nodes.V = 10_000
	}
	c.units = units
	b.ResetTimer()
	for range b.N {
		if found := c.prove(); len(found) > 0 {
			b.Fatal(found[0].Message)
		}
	}
}
