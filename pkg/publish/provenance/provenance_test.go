package provenance_test

import (
	"encoding/json"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile/emit"
	"lockstep.dev/lockstep/pkg/publish"
	"lockstep.dev/lockstep/pkg/publish/provenance"
)

// TestStatement: what was read leads to what was made, in the words of in-toto and SLSA, and the same every time.
func TestStatement(t *testing.T) {
	commit := strings.Repeat("ab", 20)
	facts := provenance.Facts{
		Tree: &publish.Tree{
			Source: publish.Source{Repository: "https://git.example.com/p.git", Commit: commit}, Folder: "dist",
			Files: []emit.File{{Path: "local/a.yaml", Data: []byte("a")}},
		},
		Inputs: map[string]string{"b.yaml": "2", "a.yaml": "1"}, Cluster: "local", Version: "v1",
		Artifact: provenance.Subject{Name: "registry.example.com/p", Digest: map[string]string{"sha256": "3"}},
	}
	data, err := provenance.NewStatement(facts).Encode()
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		again, err := provenance.NewStatement(facts).Encode()
		if err != nil || string(again) != string(data) {
			t.Fatalf("not the same twice: %v", err)
		}
	}
	var got any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"_type": "https://in-toto.io/Statement/v1", "predicateType": "https://slsa.dev/provenance/v1",
		"subject": []any{
			map[string]any{"name": "registry.example.com/p", "digest": map[string]any{"sha256": "3"}},
			map[string]any{"name": "dist/local/a.yaml", "digest": map[string]any{"sha256": "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"}},
		},
		"predicate": map[string]any{
			"buildDefinition": map[string]any{
				"buildType":          "https://lockstep.dev/provenance/compile/v1",
				"externalParameters": map[string]any{"repository": "https://git.example.com/p.git", "revision": commit, "cluster": "local", "folder": "dist"},
				"resolvedDependencies": []any{
					map[string]any{"uri": "git+https://git.example.com/p.git", "digest": map[string]any{"gitCommit": commit}},
					map[string]any{"name": "a.yaml", "digest": map[string]any{"sha256": "1"}},
					map[string]any{"name": "b.yaml", "digest": map[string]any{"sha256": "2"}},
				},
			},
			"runDetails": map[string]any{"builder": map[string]any{"id": "https://lockstep.dev/runtime-compiler", "version": map[string]any{"runtime-compiler": "v1"}}},
		},
	}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Errorf("statement (-want +got):\n%s", diff)
	}
}

// TestInputs: files that were read are inputs, files that were only looked at are none.
func TestInputs(t *testing.T) {
	root := publish.NewRecordingFS(fstest.MapFS{"a/read": {Data: []byte("a")}, "a/seen": {Data: []byte("b")}})
	if _, err := fs.ReadDir(root, "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := fs.Stat(root, "a/seen"); err != nil {
		t.Fatal(err)
	}
	if _, err := fs.ReadFile(root, "a/read"); err != nil {
		t.Fatal(err)
	}
	sums, err := provenance.SHA256OfFiles(root.FS, root.Files(), "specs/")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"specs/a/read": "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"}, sums); diff != "" {
		t.Errorf("inputs (-want +got):\n%s", diff)
	}
}
