package semdiff_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/semdiff"
	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
)

// pair is one unit on both sides.
type pair struct {
	cluster, unit string
	before, after []object.Object
}

// TestOrder: the report does not depend on the order in which units come, nor on what was compared before.
func TestOrder(t *testing.T) {
	needsSchemas(t)
	before := base(t)
	after := base(t)
	apply(t, after, fstest.MapFS{
		"tenants/vision.yaml.edit":   {Data: []byte("-      - cidr: 10.40.0.0/16\n+      - cidr: 0.0.0.0/0\n")},
		"tenants/speech.yaml.gone":   {},
		"catalog/profiles.yaml.edit": {Data: []byte("-    memory: 1800Gi\n+    memory: 1700Gi\n-    pool: gpu\n+    pool: other\n")},
	})
	was, _ := unitsOf(before)
	is, list := unitsOf(after)
	if list.Errors() > 0 {
		t.Fatal(list.Sorted()[0].Message)
	}
	var pairs []pair
	for name := range was {
		pairs = append(pairs, pair{cluster(name), unit(name), was[name], is[name]})
	}
	want := ""
	for i := range 5 {
		rand.New(rand.NewPCG(uint64(i), 0)).Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
		var in semdiff.Input
		for _, p := range pairs {
			in.Units = append(in.Units, semdiff.NewUnit(p.cluster, p.unit, p.before, p.after, nil))
		}
		r, again := semdiff.Compare(in), semdiff.Compare(in)
		got := summary(&r)
		if diff := cmp.Diff(got, summary(&again)); diff != "" {
			t.Fatalf("the same input gives another report:\n%s", diff)
		}
		if want == "" {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("another order gives another report:\n%s", diff)
		}
	}
}

// TestThousandTenants: one line opens the internet for a thousand tenants, and is one entry at that line.
func TestThousandTenants(t *testing.T) {
	needsSchemas(t)
	const tenants = 1000
	before := base(t)
	for i := range tenants {
		name := fmt.Sprintf("team-%04d", i)
		text := strings.NewReplacer("namespaces: [students, students-exam]", "namespaces: ["+name+"]", "students", name,
			"  quota:", "  network:\n    egress: [{cidr: 10.20.0.0/16, ports: [{port: 2049}]}]\n  quota:").Replace(string(before["tenants/students.yaml"].Data))
		before["tenants/"+name+".yaml"] = &fstest.MapFile{Data: []byte(text)}
	}
	before["overlays/lab/kustomization.yaml"] = patchOfTenants("10.20.0.0/16")
	after := fstest.MapFS{}
	for name, file := range before {
		after[name] = file
	}
	after["overlays/lab/kustomization.yaml"] = patchOfTenants("0.0.0.0/0")
	r := compared(t, before, after, fstest.MapFS{})
	if len(r.Entries) != 1 {
		t.Fatalf("%d entries, want one:\n%.2000s", len(r.Entries), summary(&r))
	}
	e := &r.Entries[0]
	if e.Severity != rule.Critical || e.Consequence != rule.OpensNetwork || e.Count != tenants || len(e.Affected.Tenants) != tenants {
		t.Errorf("the entry is not what it should be:\n%.500s", summary(&r))
	}
	if got := e.After.String(); got != "overlays/lab/kustomization.yaml:8:14" {
		t.Errorf("the entry is at %s", got)
	}
	if want := "1000 tenants gain internet egress; running jobs go on, and it holds for them at once."; r.Verdict != want {
		t.Errorf("the verdict is %q, want %q", r.Verdict, want)
	}
}

// patchOfTenants gives all tenants of a cluster another range.
func patchOfTenants(cidr string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(`apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
patches:
- target: {group: lockstep.dev, kind: Tenant, name: team-.*}
  patch: |-
    - op: replace
      path: /spec/network/egress/0/cidr
      value: ` + cidr + "\n")}
}

// TestSharedChange: what all share concerns those who use it, also where the caller leaves out their units.
func TestSharedChange(t *testing.T) {
	needsSchemas(t)
	before, after := base(t), base(t)
	apply(t, after, fstest.MapFS{"catalog/runtimes.yaml.edit": {Data: []byte("-  image: example.org/mpi/small:5\n+  image: example.org/mpi/small:6\n")}})
	was, _ := unitsOf(before)
	is, _ := unitsOf(after)
	r := semdiff.Compare(semdiff.Input{
		Units: []semdiff.Unit{semdiff.NewUnit("hpc", "runtimes", was["hpc runtimes"], is["hpc runtimes"], nil)},
		Clusters: map[string]semdiff.Cluster{"hpc": {Tenants: []rule.Tenant{
			{Name: "vision", Namespaces: []string{"vision"}, Runtimes: []string{"small"}}, {Name: "other", Runtimes: []string{"train"}},
		}}},
	})
	if diff := cmp.Diff([]string{"vision"}, r.Entries[0].Affected.Tenants); diff != "" {
		t.Errorf("tenants (-want +got):\n%s", diff)
	}
}
