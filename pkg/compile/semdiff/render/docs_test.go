package render

import (
	"strings"
	"testing"
	"testing/fstest"

	"lockstep.dev/lockstep/pkg/compile/diag/sarif"
)

// Every format links to the pages of docs, if a Cluster names where these are.
func TestDocs(t *testing.T) {
	image := "-  image: example.org/mpi/small:5\n+  image: example.org/mpi/small:5.1\n"
	docs := "-  agent:\n+  docs: {baseURL: \"https://docs.example.com\"}\n+  agent:\n"
	for want, files := range map[string]fstest.MapFS{
		"": {"catalog/runtimes.yaml.edit": {Data: []byte(image)}},
		"https://docs.example.com/changes/image": {
			"catalog/runtimes.yaml.edit": {Data: []byte(image)}, "overlays/hpc/cluster.yaml.edit": {Data: []byte(docs)},
		},
	} {
		report := &reviewed(t, files).Report
		for format, text := range map[string]string{
			"markdown": written(t, func(b *strings.Builder) error { return Markdown(b, report, pullCompared, pullLinks) }),
			"html":     written(t, func(b *strings.Builder) error { return HTML(b, report, pullCompared, pullLinks) }),
			"json":     written(t, func(b *strings.Builder) error { return JSON(b, report, pullCompared) }),
			"sarif": written(t, func(b *strings.Builder) error {
				return SARIF(b, report, sarif.Options{Locate: func(name string) string { return name }})
			}),
		} {
			if !strings.Contains(text, want) || strings.Contains(text, "/changes/") != (want != "") {
				t.Errorf("%s does not link to %q", format, want)
			}
		}
	}
}
