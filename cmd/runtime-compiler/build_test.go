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
func building(root, out string) (code int, findings string) {
	var stdout, stderr bytes.Buffer
	code = run([]string{"build", "--root", root, "--out", out}, &stdout, &stderr)
	return code, stderr.String()
}

// TestBuildAgain changes specs and outputs in all kinds of ways. After each, a build into the same folder leaves the
// same tree and prints the same findings as a build into an empty folder.
func TestBuildAgain(t *testing.T) {
	root, out := checkout(t), filepath.Join(t.TempDir(), "dist")
	spec := func(name string) string { return filepath.Join(root, name) }
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
			more := []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n")
			must(os.WriteFile(spec("charts/mpi-controller/templates/more.yaml"), more, 0o600))
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
	}
	for _, step := range steps {
		step.change()
		code, findings := building(root, out)
		fresh := filepath.Join(t.TempDir(), "dist")
		wantCode, wantFindings := building(root, fresh)
		if code != wantCode || findings != wantFindings {
			t.Fatalf("%s: exit code %d, want %d; findings (-fresh +again):\n%s",
				step.name, code, wantCode, cmp.Diff(wantFindings, findings))
		}
		if code != cli.ExitFine {
			continue
		}
		if diff := cmp.Diff(contents(t, fresh), contents(t, out)); diff != "" {
			t.Fatalf("%s (-fresh +again):\n%s", step.name, diff)
		}
	}
}

// TestBuildAgainWritesOnlyDifferences: files with the right content keep their time of modification.
func TestBuildAgainWritesOnlyDifferences(t *testing.T) {
	root, out := checkout(t), filepath.Join(t.TempDir(), "dist")
	if code, findings := building(root, out); code != cli.ExitFine {
		t.Fatal(findings)
	}
	tenant := filepath.Join(out, "onprem/tenants/climate/boundary/tenant.yaml")
	other := filepath.Join(out, "onprem/kustomization.yaml")
	runtimeSpec := filepath.Join(root, "catalog/runtimes/openmpi5-cpu.yaml")
	tenantSpec := filepath.Join(root, "tenants/climate.yaml")
	old := time.Unix(1, 0)
	for _, step := range []struct {
		name       string
		change     func()
		rewritten  bool
		wantReport string
	}{
		{"nothing", func() {}, false, " 0 written"},
		{"comment", func() { edit(t, runtimeSpec, "kind", "# new\nkind") }, false, " 0 written"},
		{"tenant", func() { edit(t, tenantSpec, "jobs: 50", "jobs: 51") }, true, " 1 written"},
	} {
		if err := errors.Join(os.Chtimes(tenant, old, old), os.Chtimes(other, old, old)); err != nil {
			t.Fatal(err)
		}
		step.change()
		var stdout, stderr bytes.Buffer
		if code := run([]string{"build", "--root", root, "--out", out}, &stdout, &stderr); code != cli.ExitFine {
			t.Fatalf("%s: exit code %d\n%s", step.name, code, stderr.String())
		}
		if !strings.Contains(stdout.String(), step.wantReport) {
			t.Errorf("%s: the report lacks %q:\n%s", step.name, step.wantReport, stdout.String())
		}
		if isRewritten(t, tenant, old) != step.rewritten || isRewritten(t, other, old) {
			t.Errorf("%s: the tenant's file is rewritten: %v, want %v; another file, too: %v",
				step.name, isRewritten(t, tenant, old), step.rewritten, isRewritten(t, other, old))
		}
	}
}

func isRewritten(t *testing.T, name string, since time.Time) bool {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return !info.ModTime().Equal(since)
}

// TestInterrupted: Ctrl-C leaves the old tree, and nothing beside it.
func TestInterrupted(t *testing.T) {
	root, out := checkout(t), filepath.Join(t.TempDir(), "dist")
	if code, findings := building(root, out); code != cli.ExitFine {
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
		ctx: ctx, root: folder, options: input.Options(),
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
