package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/internal/cli/compiling"
	"lockstep.dev/lockstep/internal/sandbox"
)

// checkout copies the specs and charts of this repository into a folder.
func checkout(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, folder := range []string{"catalog", "tenants", "overlays", "charts"} {
		if err := os.CopyFS(filepath.Join(root, folder), os.DirFS(filepath.Join("../..", folder))); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func edit(t *testing.T, name, old, replacement string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(data), old, replacement, 1)
	if changed == string(data) {
		t.Fatalf("%s has no %q", name, old)
	}
	if err := os.WriteFile(name, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
}

func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		relative, _ := filepath.Rel(folder, name)
		files[relative] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// building runs build and returns what it found, without what it counts.
func building(t *testing.T, cache, root, out string) (code int, findings string) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", cache)
	var stdout, stderr bytes.Buffer
	code = run([]string{"build", "--root", root, "--out", out}, &stdout, &stderr)
	return code, stderr.String()
}

// TestIncremental changes specs, outputs and the cache in all kinds of ways. After each, a build with the cache of those before it
// leaves the same tree and says the same as one that begins from nothing.
func TestIncremental(t *testing.T) {
	root, out, cache := checkout(t), filepath.Join(t.TempDir(), "dist"), t.TempDir()
	spec := func(name string) string { return filepath.Join(root, name) }
	records := func() []string {
		names, err := filepath.Glob(filepath.Join(cache, "lockstep", "builds", "*"))
		if err != nil || len(names) != 1 {
			t.Fatalf("records: %v, %v", names, err)
		}
		return names
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	steps := []struct {
		name   string
		change func()
	}{
		{"first", func() {}},
		{"nothing", func() {}},
		{"own field", func() { edit(t, spec("tenants/climate.yaml"), "jobs: 50", "jobs: 51") }},
		{"own field again", func() { edit(t, spec("tenants/climate.yaml"), "jobs: 51", "jobs: 52") }},
		{"two tenants", func() {
			edit(t, spec("tenants/climate.yaml"), "pods: 100", "pods: 101")
			edit(t, spec("tenants/team-nlp.yaml"), "jobs: ", "jobs: 1")
		}},
		{"comment above a finding", func() { edit(t, spec("tenants/clinical.yaml"), "  quota:", "  # why\n\n  quota:") }},
		{"people", func() { edit(t, spec("tenants/climate.yaml"), "editors: [", "editors: [more, ") }},
		{"mistake", func() { edit(t, spec("tenants/climate.yaml"), "jobs: 52", "jobs: many") }},
		{"still a mistake", func() {}},
		{"mended", func() { edit(t, spec("tenants/climate.yaml"), "jobs: many", "jobs: 53") }},
		{"runtime", func() {
			edit(t, spec("catalog/runtimes/openmpi5-cpu.yaml"), "  description: ", "  description: New. ")
		}},
		{"cluster", func() { edit(t, spec("overlays/local/cluster.yaml"), "kind: Cluster", "kind: Cluster # new") }},
		{"chart", func() {
			must(os.WriteFile(spec("charts/mpi-controller/templates/more.yaml"), []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n"), 0o600))
		}},
		{"new tenant", func() {
			data, err := os.ReadFile(spec("tenants/team-nlp.yaml"))
			must(err)
			must(os.WriteFile(spec("tenants/new.yaml"), bytes.ReplaceAll(data, []byte("nlp"), []byte("new")), 0o600))
		}},
		{"renamed file", func() { must(os.Rename(spec("tenants/new.yaml"), spec("tenants/newer.yaml"))) }},
		{"tenant gone", func() { must(os.Remove(spec("tenants/newer.yaml"))) }},
		{"touched", func() { must(os.Chtimes(spec("tenants/climate.yaml"), time.Now(), time.Now())) }},
		{"output edited", func() { edit(t, filepath.Join(out, "local/kustomization.yaml"), "kind", "Kind") }},
		{"output and tenant edited", func() {
			edit(t, filepath.Join(out, "local/kustomization.yaml"), "kind", "Kind")
			edit(t, spec("tenants/climate.yaml"), "jobs: 53", "jobs: 54")
		}},
		{"output of that tenant edited", func() {
			edit(t, filepath.Join(out, "onprem/tenants/climate/tenant.yaml"), "kind", "Kind")
			edit(t, spec("tenants/climate.yaml"), "jobs: 54", "jobs: 55")
		}},
		{"output gone", func() { must(os.RemoveAll(filepath.Join(out, "local"))) }},
		{"record gone", func() { must(os.Remove(filepath.Join(out, ".lockstep-owned"))) }},
		{"all gone", func() { must(os.RemoveAll(out)) }},
		{"cache damaged", func() {
			name := records()[0]
			data, err := os.ReadFile(name)
			must(err)
			data[len(data)/2] ^= 1
			must(os.WriteFile(name, data, 0o600))
			edit(t, spec("tenants/climate.yaml"), "jobs: 55", "jobs: 56")
		}},
		{"cache cut", func() {
			must(os.Truncate(records()[0], 1000))
			edit(t, spec("tenants/climate.yaml"), "jobs: 56", "jobs: 57")
		}},
		{"cache empty", func() { must(os.Truncate(records()[0], 0)) }},
		{"cache of others", func() {
			must(os.WriteFile(records()[0], []byte("lockstep build record 99\nwhat is this"), 0o600))
		}},
		{"cache is a folder", func() { name := records()[0]; must(os.Remove(name)); must(os.Mkdir(name, 0o700)) }},
	}
	for _, step := range steps {
		step.change()
		code, findings := building(t, cache, root, out)
		fresh := filepath.Join(t.TempDir(), "dist")
		wantCode, wantFindings := building(t, t.TempDir(), root, fresh)
		if code != wantCode || findings != wantFindings {
			t.Fatalf("%s: exit code %d, want %d; findings (-from nothing +with cache):\n%s", step.name, code, wantCode, cmp.Diff(wantFindings, findings))
		}
		if code != cli.ExitFine {
			continue
		}
		if diff := cmp.Diff(contents(t, fresh), contents(t, out)); diff != "" {
			t.Fatalf("%s (-from nothing +with cache):\n%s", step.name, diff)
		}
	}
}

// TestUpToDate: nothing is compiled where nothing changed, and only what changed is written.
func TestUpToDate(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	root, out := checkout(t), filepath.Join(t.TempDir(), "dist")
	input := compiling.Input{Root: root}
	cases := []struct {
		name    string
		change  func()
		all     bool
		written []string
	}{
		{"first", func() {}, true, nil},
		{"nothing", func() {}, false, nil},
		{"tenant", func() { edit(t, filepath.Join(root, "tenants/climate.yaml"), "jobs: 50", "jobs: 51") }, true, []string{"onprem/tenants/climate/boundary/tenant.yaml"}},
		{"runtime", func() { edit(t, filepath.Join(root, "catalog/runtimes/openmpi5-cpu.yaml"), "kind", "# new\nkind") }, true, nil},
		{"nothing again", func() {}, false, nil},
	}
	for _, tc := range cases {
		tc.change()
		folder, err := input.OpenRoot()
		if err != nil {
			t.Fatal(err)
		}
		reports := &reportOptions{format: cli.FormatText, failOn: "error", input: &input, out: out}
		b := outputBuilder{ctx: t.Context(), root: folder, options: input.Options(), reports: reports, cache: openBuildCache(folder, &input, out)}
		summaries, list, err := b.build(nil)
		if err != nil || list.Errors() > 0 || len(summaries) != 3 {
			t.Fatalf("%s: %v, %v", tc.name, err, summaries)
		}
		if b.all != tc.all {
			t.Errorf("%s: everything was compiled: %t, want %t", tc.name, b.all, tc.all)
		}
		if diff := cmp.Diff(tc.written, b.written); diff != "" && tc.name != "first" {
			t.Errorf("%s: written (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestInterrupted: Ctrl-C leaves the old tree, and nothing beside it.
func TestInterrupted(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	root, out := checkout(t), filepath.Join(t.TempDir(), "dist")
	if code, findings := building(t, t.TempDir(), root, out); code != cli.ExitFine {
		t.Fatal(findings)
	}
	before := contents(t, filepath.Dir(out))
	edit(t, filepath.Join(root, "tenants/climate.yaml"), "editors: [", "editors: [more, ")
	input := compiling.Input{Root: root}
	folder, err := input.OpenRoot()
	if err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	b := outputBuilder{
		ctx: ctx, root: folder, options: input.Options(), cache: openBuildCache(folder, &input, out),
		reports: &reportOptions{format: cli.FormatText, failOn: "error", input: &input, out: out},
	}
	if _, _, err = b.build(func(done, of int) {
		if done == of-1 {
			interrupt()
		}
	}); !errors.Is(err, sandbox.ErrInterrupted) {
		t.Errorf("error %v, want sandbox.ErrInterrupted", err)
	}
	if diff := cmp.Diff(before, contents(t, filepath.Dir(out))); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}
