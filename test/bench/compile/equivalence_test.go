package main

import (
	"os"
	"strings"
	"testing"

	"lockstep.dev/lockstep/test/bench/series"
	"lockstep.dev/lockstep/test/bench/workload"
)

const (
	one = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"
	two = "apiVersion: v1\nkind: LimitRange\nmetadata: {name: a, namespace: a}\nspec: {limits: [{max: {cpu: \"1\", memory: 1Gi}}]}\n"
)

// TestDigest: order, layout and comments do not matter; every value does.
func TestDigest(t *testing.T) {
	cases := map[string]struct {
		reason, manifests string
		equal             bool
		told              string
	}{
		"Order":     {"documents may come in any order", "---\n" + two + "---\n" + one, true, ""},
		"Layout":    {"so may keys, and comments are no objects", "# Source: x\n---\nkind: Namespace\nmetadata:\n  name: a\napiVersion: v1\n---\n\n---\n" + two, true, ""},
		"Missing":   {"an object less", one, false, "missing: v1 LimitRange a/a"},
		"Different": {"a quantity with another type", one + "---\n" + strings.ReplaceAll(two, `"1"`, "1"), false, "different (-runtime-compiler): v1 LimitRange a/a"},
		"More":      {"an object more", one + "---\n" + two + "---\n" + strings.ReplaceAll(one, "name: a", "name: b"), false, "not wanted: v1 Namespace <nil>/b"},
	}
	wanted := decoded(t, one+"---\n"+two)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := decoded(t, tc.manifests)
			if equal := digested(t, got) == digested(t, wanted); equal != tc.equal {
				t.Errorf("%s: equal is %v, want %v", tc.reason, equal, tc.equal)
			}
			if told := differ(wanted, got); !strings.HasPrefix(told, tc.told) || tc.equal != (told == "") {
				t.Errorf("%s: told %q, want %q", tc.reason, told, tc.told)
			}
		})
	}
	if _, err := decode([]byte(one + "---\n" + one)); err == nil {
		t.Error("two objects of one identity are not refused")
	}
}

func decoded(t *testing.T, manifests string) objects {
	t.Helper()
	found, err := decode([]byte(manifests))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func digested(t *testing.T, o objects) string {
	t.Helper()
	digest, err := o.digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// TestEquivalence: Helm, Jsonnet and kustomize make the objects of runtime-compiler, to the last value, for all tenants of a
// workload; for Helm and Jsonnet also the number over all is the same. The other tools are built when they are needed first,
// which takes minutes, so somebody must ask for it.
func TestEquivalence(t *testing.T) {
	if os.Getenv("LOCKSTEP_PEERS") == "" {
		t.Skip("SKIPPED: set LOCKSTEP_PEERS=1 to build Helm, Jsonnet and kustomize, and compare their objects with ours")
	}
	b, err := newBench(t.Context(), options{peers: "peers", Options: series.Options{
		Options: workload.Options{Tenants: 40, Clusters: 3, Seed: 7}, Compiler: compilerUnderTest(t), Dir: t.TempDir(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if b.work, err = b.site(t.Context(), 40, 40); err != nil {
		t.Fatal(err)
	}
	compared, err := b.compare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d objects of 40 tenants are equal", compared)
}
