package programs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const source = "../.."

// Every family must have pins that name its module: a typing error in the
// catalog would otherwise show only in a cold build.
func TestCatalogHasPins(t *testing.T) {
	for _, f := range catalog {
		p, err := readPins(source, f, "go1")
		if err != nil {
			t.Errorf("%s: %v", f.folder, err)
		}
		if p.version == "" {
			t.Errorf("%s has no version", f.folder)
		}
	}
}

func TestProgramNamesAreUnique(t *testing.T) {
	names := All()
	if diff := cmp.Diff(slices.Compact(slices.Clone(names)), names); diff != "" {
		t.Errorf("(-unique +all)\n%s", diff)
	}
}

func copyFamily(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "programs", "pause")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(source, "programs", "pause"))); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestKeyCoversEverythingThatGoesIn(t *testing.T) {
	pause, err := familyOf("pause")
	if err != nil {
		t.Fatal(err)
	}
	edit := func(name, content string) func(t *testing.T, root string, f *family) string {
		return func(t *testing.T, root string, _ *family) string {
			if err := os.WriteFile(filepath.Join(root, "programs", "pause", name), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
			return "go1.26.0"
		}
	}
	cases := map[string]struct {
		reason string
		change func(t *testing.T, root string, f *family) string
		same   bool
	}{
		"nothing":    {reason: "a second start builds nothing", same: true, change: func(*testing.T, string, *family) string { return "go1.26.0" }},
		"go.mod":     {reason: "another pin", change: edit("go.mod", "module m\n\ngo 1.25\n")},
		"go.sum":     {reason: "another dependency", change: edit("go.sum", "x\n")},
		"own source": {reason: "our programs have no version", change: edit("main.go", "package main\n")},
		"go version": {reason: "another compiler", change: func(*testing.T, string, *family) string { return "go1.26.1" }},
		"tags":       {reason: "other files are compiled", change: func(_ *testing.T, _ string, f *family) string { f.tags = []string{"x"}; return "go1.26.0" }},
		"cgo":        {reason: "another linker", change: func(_ *testing.T, _ string, f *family) string { f.cgo = true; return "go1.26.0" }},
		"ldflags": {reason: "another version stamp", change: func(_ *testing.T, _ string, f *family) string {
			f.ldflags = func(string) []string { return []string{"-X", "a.b=c"} }
			return "go1.26.0"
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			root, f := copyFamily(t), pause
			before, err := readPins(root, f, "go1.26.0")
			if err != nil {
				t.Fatal(err)
			}
			goVersion := tc.change(t, root, &f)
			after, err := readPins(root, f, goVersion)
			if err != nil {
				t.Fatal(err)
			}
			if (before.hash == after.hash) != tc.same {
				t.Errorf("%s: keys %s and %s", tc.reason, before.hash, after.hash)
			}
		})
	}
}

func TestUnknownProgramNamesTheKnownOnes(t *testing.T) {
	_, err := familyOf("kubelt")
	if err == nil || !strings.Contains(err.Error(), "kubelet") {
		t.Errorf("got %v, want an error that lists the programs", err)
	}
}

func TestOutput(t *testing.T) {
	for pkg, want := range map[string]string{
		"go.etcd.io/etcd/server/v3":     "server",
		"k8s.io/kubernetes/cmd/kubelet": "kubelet",
		"github.com/opencontainers/vx":  "vx",
	} {
		if got := output(pkg); got != want {
			t.Errorf("output(%s) = %s, want %s", pkg, got, want)
		}
	}
}

func TestParallelism(t *testing.T) {
	cases := map[string]struct {
		reason  string
		meminfo string
		want    int
	}{
		"plenty":  {reason: "processors are the limit", meminfo: "MemTotal: 1\nMemAvailable:   24000000 kB\n", want: 4},
		"little":  {reason: "two links at once would not fit", meminfo: "MemAvailable: 2000000 kB\n", want: 1},
		"medium":  {reason: "memory is the limit", meminfo: "MemAvailable: 7000000 kB\n", want: 2},
		"unknown": {reason: "no reason to hold back", meminfo: "", want: 4},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := parallelismIn([]byte(tc.meminfo), 4); got != tc.want {
				t.Errorf("%s: got %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}

func TestEnsureBuildsOnceAndLinks(t *testing.T) {
	cache := t.TempDir()
	b, err := Open(t.Context(), source, cache)
	if err != nil {
		t.Fatal(err)
	}
	built, err := b.Ensure(t.Context(), "pause")
	if err != nil {
		t.Fatal(err)
	}
	first, err := os.Stat(built["pause"].Path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Ensure(t.Context(), "pause"); err != nil {
		t.Fatal(err)
	}
	second, err := os.Stat(built["pause"].Path)
	if err != nil || !os.SameFile(first, second) {
		t.Errorf("a second Ensure built again: %v", err)
	}
	dir, err := Link(cache, "bin", built)
	if err != nil {
		t.Fatal(err)
	}
	if linked, err := os.Stat(filepath.Join(dir, "pause")); err != nil || !os.SameFile(first, linked) {
		t.Errorf("%s/pause does not lead to the program: %v", dir, err)
	}
}

// Somebody waits for the first build: he must know for how long.
func TestEstimate(t *testing.T) {
	everything := map[string][]string{}
	for _, f := range catalog {
		if f.seconds == 0 {
			t.Errorf("nobody knows how long %s takes", f.folder)
		}
		everything[f.folder] = f.names()
	}
	if got := estimate(everything, 1); !strings.HasPrefix(got, fmt.Sprintf("building what is missing of the programs (%d) from source", len(All()))) {
		t.Error(got)
	}
	if got := estimate(map[string][]string{"pause": {"pause"}}, 2); !strings.Contains(got, "(1) from source, once: about 1 min on 2 idle processors") {
		t.Error(got)
	}
}

// Whoever asks for an API server that is not pinned learns which are.
func TestAPIServer(t *testing.T) {
	b, err := Open(t.Context(), source, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for minor, want := range map[string]string{"": "kube-apiserver", "1.34": "kube-apiserver-1.34", "1.36": "kube-apiserver", "1.37": "kube-apiserver-1.37"} {
		if got, err := b.APIServer(minor); err != nil || got != want {
			t.Errorf("that of %q is %s, %v, want %s", minor, got, err, want)
		}
	}
	if _, err := b.APIServer("1.3"); err == nil || !strings.Contains(err.Error(), "there are those of 1.34, 1.36, 1.37") {
		t.Errorf("got %v, want an error that lists the versions", err)
	}
}
