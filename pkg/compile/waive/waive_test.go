package waive_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/jsonnet"
)

// specs are two clusters with one tenant on both, whose egress and whose store are findings on each.
const specs = `apiVersion: lockstep.dev/v1alpha1
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
kind: Tenant
metadata: {name: vision}
spec:
  people: {editors: [vision-editors]}
  namespaces: [vision]
  clusters: [one, two]
  quota: {cpu: 8, memory: 16Gi, pods: 40, jobs: 20}
  network: {egress: [{cidr: 169.254.169.0/24}]}
  objectStore: {secret: bucket, endpoint: "https://192.0.2.9"}
  variants: [{name: mpi-stored, runtime: mpi}]
TENANT---
apiVersion: lockstep.dev/v1alpha1
kind: Cluster
metadata: {name: one}
spec:
  platform: Kubernetes
  version: "1.36"
  controller: {namespace: lockstep-system}
  agent: {image: "example.org/agent:1"}
ONE---
apiVersion: lockstep.dev/v1alpha1
kind: Cluster
metadata: {name: two}
spec:
  platform: Kubernetes
  version: "1.36"
  controller: {namespace: lockstep-system}
  agent: {image: "example.org/agent:1"}
TWO`

func waiver(code, about, expires string) string {
	return fmt.Sprintf("  waivers: [{code: %s, about: %q, reason: because, expires: %q}]\n", code, about, expires)
}

func judged(tenant, one, two string, options compile.Options) *diag.List {
	_, list := compile.Compile(repository(strings.NewReplacer("TENANT", tenant, "ONE", one, "TWO", two).Replace(specs)), options)
	return list
}

// repository has each document in the folder of its kind: machines and runtimes, the tenant, and the clusters.
func repository(text string) fstest.MapFS {
	root := fstest.MapFS{}
	for name, kind := range map[string]string{"catalog/profile.yaml": "HardwareProfile", "catalog/runtime.yaml": "MPIRuntime", "tenants/vision.yaml": "Tenant", "overlays/all/cluster.yaml": "Cluster"} {
		var own []string
		for _, document := range strings.Split(text, "---\n") {
			if strings.Contains(document, "kind: "+kind+"\n") {
				own = append(own, document)
			}
		}
		root[name] = &fstest.MapFile{Data: []byte(strings.Join(own, "---\n"))}
	}
	return root
}

// TestWaivers says for each finding its code, and whether it counts. All are warnings, but for the ones that are said to be errors.
func TestWaivers(t *testing.T) {
	const today = "2026-11-21"
	for name, c := range map[string]struct {
		reason           string
		tenant, one, two string
		options          compile.Options
		want             []string
	}{
		"none":            {"", "", "", "", compile.Options{Today: today}, []string{"LS4112", "LS4020"}},
		"of the tenant":   {"it is about the document", waiver("LS4112", "", "2030-12-31"), "", "", compile.Options{Today: today}, []string{"LS4020", "LS4112 waived"}},
		"of one cluster":  {"the other cluster accepts nothing", "", waiver("LS4112", "", "2027-10-31"), "", compile.Options{Today: today}, []string{"LS4112", "LS4020"}},
		"of each cluster": {"all clusters accept it", "", waiver("LS4112", "", "2027-10-31"), waiver("LS4112", "", "2027-10-31"), compile.Options{Today: today}, []string{"LS4020", "LS4112 waived"}},
		"of a check":      {"checks come before there are objects", "", waiver("LS4020", "", "2027-10-31"), waiver("LS4020", "", "2027-10-31"), compile.Options{Today: today}, []string{"LS4112", "LS4020 waived"}},
		"about a word":    {"the message has it", waiver("LS4112", "192.0.2.9", "2027-10-31"), "", "", compile.Options{Today: today}, []string{"LS4020", "LS4112 waived"}},
		"about a part":    {"the message has only a longer word", waiver("LS4112", "objec", "2027-10-31"), "", "", compile.Options{Today: today}, []string{"LS4112", "LS4020", "LS4122"}},
		"expired":         {"it accepts nothing any more", waiver("LS4112", "", "2026-11-20"), "", "", compile.Options{Today: today}, []string{"LS4112", "LS4020", "LS4120 error"}},
		"expired, no day": {"nobody knows what day it is", waiver("LS4112", "", "2026-11-20"), "", "", compile.Options{}, []string{"LS4020", "LS4112 waived"}},
		"expires soon":    {"it still accepts", waiver("LS4112", "", "2026-11-30"), "", "", compile.Options{Today: today}, []string{"LS4020", "LS4121", "LS4112 waived"}},
		"unused":          {"", waiver("LS4086", "", "2027-10-31"), "", "", compile.Options{Today: today}, []string{"LS4112", "LS4020", "LS4122"}},
		"unused so far":   {"the other cluster was not looked at", waiver("LS4086", "", "2027-10-31"), "", "", compile.Options{Today: today, Cluster: "one"}, []string{"LS4112", "LS4020"}},
		"refused":         {"", waiver("LS2003", "", "2027-10-31"), "", "", compile.Options{Today: today}, []string{"LS4112", "LS4020", "LS4123 error"}},
		"of itself":       {"whoever gains by it does not decide", waiver("LS4020", "", "2027-10-31"), "", "", compile.Options{Today: today}, []string{"LS4112", "LS4020", "LS4123 error"}},
		"a year":          {"366 days are the most", "", waiver("LS4020", "", "2027-11-22"), waiver("LS4020", "", "2027-11-22"), compile.Options{Today: today}, []string{"LS4112", "LS4020 waived"}},
		"over a year": {"it accepts nothing", "", waiver("LS4020", "", "2027-11-23"), waiver("LS4020", "", "2027-11-22"), compile.Options{Today: today},
			[]string{"LS4112", "LS4020", "LS4124 error"}},
		"over a year, no day": {"nobody knows what day it is", "", waiver("LS4020", "", "2090-11-23"), waiver("LS4020", "", "2090-11-22"), compile.Options{}, []string{"LS4112", "LS4020 waived"}},
	} {
		t.Run(name, func(t *testing.T) {
			list := judged(c.tenant, c.one, c.two, c.options)
			var got []string
			errors, warnings := 0, 0
			for _, d := range list.Sorted() {
				switch {
				case d.Waived != nil:
					got = append(got, string(d.Code)+" waived")
					if d.Waived.Reason != "because" {
						t.Errorf("the reason is %q", d.Waived.Reason)
					}
				case d.Severity == diag.Error:
					errors++
					got = append(got, string(d.Code)+" error")
				default:
					warnings++
					got = append(got, string(d.Code))
				}
			}
			slices.Sort(got)
			slices.Sort(c.want)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if list.Errors() != errors || list.Warnings() != warnings {
				t.Errorf("counted %d errors and %d warnings, want %d and %d", list.Errors(), list.Warnings(), errors, warnings)
			}
		})
	}
}

