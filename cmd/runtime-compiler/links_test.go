package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	canary = "canary-7f3a"
	// secret reads as YAML, so that whatever opens it shows it.
	secret = "url: " + canary + "\n"
)

// openedBySpecs are the ways in which specs open a file: files that make the compiler open the bait in a folder.
var openedBySpecs = map[string]struct {
	folder, bait string
	files        map[string]string
	command      []string
}{
	"importstr": {"catalog", "bait.txt",
		map[string]string{"tenants/a.jsonnet": "error importstr '../catalog/bait.txt'"}, nil},
	"importbin": {"catalog", "bait.txt",
		map[string]string{"tenants/a.jsonnet": "error std.join('', [std.char(c) for c in importbin '../catalog/bait.txt'])"}, nil},
	"import": {"catalog", "bait.libsonnet",
		map[string]string{"tenants/a.jsonnet": "import '../catalog/bait.libsonnet'"}, nil},
	"program":       {"tenants", "bait.jsonnet", nil, nil},
	"spec":          {"tenants", "bait.yaml", nil, nil},
	"cluster":       {"overlays/other", "cluster.yaml", nil, nil},
	"kustomization": {"overlays/local", "kustomization.yaml", nil, nil},
	"resource": {"overlays/local", "bait.yaml",
		map[string]string{"overlays/local/kustomization.yaml": "resources: [bait.yaml]\n"}, nil},
	"patch": {"overlays/local", "bait.yaml", map[string]string{
		"overlays/local/kustomization.yaml": "patches: [{path: bait.yaml, target: {kind: Namespace}}]\n"}, nil},
	"function": {"overlays/local", "bait.jsonnet", map[string]string{
		"overlays/local/kustomization.yaml": "patches: [{path: bait.jsonnet, target: {kind: Namespace}}]\n"}, nil},
	"function's import": {"catalog", "bait.txt", map[string]string{
		"overlays/local/kustomization.yaml": "patches: [{path: f.jsonnet, target: {kind: Namespace}}]\n",
		"overlays/local/f.jsonnet":          "function(object) error importstr '../../catalog/bait.txt'"}, nil},
	"file of a chart": {"charts/own/files", "bait.txt", chartOf(`{{ fail (.Files.Get "files/bait.txt") }}`), nil},
	"all files of a chart": {"charts/own/files", "bait.txt",
		chartOf(`{{ range $n, $d := .Files.Glob "**" }}{{ fail (toString $d) }}{{ end }}`), nil},
	"template of a chart": {"charts/own/templates", "b.yaml", chartOf(""), []string{"check"}},
	"values of a chart":   {"charts/own", "values.yaml", chartOf(`{{ fail (toJson .Values) }}`), nil},
	"dependency of a chart": {"charts/own/charts/more", "values.yaml", chartOf(`{{ fail (toJson .Values) }}`,
		"charts/own/charts/more/Chart.yaml", "{apiVersion: v2, name: more, version: 0.1.0}\n"), nil},
	"overlay": {"overlays", "linked", nil, nil},
	"chart": {"charts", "linked", map[string]string{
		"overlays/local/cluster.yaml": bundle["overlays/local/cluster.yaml"] + "  components: [{chart: charts/linked}]\n"}, nil},
	"fmt --diff":      {"tenants", "bait.yaml", nil, []string{"fmt", "--diff"}},
	"fmt --diff FILE": {"tenants", "bait.yaml", nil, []string{"fmt", "--diff", "tenants/bait.yaml"}},
	"fmt FILE":        {"tenants", "bait.jsonnet", nil, []string{"fmt", "tenants/bait.jsonnet"}},
	"affects":         {"tenants", "bait.yaml", nil, []string{"affects", "tenants/bait.yaml:1"}},
	"graph":           {"tenants", "bait.yaml", nil, []string{"graph"}},
	"explain":         {"tenants", "bait.yaml", nil, []string{"explain", "local", "Namespace/vision"}},
	"plan":            {"tenants", "bait.yaml", nil, []string{"plan", "capacity"}},
}

// chartOf is a component whose only template is given, with more files.
func chartOf(template string, more ...string) map[string]string {
	files := map[string]string{
		"charts/own/Chart.yaml":       "{apiVersion: v2, name: own, version: 0.1.0}\n",
		"charts/own/templates/a.yaml": template,
		"overlays/local/cluster.yaml": bundle["overlays/local/cluster.yaml"] + "  components: [{chart: charts/own}]\n",
	}
	for pair := range slices.Chunk(more, 2) {
		files[pair[0]] = pair[1]
	}
	return files
}

