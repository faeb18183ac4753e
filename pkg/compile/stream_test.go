package compile_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/patch/chart/helm"
)

// TestWorkers: however many work at one time, the units are the same, in the same order.
func TestWorkers(t *testing.T) {
	files := manyFiles(t)
	units := func(workers int) (names []string, contents map[string]string) {
		contents = map[string]string{}
		list, err := compile.Stream(files, compile.Options{Charts: helm.Renderer{}, Workers: workers}, func(u compile.Unit) error {
			names = append(names, u.Cluster+"/"+u.Name)
			for _, file := range u.Files {
				contents[file.Path] = string(file.Data)
			}
			return nil
		})
		if err != nil || list.Errors() > 0 {
			t.Fatalf("%v\n%s", err, text(t, list))
		}
		return names, contents
	}
	names, contents := units(1)
	if first, last := names[0], names[len(names)-1]; first != "local/platform" || last != "local/kustomizations" || len(names) != 24 {
		t.Errorf("%d units, from %s to %s", len(names), first, last)
	}
	for _, workers := range []int{0, 2, 3, 8, 100} {
		otherNames, otherContents := units(workers)
		if diff := cmp.Diff(names, otherNames) + cmp.Diff(contents, otherContents); diff != "" {
			t.Errorf("%d workers (-one +many):\n%s", workers, diff)
		}
	}
}

// TestRefused: who takes units can stop the compilation, and gets no more of them.
func TestRefused(t *testing.T) {
	full := errors.New("disk is full")
	for _, workers := range []int{1, 4} {
		taken := 0
		_, err := compile.Stream(manyFiles(t), compile.Options{Charts: helm.Renderer{}, Workers: workers}, func(compile.Unit) error {
			if taken++; taken == 3 {
				return full
			}
			return nil
		})
		if !errors.Is(err, full) || taken != 3 {
			t.Errorf("%d workers: %d units were handed over, error %v", workers, taken, err)
		}
	}
}

// TestUnitsInOneCluster: what Compile keeps is what Stream hands over.
func TestUnitsInOneCluster(t *testing.T) {
	clusters, _ := compile.Compile(repository, compile.Options{Charts: helm.Renderer{}, Workers: 3})
	objects, files := 0, 0
	if _, err := compile.Stream(repository, compile.Options{Charts: helm.Renderer{}}, func(u compile.Unit) error {
		objects, files = objects+len(u.Objects), files+len(u.Files)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, c := range clusters {
		objects, files = objects-c.Objects.Len(), files-len(c.Files)
	}
	if objects != 0 || files != 0 {
		t.Errorf("objects and files that only one of them has: %d, %d", objects, files)
	}
}

// TestPrepare: every unit is prepared before it is handed over, also the last ones of clusters; who prepares can stop the compilation;
// progress counts to the end.
func TestPrepare(t *testing.T) {
	full := errors.New("disk is full")
	for _, workers := range []int{1, 4} {
		var mu sync.Mutex
		prepared, last := map[string]bool{}, 0
		options := compile.Options{
			Charts:  helm.Renderer{},
			Workers: workers,
			Prepare: func(u compile.Unit) error {
				mu.Lock()
				defer mu.Unlock()
				prepared[u.Cluster+"/"+u.Name] = true
				return nil
			},
			Progress: func(done, of int) {
				if last++; done != last || done > of {
					t.Errorf("%d of %d after %d", done, of, last-1)
				}
			},
		}
		taken := 0
		_, err := compile.Stream(manyFiles(t), options, func(u compile.Unit) error {
			mu.Lock()
			defer mu.Unlock()
			if taken++; !prepared[u.Cluster+"/"+u.Name] {
				t.Errorf("%s was handed over unprepared", u.Name)
			}
			return nil
		})
		if err != nil || taken != len(prepared) || last != taken-1 {
			t.Errorf("%d workers: error %v, %d taken, %d prepared, %d told", workers, err, taken, len(prepared), last)
		}
		options.Progress = nil
		options.Prepare = func(u compile.Unit) error {
			if u.Name == "kustomizations" {
				return full
			}
			return nil
		}
		if _, err := compile.Stream(manyFiles(t), options, func(compile.Unit) error { return nil }); !errors.Is(err, full) {
			t.Errorf("%d workers: error %v, want that of preparing", workers, err)
		}
	}
}
