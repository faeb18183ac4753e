package wheel

import (
	"archive/zip"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/test/images/internal/pinned"
)

// write makes a wheel of made-up files; those below bin are programs.
func write(t *testing.T, names ...string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "x-1-py3-none-any.whl")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for _, name := range names {
		h := &zip.FileHeader{Name: name}
		h.SetMode(0o644)
		if strings.Contains(name, "/bin/") {
			h.SetMode(0o755)
		}
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write([]byte(name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestUnpackPutsFilesWherePythonAndTheLoaderLook(t *testing.T) {
	names := []string{"x/__init__.py", "x-1.dist-info/LICENSE", "x-1.data/data/bin/run", "x-1.data/data/lib/libx.so.1", "x-1.data/platlib/x/fast.so"}
	cases := map[string]struct {
		patterns []string
		want     map[string]fs.FileMode
	}{
		"All": {nil, map[string]fs.FileMode{
			Modules + "/x/__init__.py": 0o644, Modules + "/x/fast.so": 0o644, Modules + "/x-1.dist-info/LICENSE": 0o644,
			"/usr/local/bin/run": 0o755, "/usr/local/lib/libx.so.1": 0o644,
		}},
		"Some": {[]string{"/usr/local/bin/*", Modules + "/x/*.so"}, map[string]fs.FileMode{"/usr/local/bin/run": 0o755, Modules + "/x/fast.so": 0o644}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			paths, err := Unpack(write(t, names...), root, tc.patterns)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]fs.FileMode{}
			for _, p := range paths {
				info, err := os.Stat(filepath.Join(root, p))
				if err != nil {
					t.Fatal(err)
				}
				got[p] = info.Mode()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			left := 0
			if err := filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					left++
				}
				return err
			}); err != nil || left != len(tc.want) {
				t.Errorf("%d files in the folder, %v", left, err)
			}
		})
	}
}

func TestUnpackRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		file     string
		patterns []string
		want     string
	}{
		"PathThatClimbs":    {"../../etc/passwd", nil, "leaves the folder"},
		"DataThatClimbs":    {"x-1.data/data/../../../x", nil, "leaves the folder"},
		"Scripts":           {"x-1.data/scripts/run", nil, "want data, purelib or platlib"},
		"PatternOfANewName": {"x.py", []string{Modules + "/x.py", Modules + "/y.py"}, "has nothing at " + Modules + "/y.py"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Unpack(write(t, tc.file), t.TempDir(), tc.patterns); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// pip is a program here that does what the real one does: it leaves a file.
func TestFetchAsksPipOnceAndTakesOnlyWhatHasTheHash(t *testing.T) {
	source := write(t, "x.py")
	hash, err := pinned.Hash(source)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		fetch        func(ctx context.Context, name, version, hash, cache string, report func(string)) (string, error)
		file, option string
	}{
		"Wheel":  {Fetch, "x-1-py3-none-any.whl", "--only-binary=:all:"},
		"Source": {FetchSource, "x-1.tar.gz", "--no-binary=x"},
	} {
		t.Run(name, func(t *testing.T) {
			bin, cache := t.TempDir(), filepath.Join(t.TempDir(), "wheels")
			script := fmt.Sprintf("#!/bin/sh\nfor a; do case $a in --dest=*) cp %s ${a#--dest=}/%s; echo \"$@\" >>%s/calls;; esac; done\n", source, tc.file, bin)
			if err := os.WriteFile(filepath.Join(bin, "python3"), []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
			for range 2 {
				file, err := tc.fetch(t.Context(), "x", "1", hash, cache, func(string) {})
				if err != nil {
					t.Fatal(err)
				}
				if got, err := pinned.Hash(file); got != hash {
					t.Errorf("%s has the hash %s, %v", file, got, err)
				}
			}
			calls, err := os.ReadFile(filepath.Join(bin, "calls"))
			if err != nil || strings.Count(string(calls), "\n") != 1 || !strings.Contains(string(calls), tc.option+" --require-hashes") {
				t.Errorf("pip was called so: %s (%v)", calls, err)
			}
			other := strings.Repeat("0", 64)
			if _, err := tc.fetch(t.Context(), "x", "1", other, cache, func(string) {}); err == nil || !strings.Contains(err.Error(), "want "+other) {
				t.Errorf("another file: error %v", err)
			}
			if left, err := os.ReadDir(cache); err != nil || len(left) != 1 {
				t.Errorf("the cache holds %v (%v)", left, err)
			}
		})
	}
}
