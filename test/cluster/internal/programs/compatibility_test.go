package programs

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// shownBy are the commands that run a family's programs with the product. Others only carry a cluster.
var shownBy = map[string]string{
	"kubernetes":          "`make test`: cluster and jobs",
	"kubernetes-1.34":     "`make test-versions`: API server",
	"kubernetes-1.37":     "`make test-versions`: API server",
	"jobset":              "`make test`: jobs",
	"trainer":             "`make test`: a companion beside it",
	"kueue":               "`make test`: queues; `make test-upgrade`",
	"scheduler-plugins":   "`make test`: gangs",
	"kube-router":         "`make test`: policies of networks",
	"containerd":          "`make test`: jobs",
	"runc":                "`make test`: jobs",
	"mpi-operator":        "`make test-mpi-operator`: its jobs, converted",
	"flux":                "`make test-gitops`",
	"argo-cd":             "`make test-gitops`",
	"helm":                "`make test-install`",
	"loki":                "`make test-logs`",
	"prometheus-operator": "`make test-receivers`",
	"versitygw":           "`make test`: data of jobs",
	"kwok":                "`make bench-scale`",
}

// The page about versions has what tests ran, and not what somebody remembers.
func TestCompatibilityPage(t *testing.T) {
	const page, begin, end = "../../docs/compatibility.md", "| program |", "\n## "
	var table strings.Builder
	table.WriteString("| program | version | shown by |\n|---|---|---|\n")
	for _, f := range catalog {
		if shownBy[f.folder] == "" {
			continue
		}
		for _, r := range modFile(t, "programs/"+f.folder+"/go.mod").Require {
			if r.Mod.Path == f.module {
				fmt.Fprintf(&table, "| %s | %s | %s |\n", f.module, strings.TrimPrefix(r.Mod.Version, "v"), shownBy[f.folder])
			}
		}
	}
	path := source + "/" + page
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(content), begin)
	_, after, followed := strings.Cut(rest, end)
	if !found || !followed {
		t.Fatalf("%s has no table that begins with `%s`, or no heading after it", page, begin)
	}
	want := before + table.String() + end + after
	if want == string(content) {
		return
	}
	t.Errorf("%s has other versions than the modules: run this test with -update", page)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
