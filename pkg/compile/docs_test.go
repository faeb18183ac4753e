package compile_test

import (
	"maps"
	"strings"
	"testing"
	"testing/fstest"
)

// Runtimes, alerts and findings have the address of docs: the Cluster's, else the dashboard's, else none.
func TestDocs(t *testing.T) {
	const dashboard = `
  monitoring: {namespace: monitoring}
  dashboard: {host: jobs.example.com, issuer: "https://login.example.com"}
`
	for spec, want := range map[string]string{
		"\n  monitoring: {namespace: monitoring}\n": "",
		dashboard: "https://jobs.example.com/docs",
		dashboard + "  docs: {baseURL: \"https://docs.example.com/hpc/\"}\n": "https://docs.example.com/hpc",
	} {
		files := withBase(t, fstest.MapFS{"overlays/local/cluster.yaml.edit": {Data: []byte(spec)}})
		maps.Copy(files, ourChart(t, "mpi-dashboard"))
		all := ""
		for _, text := range compiled(t, files) {
			all += text
		}
		if docs := diagnose(files, "").Docs; docs != want {
			t.Errorf("findings link to %q, want %q", docs, want)
		}
		for _, link := range []string{
			"lockstep.dev/docs: " + want + "\n", `runbook_url: "` + want + `/failures/{{ $labels.reason }}"`,
			"runbook_url: " + want + "/alerts/MPIControllerDown\n",
		} {
			if strings.Contains(all, link) != (want != "") {
				t.Errorf("docs are at %q: compiled is %q: %v", want, link, want == "")
			}
		}
		if strings.Contains(all, "runbook: kubectl mpi explain MPIControllerDown") != (want == "") {
			t.Errorf("docs are at %q: the alert names a command: %v", want, want != "")
		}
	}
}