// ledToSecrets are links of an attacker: where a file leads, from the top of the repository or absolute; and more
// links. Package source tests more of them.
var ledToSecrets = map[string]struct {
	target string
	more   map[string]string
}{
	"configuration of git": {".git/config", nil},
	"chain":                {"one", map[string]string{"one": "tenants/two", "tenants/two": "../.git/config"}},
	"folder":               {"linked/config", map[string]string{"linked": ".git"}},
	"hidden folder":        {".secrets/key", nil},
	"capital letters":      {".GIT/config", nil},
	"git of a submodule":   {"vendor/.git", nil},
	"outside":              {"../outside/key", nil},
	"absolute":             {"ABSOLUTE/outside/key", nil},
	"a hidden folder":      {".secrets", nil},
	"a folder outside":     {"../outside", nil},
}

// linkRepository is a repository in which FOLDER/BAIT is a link.
func linkRepository(t *testing.T, folder, bait string, files map[string]string, target string,
	more map[string]string) string {
	t.Helper()
	top := filepath.Join(t.TempDir(), ".work") // a root below a hidden folder is a root as others
	repository := filepath.Join(top, "repository")
	all := maps.Clone(bundle)
	maps.Copy(all, files)
	maps.Copy(all, map[string]string{"shared/key": secret, "shared/overlay/cluster.yaml": secret,
		"shared/chart/Chart.yaml":      "{apiVersion: v2, name: own, version: 0.1.0}",
		"shared/chart/templates/a.txt": `{{ fail "` + canary + `" }}`})
	for _, hidden := range []string{".secrets", "catalog/.hidden", "../outside"} {
		for _, name := range []string{"key", "cluster.yaml", "values.yaml"} {
			all[hidden+"/"+name] = secret
		}
		maps.Copy(all, map[string]string{hidden + "/Chart.yaml": "{apiVersion: v2, name: own, version: 0.1.0}\n",
			hidden + "/templates/a.yaml": secret})
	}
	maps.DeleteFunc(all, func(name, _ string) bool { return name == filepath.Join(folder, bait) })
	write(t, repository, all)
	up := strings.Repeat("../", strings.Count(folder, "/")+1)
	if left, absolute := strings.CutPrefix(target, "ABSOLUTE"); absolute {
		up, target = "", top+left
	}
	links := map[string]string{filepath.Join(folder, bait): up + target}
	maps.Copy(links, more)
	for name, to := range links {
		name = filepath.Join(repository, name)
		_ = os.Remove(name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.Symlink(to, name)); err != nil {
			t.Fatal(err)
		}
	}
	return repository
}

func write(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		name = filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(content),
			0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// compilerOutput is all that the compiler prints.
func compilerOutput(t *testing.T, folder string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Args[0], cmd.Dir = "runtime-compiler", folder
	printed, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(printed)
}

// TestLinksToSecrets: nothing that a link of the repository leads to is shown if it is hidden or outside, whatever
// opens it. What a revision holds is read through the same links.
func TestLinksToSecrets(t *testing.T) {
	for name, opener := range openedBySpecs {
		command := opener.command
		if command == nil {
			command = []string{"check"}
		}
		for kind, link := range ledToSecrets {
			t.Run(fmt.Sprint(name, "/", kind), func(t *testing.T) {
				t.Parallel()
				repository := linkRepository(t, opener.folder, opener.bait, opener.files, link.target, link.more)
				write(t, repository, map[string]string{".git/config": secret, ".GIT/config": secret,
					"vendor/.git": secret})
				if printed := compilerOutput(t, repository, command...); strings.Contains(printed, canary) ||
					strings.Contains(printed, "panic") {
					t.Errorf("a secret is shown:\n%s", printed)
				}
			})
		}
		if opener.command != nil {
			continue
		}
		visible := cmp.Or(map[string]string{"overlays": "shared/overlay", "charts": "shared/chart"}[opener.folder],
			"shared/key")
		for target, want := range map[string]bool{".secrets/key": false, ".secrets": false,
			"shared/../" + visible: true} {
			t.Run(fmt.Sprint(name, " in revision/", target), func(t *testing.T) {
				t.Parallel()
				repository := linkRepository(t, opener.folder, opener.bait, opener.files, target, nil)
				git(t, repository, "init", "-q")
				git(t, repository, "add", "-A")
				git(t, repository, "commit", "-q", "-m", "Platform")
				for _, command := range [][]string{{"check"}, {"diff", "--from", "HEAD", "--to", "HEAD"}} {
					if printed := compilerOutput(t, repository, command...); strings.Contains(printed, canary) != want {
						t.Errorf("%s: shown %t, want %t:\n%s", command[0], !want, want, printed)
					}
				}
			})
		}
	}
}
