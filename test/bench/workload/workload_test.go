package workload

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func generate(t *testing.T, o Options) (string, *Workload) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "specs")
	w, err := Generate(root, o)
	if err != nil {
		t.Fatal(err)
	}
	return root, w
}

func contents(t *testing.T, root, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(os.DirFS(root), folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(root, name))
		found[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestSame: the same options give the same bytes, another seed others.
func TestSame(t *testing.T) {
	o := Options{Tenants: 30, Clusters: 4, Seed: 1}
	first, _ := generate(t, o)
	second, _ := generate(t, o)
	if diff := cmp.Diff(contents(t, first, "."), contents(t, second, ".")); diff != "" {
		t.Errorf("twice the same options (-first +second):\n%s", diff)
	}
	o.Seed = 2
	other, _ := generate(t, o)
	if cmp.Equal(contents(t, first, "tenants"), contents(t, other, "tenants")) {
		t.Error("two seeds give the same tenants")
	}
}

// TestGrows: a larger workload begins with the tenants of a smaller one.
func TestGrows(t *testing.T) {
	small, w := generate(t, Options{Tenants: 10, Clusters: 3, Seed: 1})
	large, _ := generate(t, Options{Tenants: 50, Clusters: 3, Seed: 1})
	all := contents(t, large, "tenants")
	for name, text := range contents(t, small, "tenants") {
		if all[name] != text {
			t.Errorf("%s differs in a larger workload", name)
		}
	}
	if w.Files != 10+len(runtimes)+len(profiles)+3 {
		t.Errorf("%d files are counted", w.Files)
	}
}

// TestNotEmpty: a folder with something in it is refused.
func TestNotEmpty(t *testing.T) {
	root, _ := generate(t, Options{Tenants: 1, Clusters: 1})
	if _, err := Generate(root, Options{Tenants: 1, Clusters: 1}); err == nil {
		t.Error("a second workload was written over the first")
	}
}

// TestCompiles: the compiler finds no mistake and nothing to warn of, and a tenant has about 15 objects per cluster.
func TestCompiles(t *testing.T) {
	compiler := filepath.Join(t.TempDir(), "runtime-compiler")
	if output, err := exec.Command("go", "build", "-o", compiler, "../../../cmd/runtime-compiler").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for _, seed := range []uint64{1, 2, 3} {
		root, w := generate(t, Options{Tenants: 200, Clusters: 4, Seed: seed})
		out := filepath.Join(t.TempDir(), "dist")
		count, err := Compile(t.Context(), compiler, root, out)
		if err != nil {
			t.Fatal(err)
		}
		if count.Warnings > 0 {
			t.Errorf("seed %d: %d warnings", seed, count.Warnings)
		}
		// About 30 objects of a cluster belong to no tenant.
		if each := (float64(count.Objects())/4 - 30) / 200; each < 13 || each > 17 {
			t.Errorf("seed %d: a tenant has %.1f objects per cluster, want about 15", seed, each)
		}
		if err := WritePeers(root, out, w, w.Sample(3)); err != nil {
			t.Error(err)
		}
		if overlays := contents(t, root, PeersFolder+"/"+KustomizeFolder+"/overlays"); len(overlays) < 3*4*3 {
			t.Errorf("kustomize has %d files for 3 tenants on 4 clusters", len(overlays))
		}
	}
}

// TestChanges: a change is one line of one file, and compiles.
func TestChanges(t *testing.T) {
	root, w := generate(t, Options{Tenants: 3, Clusters: 2, Seed: 1})
	narrow, line, err := Storage(root, w.Clusters[0], "10.20.0.0/16")
	if err != nil {
		t.Fatal(err)
	}
	before := contents(t, root, ".")
	if got := strings.Split(before[narrow], "\n")[line-1]; strings.TrimSpace(got) != "- cidr: 10.20.0.0/16" {
		t.Errorf("line %d of %s is %q", line, narrow, got)
	}
	for file, change := range map[string]func() error{
		w.TenantFiles[1]: func() error { return ChangeTenant(root, w.TenantFiles[1], 999) },
		"catalog/runtimes/" + runtimes[0].Name + ".yaml": func() error { return ChangeImage(root, "9@sha256:"+strings.Repeat("ab", 32)) },
		narrow: func() error {
			_, _, err := Storage(root, w.Clusters[0], "0.0.0.0/0")
			return err
		},
	} {
		if err := change(); err != nil {
			t.Error(err)
		}
		after := contents(t, root, ".")
		for name, text := range after {
			if lines := different(before[name], text); name == file && lines != 1 || name != file && lines != 0 {
				t.Errorf("the change of %s changes %d lines of %s", file, lines, name)
			}
		}
		before = after
	}
	if err := ChangeTenant(root, w.TenantFiles[1], 999); err == nil {
		t.Error("a change that changes nothing is no error")
	}
}

func different(before, after string) int {
	was, is := strings.Split(before, "\n"), strings.Split(after, "\n")
	if len(was) != len(is) {
		return max(len(was), len(is))
	}
	lines := 0
	for i := range was {
		if was[i] != is[i] {
			lines++
		}
	}
	return lines
}