// TestWaivedError: what is waived does not stop the compilation, in checks as in proofs.
func TestWaivedError(t *testing.T) {
	text := strings.NewReplacer("TENANT", "", "ONE", "", "TWO", "", `image: "example.org/mpi:5",`, `image: "example.org/mpi:5", env: [{name: A_TOKEN, value: x1}],`).Replace(specs)
	root := repository(text)
	if clusters, list := compile.Compile(root, compile.Options{}); len(clusters) != 0 || list.Errors() != 1 {
		t.Fatalf("%d clusters, %d errors", len(clusters), list.Errors())
	}
	text = strings.ReplaceAll(text, "agent:1\"}\n", "agent:1\"}\n"+waiver("LS4111", "A_TOKEN", "2027-10-31"))
	root = repository(text)
	if clusters, list := compile.Compile(root, compile.Options{}); len(clusters) != 2 || list.Errors() != 0 {
		t.Fatalf("%d clusters, %d errors", len(clusters), list.Errors())
	}
}

// TestWaivedFile: what looks like a secret is found in files, before clusters are looked at. A cluster accepts it file by file.
func TestWaivedFile(t *testing.T) {
	for about, want := range map[string]int{"catalog/runtime.yaml": 0, "catalog/profile.yaml": 1, "": 1, "password": 1} {
		text := strings.NewReplacer("TENANT", "", "ONE", waiver("LS4111", about, "2027-10-31"), "TWO", "", `image: "example.org/mpi:5",`, `image: "example.org/mpi:5", env: [{name: DSN, value: "password=hunter2"}],`).Replace(specs)
		if _, list := compile.Compile(repository(text), compile.Options{}); list.Errors() != want {
			t.Errorf("%q: %d errors", about, list.Errors())
		}
	}
}

// TestWaiversOfAProgram: waivers that a program writes at one place of its text, for several codes and clusters, all count.
func TestWaiversOfAProgram(t *testing.T) {
	root := repository(strings.NewReplacer("TENANT", "", "ONE", "", "TWO", "").Replace(specs))
	delete(root, "overlays/all/cluster.yaml")
	root["overlays/all/cluster.jsonnet"] = &fstest.MapFile{Data: []byte(`[{
  apiVersion: 'lockstep.dev/v1alpha1', kind: 'Cluster', metadata: { name: name },
  spec: {
    platform: 'Kubernetes', version: '1.36', controller: { namespace: 'lockstep-system' }, agent: { image: 'example.org/agent:1' },
    waivers: [{ code: code, reason: 'because', expires: '2027-10-31' } for code in ['LS4112', 'LS4020']],
  },
} for name in ['one', 'two']]`)}
	_, list := compile.Compile(root, compile.Options{Today: "2026-11-21", Jsonnet: jsonnet.InProcessEvaluator{}})
	waived := map[diag.Code]int{}
	for _, d := range list.Sorted() {
		if d.Waived == nil {
			t.Errorf("not waived: %s: %s", d.Code, d.Message)
		}
		waived[d.Code]++
	}
	if waived["LS4112"] == 0 || waived["LS4020"] == 0 {
		t.Errorf("waived: %v", waived)
	}
}
